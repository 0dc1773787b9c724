"""Parts of records about a scheduler: its queues, and its attempts to place pods."""

from datetime import datetime

import msgspec

from ingest.model.numbers import Count, Int64


class SchedulerQueue(msgspec.Struct, frozen=True, omit_defaults=True):
    """Pods in one of a scheduler's queues (rules: scheduling-queue)."""

    queue: str
    """`active`, `backoff`, `unschedulable`, or, in metrics only, `gated`: a dump counts gated pods as
    unschedulable.
    """
    pods: Count
    uids: tuple[str, ...] = ()
    """Their UIDs, if a dump names them."""


class Attempt(msgspec.Struct, frozen=True, omit_defaults=True):
    """An attempt to place a pod, from a scheduler's log (rules: scheduler-log)."""

    pod: str
    """`namespace/name`."""
    at: datetime | None = None
    """When it was logged; two attempts may be equal otherwise."""
    uid: str = ""
    text: str = ""
    """The scheduler's explanation why no node fits; empty if the pod was bound."""
    node: str = ""
    """The node to which the pod was bound."""
    evaluated: Count | None = None
    feasible: Count | None = None
    """Numbers of nodes."""
    scores: dict[str, Int64] = {}
    """The final score of each node."""
    plugins: dict[str, dict[str, Int64]] = {}
    """The weighted scores by node and plugin."""
    refused: dict[str, str] = {}
    """The plugin that filtered out each node, if it logs that."""
    visited: tuple[str, ...] = ()
    """Nodes of the scheduler's list that its log names; a node is repeated if the list has it twice."""
