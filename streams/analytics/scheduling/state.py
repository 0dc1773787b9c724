"""The state of the analytic `scheduling`."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from ingest.model.objects.pod import Toleration
from streams.analytics.scheduling.cluster_nodes import ClusterNodes
from streams.fold.findings import SchedulingFailure
from streams.fold.shelves import Shelves, all_on, count_on, put, taken

WAITING_LIMIT: Final = 50_000
"""Texts of pods that are remembered; beyond, the oldest are forgotten, and reported again if they come again."""
OPEN_LIMIT: Final = 20_000
"""Failures that wait for their minute to end; beyond, a failure gets its row but no verdict."""


class Waiting(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The last text that a witness gave about a pod, so that it is reported once."""

    text: str
    """Its digest."""
    ts: datetime
    daemon_node: str = ""
    """The node that a DaemonSet's pod is for."""


class OpenFailure(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A failure whose minute is not over."""

    row: SchedulingFailure
    oldest_minor: int = 0
    listed: bool = False
    """The pod is older than its first observation, so its text may be as well."""
    daemon: bool = False
    tolerations: list[Toleration] = []


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    cluster: str = ""
    began: datetime | None = None
    """The first record of the log."""
    nodes: ClusterNodes = ClusterNodes()
    waiting: Shelves[Waiting] = {}
    """Waiting pods by witness and pod."""
    open: Shelves[OpenFailure] = {}
    """Open failures by witness, pod and time."""
    placed: dict[str, datetime] = {}
    """The last minute in which a node got a pod that could have gone elsewhere."""
    starved: dict[str, tuple[datetime, str]] = {}
    """The last verdict about a node, and since when."""


def remember(state: State, key: str, last: Waiting) -> State:
    """With the last text of a witness about a pod."""
    return msgspec.structs.replace(state, waiting=put(state.waiting, key, last))


def forget_pod(state: State, pod: str) -> State:
    """Without what was remembered of a pod that no longer needs a node."""
    waiting = taken(taken(state.waiting, f"condition/{pod}"), f"event/{pod}")
    return state if waiting is state.waiting else msgspec.structs.replace(state, waiting=waiting)


def forget_old(state: State, watermark: datetime, over: datetime, back: timedelta) -> State:
    """Without failures from before `over`, and within the limits."""
    waiting = state.waiting
    if (beyond := count_on(waiting) - WAITING_LIMIT) > 0:
        for key, _ in sorted(all_on(waiting), key=lambda item: (item[1].ts, item[0]))[:beyond]:
            waiting = taken(waiting, key)
    return msgspec.structs.replace(
        state,
        open={name: left for name, shelf in state.open.items() if (left := _still_open(shelf, over))},
        placed={
            node: minute
            for node, minute in state.placed.items()
            if node in state.nodes.nodes or minute > watermark - back
        },
        waiting=waiting,
    )


def _still_open(shelf: Mapping[str, OpenFailure], over: datetime) -> dict[str, OpenFailure]:
    return {key: failure for key, failure in shelf.items() if failure.row.ts >= over}
