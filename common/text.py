"""Hostile text made safe to show."""

import re
from typing import Final

_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # control characters: terminal escapes, line breaks
    "\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"  # invisible, or they reverse the reading direction
    "\ud800-\udfff\ufff9-\ufffb]"
)


def plain(text: object, limit: int = 300) -> str:
    r"""Give text that a cluster chose as one line that is safe on a terminal and in a log.

    Control, direction and invisible characters become their escapes (`\x1b`). What is longer than `limit`
    characters is cut and ends with "...".
    """
    shown = str(text)
    if len(shown) > limit:
        shown = shown[: limit - 3] + "..."
    return _UNSAFE.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), shown)
