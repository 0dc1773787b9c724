"""Verdicts of the analytic `scheduling` at the end of a minute of the cluster's log (rules: blind-spots)."""

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from streams.analytics.scheduling.cluster_nodes import (
    ClusterNodes,
    OpenFailure,
    State,
    existing_for,
    existing_within,
    forget_gone,
    forget_old,
)
from streams.fold.findings import Row, SchedulerBlindSpot
from streams.fold.shelves import items, on_shelf
from streams.rules.scheduling import blind_spot
from streams.rules.scheduling.blind_spot import Cluster, Counted, Finding, Placement

YOUNG: Final = timedelta(minutes=1)
"""Time within which a scheduler notices a new or deleted node."""
SETTLED: Final = timedelta(seconds=10)
"""Maximum distance of the records of one observation."""
RETRIED: Final = timedelta(minutes=10)
"""Maximum age of a listed pod's text, because every version retries at least that often."""
STARVED: Final = timedelta(minutes=10)
"""A node without new pods for this long counts as evidence."""


def conclude(state: State, watermark: datetime) -> tuple[State, list[Row]]:
    """Judge the failures of minutes that are over, and the nodes that get no pods."""
    settled_before = min(minute_of(watermark), watermark - SETTLED)
    state = replace(state, nodes=forget_gone(state.nodes, watermark - RETRIED - 2 * YOUNG))
    cluster = cluster_of(state.nodes)
    failures = list(items(state.open))
    rows: list[Row] = []
    if due := [failure for _, failure in failures if failure.row.ts < settled_before]:
        witnessed = {key.rpartition("/")[0] for key, _ in failures}
        for failure in due:
            rows += _judge(state, failure, cluster, witnessed)
    state, starved = _starved(forget_old(state, watermark, settled_before, RETRIED), minute_of(watermark), cluster)
    return state, [*rows, *starved]


def _judge(state: State, failure: OpenFailure, cluster: Cluster, witnessed: AbstractSet[str]) -> Iterator[Row]:
    """`witnessed` has pods of open failures, by witness: no other witness adds anything to a condition
    (rules: blind-spots).
    """
    row = failure.row
    known = existing_for(state.nodes, row.ts, YOUNG)
    if known != row.nodes_known:
        yield row._replace(nodes_known=known)
    condition = f"condition/{pod_key(row.namespace, row.pod, row.uid)}"
    if row.text_source != "condition" and (condition in witnessed or on_shelf(state.waiting, condition) is not None):
        return
    yield from evaluated(state, failure, cluster)
    yield from _counted(state, failure, cluster)


def evaluated(state: State, failure: OpenFailure, cluster: Cluster) -> Iterator[SchedulerBlindSpot]:
    """Judge whether the scheduler looked at all nodes; at most one row."""
    row = failure.row
    if row.truncated or row.prefilter:
        return
    is_open = _pinned_node_is_open(state, failure)
    judged = blind_spot.Failure(row.nodes_total, row.reasons, failure.oldest_minor, row.pinned_node, is_open)
    finding = blind_spot.judge_evaluated(judged, cluster)
    if finding is not None:
        yield spot("nodes_evaluated", finding, cluster.version, row.cluster, row.ts, row.namespace, row.pod)


def _pinned_node_is_open(state: State, failure: OpenFailure) -> bool:
    """Tell whether a DaemonSet's pod could go to its node, and could for the minute before the text."""
    node = state.nodes.nodes.get(failure.row.pinned_node)
    if not failure.daemon or node is None or node.open_since is None:
        return False
    if node.open_since > failure.row.ts - YOUNG:
        return False
    return all(blind_spot.tolerates(failure.tolerations, taint) for taint in node.taints)


def _counted(state: State, failure: OpenFailure, cluster: Cluster) -> Iterator[SchedulerBlindSpot]:
    row = failure.row
    back = RETRIED if failure.listed else YOUNG
    complete = state.began is not None and state.began <= row.ts - (RETRIED if failure.listed else SETTLED)
    if row.text_source != "condition" and not complete:
        return
    counted = Counted(existing_for(state.nodes, row.ts, back), existing_within(state.nodes, row.ts, back), complete)
    finding = blind_spot.judge_counted(row.nodes_total, counted)
    if finding is not None:
        yield spot("nodes_total", finding, cluster.version, row.cluster, row.ts, row.namespace, row.pod)


def _starved(state: State, now: datetime, cluster: Cluster) -> tuple[State, list[Row]]:
    begun = now - STARVED
    if state.began is None or state.began > begun or not blind_spot.can_be_starved(cluster):
        return state, []
    takers = sorted(
        name
        for name, node in state.nodes.nodes.items()
        if node.open_since is not None and max(node.open_since, node.since) <= begun and not node.taints
    )
    got = {name for name in takers if name in state.placed and state.placed[name] >= begun}
    pending = Counter(waiting.daemon_node for _, waiting in items(state.waiting))
    judged: dict[str, tuple[datetime, str]] = {}
    rows: list[Row] = []
    for name in takers:
        if name in got:
            continue
        node, placed = state.nodes.nodes[name], state.placed.get(name)
        since = max(time for time in (placed, node.open_since, node.since) if time is not None)
        minutes = STARVED // timedelta(minutes=1)
        placement = Placement(minutes, len(takers) - 1, len(got), placed is not None, pending[name])
        finding = blind_spot.judge_placement(placement, cluster)
        if finding is None:
            continue
        judged[name] = (since, finding.verdict)
        if state.starved.get(name) != judged[name]:
            rows.append(spot("placement", finding._replace(node=name), cluster.version, state.cluster, since))
    return replace(state, starved=judged), rows


def cluster_of(nodes: ClusterNodes) -> Cluster:
    """Return a cluster's facts for the rules; the newest kubelet's version stands in for the scheduler's."""
    known = nodes.nodes.values()
    version = blind_spot.newest({node.version for node in known})
    return Cluster(Counter(node.zone for node in known), version)


def spot(
    test: str, finding: Finding, version: str, cluster: str, ts: datetime, namespace: str = "", pod: str = ""
) -> SchedulerBlindSpot:
    return SchedulerBlindSpot(
        cluster, ts, finding.verdict, test, finding.node, namespace, pod, finding.evidence, version
    )


def pod_key(namespace: str, pod: str, uid: str) -> str:
    return uid or f"{namespace}/{pod}"


def minute_of(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)
