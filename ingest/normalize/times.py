"""Handles impossible times of objects: anyone who can create an Event or write a status can use any year.

Such a time counts as missing, and the record is used without it: an Event has its creation, or else the time of the
observation. If the presence of a time matters, as for a deletion, it becomes the time of the observation.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from operator import is_
from types import UnionType
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import replace

from common.errors import BadRecord
from ingest.model.records import EventRecord, Record

IMPOSSIBLE_TIME: Final = "impossible_time"
AHEAD: Final = timedelta(days=2)
"""Tolerance for times after the observation: two clocks can each be wrong by a day."""
BEHIND: Final = timedelta(days=20 * 366)
"""No object of a cluster is this old; a machine without a clock has 1970."""
EVENTS_BEHIND: Final = timedelta(days=366)
"""An API server keeps Events for an hour, some for weeks; a month of them is one partition of a table."""
_NEVER: Final = datetime(1, 1, 1, tzinfo=UTC)
"""Go's zero time: the event has not happened, and nothing is wrong."""
_NO_CLOCK: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Go's zero time as kubelets write it; 1 January 1970 is also the date of machines that booted without a clock."""
_KEPT: Final = frozenset({"deletion_timestamp", "latest"})

R = TypeVar("R", bound=Record)


class _Around(NamedTuple):
    """An observation, and the impossible times in it."""

    observed_at: datetime
    earliest: datetime
    latest: datetime
    impossible: list[str]


_Visit: TypeAlias = Callable[[Any, _Around], Any]
"""Returns the same value if nothing changes."""


def with_possible_times(record: R) -> tuple[R, BadRecord | None]:
    """Return the record without times that are impossible for its observation, and the names of the wrong fields."""
    visit = _visitor(type(record))
    if visit is None:
        return record, None
    ts = record.ts
    behind = EVENTS_BEHIND if isinstance(record, EventRecord) else BEHIND
    around = _Around(ts, ts - min(behind, ts - _FIRST), ts + min(AHEAD, _LAST - ts), [])
    record = visit(record, around)
    if not around.impossible:
        return record, None
    fields = ", ".join(around.impossible[:_MOST_NAMED])
    reason = f"{fields}: impossible for an observation at {ts.isoformat()}; treated as unknown"
    return record, BadRecord(IMPOSSIBLE_TIME, reason)


_FIRST: Final = datetime(1, 1, 1, tzinfo=UTC)
_LAST: Final = datetime.max.replace(tzinfo=UTC)
_MOST_NAMED: Final = 5
"""Maximum number of fields in a reason."""


@cache
def _visitor(kind: Any) -> _Visit | None:
    """Build a visitor for a type; None if it contains no times. Other fields are not visited."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        hints = get_type_hints(kind)
        own = (name for name in kind.__struct_fields__ if not (issubclass(kind, Record) and name == "ts"))
        fields = {name: visit for name in own if (visit := _field(name, hints[name])) is not None}
        times = frozenset(name for name in fields if _is_time(hints[name]))
        return _of_struct(fields, times) if fields else None
    arguments = [each for each in get_args(kind) if each is not type(None)]
    if get_origin(kind) in {Union, UnionType}:
        visits = [visit for visit in map(_visitor, arguments) if visit is not None]
        return visits[0] if visits else None
    if get_origin(kind) in {list, tuple} and (visit := _visitor(arguments[0])) is not None:
        return _of_sequence(visit)
    return None


def _is_time(hint: Any) -> bool:
    return datetime in {hint, *get_args(hint)}


def _field(name: str, hint: Any) -> _Visit | None:
    return _of_time(name, is_needed=hint is datetime or name in _KEPT) if _is_time(hint) else _visitor(hint)


def _of_struct(fields: dict[str, _Visit], times: frozenset[str]) -> _Visit:
    inside = [(name, visit, name in times) for name, visit in fields.items()]

    def visit(value: Any, around: _Around) -> Any:
        changed: dict[str, Any] = {}
        _, earliest, latest, _ = around
        for name, inner, is_time in inside:
            before = getattr(value, name)
            if before is None or (is_time and before.tzinfo is UTC and earliest <= before <= latest):
                continue
            if (after := inner(before, around)) is not before:
                changed[name] = after
        return replace(value, **changed) if changed else value

    return visit


def _of_sequence(inner: _Visit) -> _Visit:
    def visit(value: Any, around: _Around) -> Any:
        after = [inner(each, around) for each in value]
        return value if all(map(is_, value, after)) else type(value)(after)

    return visit


def _of_time(name: str, *, is_needed: bool) -> _Visit:
    def visit(value: datetime, around: _Around) -> datetime | None:
        if value.tzinfo is None:
            value = value.replace(tzinfo=UTC)
        if around.earliest <= value <= around.latest:
            return value if value.tzinfo is UTC else value.astimezone(UTC)
        if value != _NEVER and not _NO_CLOCK <= value < _NO_CLOCK + timedelta(days=1):
            around.impossible.append(f"{name} {value.isoformat()}")
        return around.observed_at if is_needed else None

    return visit
