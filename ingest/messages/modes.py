"""Passes texts in one of two modes: without credentials, or only known ones by reason and shape (rules:
known-messages). Pure.

An Event, condition or status can have any text: from a controller, from a container, or from anyone who can create
Events. In strict mode a text that no component of Kubernetes is known to write with its reason is withheld; only its
length is kept.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from operator import is_
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from common.scrub import scrub
from ingest.messages.prefixes import COMBINED, prefix_of
from ingest.messages.reasons import spelled
from ingest.messages.shapes import fit
from ingest.messages.words import WITHHELD, withheld
from ingest.model.objects.base import Condition

_REASON: Final = re.compile(rf"[A-Za-z0-9][-\w.:/]{{0,316}}|{WITHHELD}", re.ASCII)
_CACHED_CHARACTERS: Final = 2048
_MOST_CHARACTERS: Final = 64 * 1024
"""Characters of a message that are checked. The API allows 32 Ki, and a longer message is withheld."""


def allowed(reason: str, message: str) -> str:
    """Return the passing part of a message; applying it twice changes nothing more."""
    if not message:
        return message
    return (_remembered_passing if len(message) <= _CACHED_CHARACTERS else _allowed)(reason, message)


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


_remembered_passing: Final = lru_cache(4096)(_allowed)


Redact: TypeAlias = Literal["credentials", "strict"]


class Mode(NamedTuple):
    """The passing parts of a reason, and of a message with its reason; applying it twice changes nothing more."""

    reason: Callable[[str], str]
    message: Callable[[str, str], str]

    def conditions(self, conditions: list[Condition] | None) -> list[Condition] | None:
        """Redact conditions; return the same list if all their texts pass."""
        if not conditions:
            return conditions
        passing = [self._condition(each) for each in conditions]
        return conditions if all(map(is_, passing, conditions)) else passing

    def _condition(self, condition: Condition) -> Condition:
        reason, message = self.reason(condition.reason), self.message(condition.reason, condition.message)
        if (reason, message) == (condition.reason, condition.message):
            return condition
        return replace(condition, reason=reason, message=message)


def _clean(text: str) -> str:
    return _remembered(text) if len(text) <= _CACHED_CHARACTERS else scrub(text)


_remembered: Final = lru_cache(4096)(scrub)
CREDENTIALS: Final = Mode(lambda reason: _clean(spelled(reason)), lambda _, message: _clean(message))
STRICT: Final = Mode(lambda reason: allowed_reason(spelled(reason)), allowed)
