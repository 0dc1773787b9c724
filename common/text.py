"""Makes hostile text safe to show, and suggests names for mistyped ones."""

import json
import re
from collections.abc import Iterable
from difflib import get_close_matches
from shlex import quote
from typing import Final

_UNSEEN: Final = (
    "\x7f-\x9f"  # DEL and the 8-bit controls, which some terminals run like ESC
    # Unicode's Default_Ignorable_Code_Point, which are invisible or reverse the direction:
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\u2028\u2029\u2800\ud800-\udfff\ufff9-\ufffb"  # ends of lines, a blank letter, surrogates, annotations
)
_UNSAFE: Final = re.compile(f"[\x00-\x1f{_UNSEEN}]")
_UNSAFE_JSON: Final = re.compile(f"[{_UNSEEN}]")
"""Characters that a JSON encoder may leave unchanged, unlike control characters below a space."""


def plain(text: object, limit: int = 300) -> str:
    r"""Return text that a cluster chose as one line that is safe on a terminal and in a log.

    Control, direction and invisible characters become their escapes (`\x1b`). A text of more than `limit` characters
    is cut before that and ends with "...".
    """
    shown = str(text)
    if len(shown) > limit:
        shown = shown[: limit - 3] + "..."
    return _UNSAFE.sub(_escaped, shown)


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode("ascii")


def argument(name: object, limit: int = 300) -> str:
    """Return a name that a cluster chose as one argument of a command that people copy: quoted, and never an option.

    The name is escaped as in `plain`. A name that starts with `-` gets a space before it, so that no command reads it
    as an option.
    """
    shown = plain(name, limit)
    return quote(f" {shown}" if shown.startswith("-") else shown)


def type_in_words(kind: type) -> str:
    """Name the type of a value of JSON or YAML, such as a list."""
    return _TYPES.get(kind, "something else")


_TYPES: Final[dict[type, str]] = {
    dict: "an object",
    list: "a list",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    type(None): "nothing",
}


def visible(text: str) -> str:
    """Return the whole text as `plain` does, but with its line breaks and tabs."""
    return _UNSAFE.sub(lambda match: match[0] if match[0] in "\n\r\t" else _escaped(match), text)


def plain_json(document: bytes) -> str:
    r"""Return a JSON document with the characters of `plain` as `\u` escapes: it decodes to the same values."""
    return _UNSAFE_JSON.sub(lambda match: json.dumps(match.group())[1:-1], document.decode())


ALIKE: Final = 0.7
"""Minimum similarity, from 0 to 1. A less similar name is not suggested."""


def match(name: str, known: Iterable[str]) -> str:
    """Return the most similar name; empty if none is similar."""
    found = get_close_matches(name[:100], list(known), n=1, cutoff=ALIKE)
    return found[0] if found else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a question that suggests the most similar name; empty if none is similar."""
    found = match(name, known)
    return f"Did you mean {found}?" if found else ""
