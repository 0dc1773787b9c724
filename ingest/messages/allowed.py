"""Passes messages by reason and shape (rules: known-messages). Pure.

An Event, condition or status can have any text: from a controller, from a container, or from anyone who can create
Events. A text that no component of Kubernetes is known to write with its reason is withheld; only its length is
kept.
"""

import re
from functools import lru_cache
from typing import Final

from common.scrub import scrub
from ingest.messages.prefixes import COMBINED, prefix_of
from ingest.messages.shapes import fit
from ingest.messages.words import WITHHELD, withheld

_REASON: Final = re.compile(rf"[A-Za-z0-9][-\w.:/]{{0,316}}|{WITHHELD}", re.ASCII)
_CACHED_CHARACTERS: Final = 2048
_MOST_CHARACTERS: Final = 64 * 1024
"""Characters of a message that are checked. The API allows 32 Ki, and a longer message is withheld."""


def allowed(reason: str, message: str) -> str:
    """Return the passing part of a message; applying it twice changes nothing more."""
    if not message:
        return message
    return (_remembered if len(message) <= _CACHED_CHARACTERS else _allowed)(reason, message)


@lru_cache(4096)
def allowed_reason(reason: str) -> str:
    return reason if not reason or _REASON.fullmatch(reason) else withheld(reason)


def _allowed(reason: str, message: str) -> str:
    before = COMBINED if message.startswith(COMBINED) else ""
    if (passing := _passing(reason, message, before)) is not None:
        return passing
    longer = prefix_of(message)
    if longer != before and (passing := _passing(reason, message, longer)) is not None:
        return passing
    before = longer if longer.endswith(": ") else before
    text = message[len(before) :]
    core = text.rstrip()
    return before + withheld(core) + text[len(core) :]


def _passing(reason: str, message: str, before: str) -> str | None:
    """Return the passing part of a message behind a prefix; None if that fits no shape."""
    text = message[len(before) :]
    core = text.rstrip()
    passing = fit(reason, core) if len(message) <= _MOST_CHARACTERS else None
    return None if passing is None else before + scrub(passing) + text[len(core) :]


_remembered: Final = lru_cache(4096)(_allowed)
