"""The modes of redaction: all texts without credentials, or only known ones (rules: known-messages). Pure."""

from collections.abc import Callable
from functools import lru_cache
from operator import is_
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from common.scrub import scrub
from ingest.messages.allowed import allowed, allowed_reason
from ingest.model.objects.base import Condition

Redact: TypeAlias = Literal["credentials", "strict"]
_CACHED_CHARACTERS: Final = 2048


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


_SPELLED: Final = {
    "Topology Affinity Error": "TopologyAffinityError",
    "OutOfCPU": "OutOfcpu",
    "OutOfCpu": "OutOfcpu",
    "OutOfMemory": "OutOfmemory",
    "OutOfPods": "OutOfpods",
}
"""Reasons as kubelets spell them now, by other spellings: of kubelets before 1.18, and of those that retell them."""


def _spelled(reason: str) -> str:
    return _SPELLED.get(reason, reason)


def _clean(text: str) -> str:
    return _remembered(text) if len(text) <= _CACHED_CHARACTERS else scrub(text)


_remembered: Final = lru_cache(4096)(scrub)
CREDENTIALS: Final = Mode(lambda reason: _clean(_spelled(reason)), lambda _, message: _clean(message))
STRICT: Final = Mode(lambda reason: allowed_reason(_spelled(reason)), allowed)
MODES: Final[dict[Redact, Mode]] = {"credentials": CREDENTIALS, "strict": STRICT}
