"""Messages pass by reason and shape (rules: known-messages). Pure.

An Event, condition or status can have any text: of a controller, of a container, of whoever may create Events. What
no component of Kubernetes is known to write beside its reason is withheld, and its length is kept.
"""

import re
from functools import lru_cache
from typing import Final

from common.scrub import scrub
from ingest.messages.shapes import fit
from ingest.messages.words import WITHHELD, withheld

_BEFORE: Final = re.compile(r"(?:\(combined from similar events\): )?(?:Pod was rejected: )?")
"""What rules read before any message."""
_REASON: Final = re.compile(rf"[A-Za-z0-9][-\w.:/]{{0,316}}|{WITHHELD}", re.ASCII)
_CACHED_CHARACTERS: Final = 2048
_MOST_CHARACTERS: Final = 64 * 1024
"""Of a message that is looked at; the API allows 32 Ki, and a longer one is withheld."""


def allowed(reason: str, message: str) -> str:
    """What passes of a message; twice is as once."""
    if not message:
        return message
    return (_remembered if len(message) <= _CACHED_CHARACTERS else _allowed)(reason, message)


@lru_cache(4096)
def allowed_reason(reason: str) -> str:
    """A reason that is one; a sentence is none."""
    return reason if not reason or _REASON.fullmatch(reason) else withheld(reason)


def _allowed(reason: str, message: str) -> str:
    found = _BEFORE.match(message)
    text = message[found.end() if found else 0 :]
    before, core = message[: len(message) - len(text)], text.rstrip()
    passing = fit(reason, core) if len(message) <= _MOST_CHARACTERS else None
    return before + (withheld(core) if passing is None else scrub(passing)) + text[len(core) :]


_remembered: Final = lru_cache(4096)(_allowed)
