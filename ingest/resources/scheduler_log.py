"""A scheduler's attempts to place pods, by the lines of its log (rules: scheduler-log)."""

from typing import Final

from msgspec.structs import replace

from ingest.messages.modes import CREDENTIALS, STRICT, Mode
from ingest.model.records import SchedulingAttemptRecord
from ingest.model.scheduler import Attempt
from ingest.resources.decoding import kept
from ingest.resources.resource import Fields, Resource, seen


def _passing(attempt: Attempt, mode: Mode) -> Attempt:
    return replace(attempt, text=mode.message("FailedScheduling", attempt.text))


def is_an_attempt(fields: Fields) -> bool:
    """Tell whether an object with these fields is one."""
    return {"pod", "at"} <= fields.keys() and not {"node", "text"}.isdisjoint(fields)


SCHEDULER_LOG: Final = Resource(
    name="scheduler_log",
    decode=kept(Attempt, lambda attempt: _passing(attempt, CREDENTIALS)),
    strict=lambda attempt: _passing(attempt, STRICT),
    records=lambda observation, attempt: [SchedulingAttemptRecord(**seen(observation), attempt=attempt)],
    word="scheduler",
)
