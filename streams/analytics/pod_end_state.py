"""The state of `pod_ends`: rows by their keys, and the facts that can still explain them."""

from datetime import datetime
from typing import Final

import msgspec
from msgspec.structs import replace

from ingest.model.records import Record
from streams.analytics.pod_end_rows import with_actor, with_witness
from streams.fold.findings import PodEnd
from streams.fold.shelves import Shelves, items, on_shelf, put
from streams.rules.pod_ends.causes import WITHOUT_WITNESS, Restarts
from streams.rules.pod_ends.machine import Machine, compared, narrowed, was_rebooted
from streams.rules.pod_ends.when import When
from streams.rules.scheduling.selectors import Terms

BOUNDED: Final = frozenset({"node_lost", "node_shutdown"})
"""Causes that records of the machine also show, with their times."""
MAX_ENDS: Final = 500
"""Number of ends of a node that later witnesses can still confirm."""


class Open(msgspec.Struct, frozen=True):
    """An end that only its pod shows, and that the node's Events can bound or explain."""

    row: PodEnd
    began_at: datetime | None = None
    """When a restarted container was started before it ended."""
    started_at: datetime | None = None
    """When a restarted container was started next."""
    node_terms: Terms | None = msgspec.field(name="wanted", default=None)
    """The node labels that a pod required when it was refused."""


class Announcement(msgspec.Struct, frozen=True, array_like=True):
    """An announcement by a component other than the kubelet that it ends a pod."""

    cause: str
    actor: str
    reason: str
    message: str
    at: datetime


class State(msgspec.Struct, frozen=True):
    disruptor: str = ""
    """The program that tainted the node to drain it."""
    machine: Machine = Machine()
    """The node's machine, as far as it is known."""
    open: Shelves[Open] = {}
    """Ends that the machine can still bound or explain, with the keys of `ends`."""
    ends: Shelves[PodEnd] = {}
    """The last row of each end, by UID, container and attempt."""
    finished: Shelves[bool] = {}
    """UIDs of pods that ended by themselves."""
    gone: str = ""
    """The last pod that ended, until another pod's next record, because its own may be delivered twice."""
    restarts: Shelves[dict[str, Restarts]] = {}
    """Restarts of each container that has any, by the pod's UID."""
    unhealthy: dict[str, datetime] = {}
    """When a liveness or startup probe of a pod last failed, by UID."""
    acts: Shelves[Announcement] = {}
    """The last announcement about each pod, by its UID."""
    mirrored: dict[str, str] = {}
    """UIDs of mirror pods, by the UID of the static pod, which the kubelet's Events contain."""
    owners: Shelves[tuple[str, str]] = {}
    """Kind and name of pods' controllers, by UID, which a dump implies before it has the pods."""


def witnessed(state: State, row: PodEnd, rows: list[PodEnd]) -> State:
    """Add a witness of an end; `rows` gets the end's row if that changes it."""
    key = key_of(row.uid, row.container, row.attempt)
    known, acted = on_shelf(state.ends, key), on_shelf(state.acts, row.uid)
    if known is not None:
        row = with_witness(known, row)
    if acted is not None and not row.container:
        row = with_actor(row, *msgspec.structs.astuple(acted))
    if known is not None and row == known._replace(updated_at=row.updated_at):
        return state
    rows.append(row)
    return replace(state, ends=put(state.ends, key, row, MAX_ENDS))


def key_of(uid: str, container: str, attempt: int) -> str:
    return f"{uid}/{container}/{attempt}"


def left_open(state: State, end: Open) -> State:
    """Remember an end that the machine may still bound or explain."""
    key = key_of(end.row.uid, end.row.container, end.row.attempt)
    known = on_shelf(state.open, key)
    if known is not None and (known.started_at is not None or end.started_at is None):
        return state
    return replace(state, open=put(state.open, key, end, MAX_ENDS))


def bounded(machine: Machine, row: PodEnd) -> PodEnd:
    when = narrowed(machine, row.cause, When(row.ts, row.time_known, row.earliest, row.latest))
    return row._replace(ts=when.at, earliest=when.earliest, latest=when.latest)


def compared_with(machine: Machine, row: PodEnd, terms: Terms | None) -> PodEnd:
    return row._replace(explanation=f"{row.explanation} {compared(machine, row.node, terms)}".rstrip())


def explained_by_machine(state: State, machine: Machine, record: Record) -> tuple[State, list[PodEnd]]:
    """Bound or explain open ends by the newly known facts about the machine."""
    rows = list[PodEnd]()
    if machine == state.machine:
        return state, rows
    ends = state.ends
    for key, each in items(state.open):
        known = on_shelf(ends, key)
        row = _bounded_row(machine, each, known)
        if row is not None and row != known:
            rows.append(row._replace(updated_at=record.ts))
            ends = put(ends, key, rows[-1], MAX_ENDS)
    return replace(state, ends=ends, machine=machine), rows


def _bounded_row(machine: Machine, end: Open, known: PodEnd | None) -> PodEnd | None:
    """Return the row of an end that the machine explains; None if that adds nothing."""
    if end.row.cause == "node_reboot":
        by_reboot = was_rebooted(machine, end.began_at, end.row.ts, end.started_at)
        return end.row if by_reboot and is_unexplained(known) else None
    if known is None or known.cause != end.row.cause:
        return None
    if end.node_terms is not None:
        return compared_with(machine, known, end.node_terms) if known.explanation == end.row.explanation else None
    row = bounded(machine, end.row)
    return None if known.time_known else known._replace(ts=row.ts, earliest=row.earliest, latest=row.latest)


def is_unexplained(known: PodEnd | None) -> bool:
    return known is None or known.cause in WITHOUT_WITNESS
