"""The state from which `pod_ends` names the causes of ends: rows by their keys, and what can still explain them."""

from datetime import datetime
from typing import Final

import msgspec

from streams.analytics.pod_end_rows import with_actor, with_witness
from streams.fold.findings import PodEnd
from streams.fold.shelves import Shelves, on_shelf, put
from streams.rules.pod_ends.machine import Machine
from streams.rules.pod_ends.restarts import Restarts
from streams.rules.scheduling.selectors import Terms

MAX_ENDS: Final = 500
"""Ends of a node that later witnesses can still confirm."""


class Open(msgspec.Struct, frozen=True):
    """An end as its pod alone shows it, which the node's Events can bound or explain."""

    row: PodEnd
    began_at: datetime | None = None
    """When a restarted container was started before its end."""
    started_at: datetime | None = None
    """When a restarted container was started next."""
    wanted: Terms | None = None
    """Labels of a node that a pod asks for which was refused over them."""


class Acted(msgspec.Struct, frozen=True, array_like=True):
    """An announcement that a pod is ended, by another component than the kubelet."""

    cause: str
    actor: str
    reason: str
    message: str
    at: datetime


class State(msgspec.Struct, frozen=True):
    disruptor: str = ""
    """The program that has tainted the node to drain it."""
    machine: Machine = Machine()
    """The node's machine, as far as it is known."""
    open: Shelves[Open] = {}
    """Ends that the machine can still bound or explain, with the keys of `ends`."""
    ends: Shelves[PodEnd] = {}
    """The last row of each end, by UID, container and attempt."""
    finished: Shelves[bool] = {}
    """UIDs of pods that ended by themselves."""
    gone: str = ""
    """The one of these that went last. It is forgotten with the next record of another pod, because its own may be
    delivered twice.
    """
    restarts: Shelves[dict[str, Restarts]] = {}
    """Restarts of each container that has any, by the pod's UID."""
    unhealthy: dict[str, datetime] = {}
    """When a liveness or startup probe of a pod last failed, by UID."""
    acts: Shelves[Acted] = {}
    """The last announcement about each pod, by its UID."""
    mirrored: dict[str, str] = {}
    """UIDs of mirror pods by that of the static pod, which the kubelet's Events carry."""
    owners: Shelves[tuple[str, str]] = {}
    """Kind and name of the controllers of pods, by UID, that a dump implies before it has the pod."""


def changed(state: State, **changes: object) -> State:
    return msgspec.structs.replace(state, **changes)


def witnessed(state: State, row: PodEnd, rows: list[PodEnd]) -> State:
    key = key_of(row.uid, row.container, row.attempt)
    known, acted = on_shelf(state.ends, key), on_shelf(state.acts, row.uid)
    if known is not None:
        row = with_witness(known, row)
    if acted is not None and not row.container:
        row = with_actor(row, *msgspec.structs.astuple(acted))
    if known is not None and row == known._replace(updated_at=row.updated_at):
        return state
    rows.append(row)
    return changed(state, ends=put(state.ends, key, row, MAX_ENDS))


def key_of(uid: str, container: str, attempt: int) -> str:
    return f"{uid}/{container}/{attempt}"
