"""Exposes findings as metrics for Prometheus: the last of each node, with a limited number of label values."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from common.telemetry import Figure, Values
from streams.fold.findings import BROKEN_GC, REPEAT_EVERY, Alert, EvictionSignal, ImageGc, NodeRow, NumaSkew
from streams.rules.eviction.thresholds import first_met

_NODE: Final = ("cluster", "node")
_THRESHOLD: Final = (*_NODE, "signal", "threshold")
ROOM: Final = Figure(
    "eviction_room",
    "gauge",
    "Room above an eviction threshold, in the unit of its signal: bytes, inodes or process IDs; below 0 it is met",
    _THRESHOLD,
)
ROOM_RATIO: Final = Figure(
    "eviction_room_ratio", "gauge", "Room above an eviction threshold, as a share of the capacity", _THRESHOLD
)
SECONDS: Final = Figure(
    "eviction_seconds",
    "gauge",
    "Likely seconds until an eviction threshold is met, 0 while it is met; absent if it does not approach",
    _THRESHOLD,
)
SAMPLED_AT: Final = Figure(
    "node_sampled_timestamp_seconds", "gauge", "Time of the sample that the eviction figures are from", _NODE
)
GC_FAILING: Final = Figure("image_gc_failing", "gauge", "1 while image GC of a node fails", (*_NODE, "verdict"))
GC_MISSING: Final = Figure("image_gc_missing_bytes", "gauge", "Bytes that a failing image GC did not free", _NODE)
NUMA_SKEW: Final = Figure(
    "numa_skew_ratio", "gauge", "How unevenly exclusive CPUs are spread over NUMA nodes, from 0 to 1", _NODE
)
NUMA_FREE: Final = Figure("numa_free_cpus", "gauge", "CPUs of a node that no container has exclusively", _NODE)
NUMA_LARGEST: Final = Figure(
    "numa_largest_fit_cpus", "gauge", "CPUs of the largest container that fits one NUMA node", _NODE
)
NUMA_SPANNING: Final = Figure(
    "numa_spanning_pods", "gauge", "Pods with a container whose exclusive CPUs are on several NUMA nodes", _NODE
)
FIRING: Final = Figure("alerts_firing", "gauge", "Alerts that fire", ("cluster", "alertname", "severity"))
LEFT_OUT: Final = Figure(
    "figures_nodes_left_out", "gauge", "Nodes without eviction figures, because others are nearer", ("cluster",)
)
FIGURES: Final = (
    ROOM,
    ROOM_RATIO,
    SECONDS,
    SAMPLED_AT,
    GC_FAILING,
    GC_MISSING,
    NUMA_SKEW,
    NUMA_FREE,
    NUMA_LARGEST,
    NUMA_SPANNING,
    FIRING,
    LEFT_OUT,
)
MOST_NODES: Final = 1000
"""Most nodes of a cluster with eviction figures (those nearest to a threshold) and NUMA figures (most skewed)."""
SILENT: Final = timedelta(minutes=10)
"""A node whose last sample is this much older than its cluster's has no eviction figures."""
GC_RECENT: Final = timedelta(hours=1)
"""A failure of image GC that did not repeat for this long is over."""
_KEYS: Final[Mapping[type, tuple[str, ...]]] = {
    EvictionSignal: ("cluster", "node", "signal"),
    ImageGc: ("cluster", "node", "reason"),
    NumaSkew: ("cluster", "node"),
    Alert: ("cluster", "fingerprint"),
}
_Found = dict[Figure, dict[tuple[str, ...], float]]


