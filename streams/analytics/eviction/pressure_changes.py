"""When a node's pressure conditions changed: table `pressure_changes`.

Two witnesses: the node's conditions, and the kubelet's events. Whichever comes first writes the row, the other
confirms it. The "no pressure" trio that every kubelet start emits is no recovery (rules: eviction-messages): its rows
are marked.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from ingest.model.objects.event import event_time
from ingest.model.records import EventRecord, NodeRecord, Record
from streams.fold.findings import PressureChange
from streams.fold.reducer import Output, Reducer
from streams.rules.events.counting import message
from streams.rules.events.messages import is_kubelet_start, parse_node_status

PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure")
SAME_CHANGE: Final = timedelta(seconds=15)
"""Condition and event of one change are at most this far apart: the kubelet's status update is every 10 s."""
START_UP: Final = timedelta(seconds=10)
"""How long after `Starting kubelet.` a kubelet that finds no pressure merely starts."""


class Pressure(msgspec.Struct, frozen=True):
    """A condition as it was last seen to be, since when, and the row of that change if one was written."""

    status: bool
    since: datetime | None
    row: PressureChange | None = None


class State(msgspec.Struct, frozen=True):
    conditions: dict[str, Pressure] = {}
    started_at: datetime | None = None


def step(state: State, record: NodeRecord | EventRecord) -> tuple[State, Sequence[Output]]:
    if isinstance(record, NodeRecord):
        return _node(state, record)
    return _event(state, record)


def _node(state: State, record: NodeRecord) -> tuple[State, Sequence[Output]]:
    rows: list[Output] = []
    conditions = dict(state.conditions)
    for condition in record.object.status.conditions or ():
        if condition.type not in PRESSURES or condition.status not in {"True", "False"}:
            continue
        seen = _Seen(record, condition.type, condition.status == "True", condition.last_transition_time, "condition")
        before = conditions.get(condition.type)
        conditions[condition.type], found = _fold(before, seen, state.started_at)
        rows += found
    if conditions == state.conditions:
        return state, rows
    return msgspec.structs.replace(state, conditions=conditions), rows


class _Seen(msgspec.Struct, frozen=True):
    """A witness' account of a condition."""

    record: Record
    condition: str
    status: bool
    at: datetime | None
    witness: str


def _event(state: State, record: EventRecord) -> tuple[State, Sequence[Output]]:
    event = record.object
    about = event.involved_object or event.regarding
    if record.change == "DELETED" or about is None or about.kind != "Node":
        return state, ()
    at = event_time(event) or record.ts
    if is_kubelet_start(event.reason, message(event)):
        started = max(at, state.started_at or at)
        return msgspec.structs.replace(state, started_at=started), ()
    reported = parse_node_status(event.reason, message(event))
    if reported is None or reported.condition not in PRESSURES:
        return state, ()
    before = state.conditions.get(reported.condition)
    seen = _Seen(record, reported.condition, reported.status, at, "event")
    if before is not None and before.since is not None and at < before.since:
        return state, ()
    if not reported.status and not _was_pressure(before) and not _is_same_change(before, seen, state.started_at):
        return state, (_row(seen, lasted=None, kubelet_restart=True),)
    pressure, rows = _fold(before, seen, state.started_at)
    conditions = {**state.conditions, reported.condition: pressure}
    return msgspec.structs.replace(state, conditions=conditions), rows


def _fold(before: Pressure | None, seen: _Seen, started_at: datetime | None) -> tuple[Pressure, list[Output]]:
    """A witness against what is known: a change, a confirmation of one, or nothing new."""
    if before is None and not seen.status:
        return Pressure(seen.status, seen.at), []
    if before is not None and seen.status == before.status:
        return _confirmed(before, seen)
    since = before.since if before is not None else None
    if before is not None and since is not None and seen.at is not None and seen.at < since:
        return before, []
    lasted = (seen.at - since).total_seconds() if seen.at and since else None
    restart = not seen.status and _starts_up(seen.at, started_at)
    row = _row(seen, lasted=lasted, kubelet_restart=restart)
    return Pressure(seen.status, seen.at, row), [row]


def _confirmed(before: Pressure, seen: _Seen) -> tuple[Pressure, list[Output]]:
    """The row of a change with its second witness; nothing where there is none to confirm."""
    if before.row is None or before.row.evidence in {"both", seen.witness} or not _is_near(before.row, seen):
        return before, []
    row = before.row._replace(evidence="both", updated_at=seen.record.ts)
    return Pressure(before.status, before.since, row), [row]


def _was_pressure(before: Pressure | None) -> bool:
    return before is not None and before.status


def _is_same_change(before: Pressure | None, seen: _Seen, started_at: datetime | None) -> bool:
    """Whether an event repeats an end of pressure that is known already, rather than a kubelet's start after it."""
    if before is None or before.row is None:
        return False
    return seen.at == before.row.ts or (_is_near(before.row, seen) and not _starts_up(seen.at, started_at))


def _is_near(row: PressureChange | None, seen: _Seen) -> bool:
    return (
        row is not None and seen.at is not None and row.status == seen.status and abs(row.ts - seen.at) <= SAME_CHANGE
    )


def _starts_up(at: datetime | None, started_at: datetime | None) -> bool:
    return at is not None and started_at is not None and timedelta() <= at - started_at <= START_UP


def _row(seen: _Seen, *, lasted: float | None, kubelet_restart: bool) -> PressureChange:
    record = seen.record
    return PressureChange(
        cluster=record.cluster,
        ts=seen.at or record.ts,
        node=record.node,
        condition=seen.condition,
        status=seen.status,
        lasted_seconds=lasted,
        kubelet_restart=kubelet_restart,
        evidence=seen.witness,
        updated_at=record.ts,
    )


REDUCER: Final = Reducer(
    name="pressure_changes",
    version=1,
    log="node",
    takes=(NodeRecord, EventRecord),
    state=State,
    step=step,
)
