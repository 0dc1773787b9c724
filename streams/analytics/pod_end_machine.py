"""Ends of pods that the node's machine bounds or explains: by its reboot, its shutdown, its loss, or its labels."""

from typing import Final

from ingest.model.records import Record
from streams.analytics.pod_end_state import MAX_ENDS, Open, State, changed, key_of
from streams.fold.findings import PodEnd
from streams.fold.shelves import all_on, on_shelf, put
from streams.rules.pod_ends.causes import WITHOUT_WITNESS
from streams.rules.pod_ends.machine import Machine, compared, narrowed, was_rebooted
from streams.rules.pod_ends.when import When
from streams.rules.scheduling.selectors import Terms

BOUNDED: Final = frozenset({"node_lost", "node_shutdown"})
"""Causes that the machine shows too, with their times."""


def left_open(state: State, end: Open) -> State:
    key = key_of(end.row.uid, end.row.container, end.row.attempt)
    known = on_shelf(state.open, key)
    if known is not None and (known.started_at is not None or end.started_at is None):
        return state
    return changed(state, open=put(state.open, key, end, MAX_ENDS))


def bounded(machine: Machine, row: PodEnd) -> PodEnd:
    when = narrowed(machine, row.cause, When(row.ts, row.time_known, row.earliest, row.latest))
    return row._replace(ts=when.at, earliest=when.earliest, latest=when.latest)


def compared_with(machine: Machine, row: PodEnd, wanted: Terms | None) -> PodEnd:
    return row._replace(explanation=f"{row.explanation} {compared(machine, row.node, wanted)}".rstrip())


def told_of_machine(state: State, machine: Machine, record: Record) -> tuple[State, list[PodEnd]]:
    """Bound or explain what was left open by what the machine is now known to have done."""
    rows = list[PodEnd]()
    if machine == state.machine:
        return state, rows
    ends = state.ends
    for key, each in all_on(state.open):
        known = on_shelf(ends, key)
        row = _told(machine, each, known)
        if row is not None and row != known:
            rows.append(row._replace(updated_at=record.ts))
            ends = put(ends, key, rows[-1], MAX_ENDS)
    return changed(state, ends=ends, machine=machine), rows


def _told(machine: Machine, end: Open, known: PodEnd | None) -> PodEnd | None:
    """The row of an end by what the machine did; None where that adds nothing."""
    if end.row.cause == "node_reboot":
        by_reboot = was_rebooted(machine, end.began_at, end.row.ts, end.started_at)
        return end.row if by_reboot and is_unexplained(known) else None
    if known is None or known.cause != end.row.cause:
        return None
    if end.wanted is not None:
        return compared_with(machine, known, end.wanted) if known.explanation == end.row.explanation else None
    row = bounded(machine, end.row)
    return None if known.time_known else known._replace(ts=row.ts, earliest=row.earliest, latest=row.latest)


def is_unexplained(known: PodEnd | None) -> bool:
    return known is None or known.cause in WITHOUT_WITNESS