class Figures:
    """Stores the last rows of each kind. Only one thread may write."""

    def __init__(self) -> None:
        self._rows: dict[type, dict[tuple[str, ...], tuple[Any, float]]] = {kind: {} for kind in _KEYS}
        self._dropped_at = 0.0
        self._sampled: set[str] = set()
        """Clusters that have had samples."""

    def take(self, row: object, at: float = 0.0) -> None:
        """Store a row that arrived `at`; remove the rows of a deleted node and resolved alerts.

        This also removes outdated rows, because the metrics may never be scraped.
        """
        if at - self._dropped_at >= SILENT.total_seconds():
            self.drop(at)
        if isinstance(row, NodeRow) and row.deleted:
            self._forget(row.cluster, row.node)
        elif (names := _KEYS.get(type(row))) is not None:
            rows, key = self._rows[type(row)], tuple(str(getattr(row, name)) for name in names)
            if isinstance(row, Alert) and row.status != "firing":
                rows.pop(key, None)
            elif key not in rows or rows[key][0].ts <= row.ts:  # type: ignore[attr-defined]  # all these have it
                rows[key] = row, at
                if isinstance(row, EvictionSignal):
                    self._sampled.add(row.cluster)

    def drop(self, now: float) -> None:
        """Forget nodes and alerts without recent rows, because their partition may have moved to another worker."""
        self._dropped_at = now
        silent_at = now - SILENT.total_seconds()
        self._keep(EvictionSignal, lambda _, at: at >= silent_at)
        alive = {key[:2] for key in self._rows[EvictionSignal]}
        for kind in (ImageGc, NumaSkew):  # such rows come only at changes, and without samples too
            self._keep(kind, lambda key, at: key[0] not in self._sampled or key[:2] in alive or at >= silent_at)
        self._sampled &= {key[0] for rows in self._rows.values() for key in rows}
        repeated_at = now - 2 * REPEAT_EVERY.total_seconds()
        self._keep(Alert, lambda _, at: at >= repeated_at)

    def values(self) -> Mapping[Figure, Values]:
        found: _Found = {figure: {} for figure in FIGURES}
        signals = list(self._of(EvictionSignal))
        lasts: dict[str, datetime] = {}
        for each in signals:
            lasts[each.cluster] = max(each.ts, lasts.get(each.cluster, each.ts))
        _eviction(found, (each for each in signals if each.ts > lasts[each.cluster] - SILENT))
        for gc in self._of(ImageGc):
            if gc.verdict in BROKEN_GC and gc.last_at > lasts.get(gc.cluster, gc.last_at) - GC_RECENT:
                found[GC_FAILING][gc.cluster, gc.node, gc.verdict] = 1.0
                if gc.wanted_bytes is not None:
                    found[GC_MISSING][gc.cluster, gc.node] = max(0, gc.wanted_bytes - (gc.freed_bytes or 0))
        skews = [each for each in self._of(NumaSkew) if each.scope == "node"]
        for skew in sorted(skews, key=lambda each: -(each.skew_ratio or 0.0))[:MOST_NODES]:
            for figure, value in (
                (NUMA_SKEW, skew.skew_ratio),
                (NUMA_FREE, skew.free_cpus),
                (NUMA_LARGEST, skew.largest_fit_cpus),
                (NUMA_SPANNING, skew.spanning_pods),
            ):
                if value is not None:
                    found[figure][skew.cluster, skew.node] = float(value)
        firing = Counter((each.cluster, each.alertname, each.severity) for each in self._of(Alert))
        found[FIRING].update({key: float(number) for key, number in firing.items()})
        return found

    def _of(self, kind: type) -> Iterator[Any]:
        return (row for row, _ in list(self._rows[kind].values()))

    def _keep(self, kind: type, is_kept: Callable[[tuple[str, ...], float], bool]) -> None:
        self._rows[kind] = {key: row for key, row in self._rows[kind].items() if is_kept(key, row[1])}

    def _forget(self, cluster: str, node: str) -> None:
        for kind in (EvictionSignal, ImageGc, NumaSkew):
            self._keep(kind, lambda key, _: key[:2] != (cluster, node))


def _eviction(found: _Found, signals: Iterable[EvictionSignal]) -> None:
    by_node: dict[str, dict[str, list[EvictionSignal]]] = defaultdict(lambda: defaultdict(list))
    for each in signals:
        by_node[each.cluster][each.node].append(each)
    for cluster, nodes in by_node.items():
        nearest = sorted(nodes.items(), key=lambda node: (min(map(_nearness, node[1])), node[0]))
        found[LEFT_OUT][cluster,] = float(max(0, len(nearest) - MOST_NODES))
        for name, of_node in nearest[:MOST_NODES]:
            found[SAMPLED_AT][cluster, name] = max(each.ts for each in of_node).timestamp()
            for signal in of_node:
                _thresholds(found, signal)


def _thresholds(found: _Found, row: EvictionSignal) -> None:
    for name, threshold, is_met, seconds in (
        ("hard", row.hard_threshold, row.hard_met, row.seconds_to_hard),
        ("soft", row.soft_threshold, row.soft_met, row.seconds_to_soft),
    ):
        if threshold is None:
            continue
        labels = row.cluster, row.node, row.signal, name
        found[ROOM][labels] = float(row.available - threshold)
        if row.capacity > 0:
            found[ROOM_RATIO][labels] = (row.available - threshold) / row.capacity
        if is_met or seconds is not None:
            found[SECONDS][labels] = 0.0 if is_met else float(seconds or 0.0)


def _nearness(row: EvictionSignal) -> float:
    """Return the room as a share of the capacity, 1 if there is no threshold."""
    first = first_met(row.hard_threshold, row.soft_threshold)
    return 1.0 if first is None or row.capacity <= 0 else (row.available - first) / row.capacity
