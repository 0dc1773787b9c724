"""Renders the tables of the pages as CSV: raw numbers with the unit in the column name, and times in UTC."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, Final

from leadsman.web.attention.episodes import Timeline
from leadsman.web.reading.alerts import Alert
from leadsman.web.reading.detail import Detail
from leadsman.web.reading.numa_fleet import NumaFleet
from leadsman.web.rendering.node_table import Line
from sql.database.open import Result
from sql.questions.cells import as_csv

EPISODES: Final = 10_000
NUMA_NAMES: Final = ("cpus", "reserved", "exclusive", "free", "memory_allocatable", "memory_available")
"""Columns of a NUMA node."""
_EPISODE: Final = attrgetter("since", "until", "kind", "severity.word")


def nodes(lines: Iterable[Line]) -> str:
    names = ("node", "zone", "pool", "kubelet_version", "ready", "unschedulable", "state", "sampled_at", "signal",
             "available", "threshold", "room_ratio", "seconds_to_threshold", "cpu_requested_ratio",
             "memory_requested_ratio", "numa_free_cpus", "numa_largest_fit_cpus")  # fmt: skip
    return _csv(names, (_node(line) for line in lines))


def _node(line: Line) -> Sequence[Any]:
    node = line.node
    margin = node.margins[0] if node.margins and not node.stale else None
    requested = [
        None if fit is None or not fit.allocatable else fit.requested / fit.allocatable
        for fit in (node.fit.get("cpu"), node.fit.get("memory"))
    ]
    numa = node.numa if node.numa and node.pins else {}
    state = "; ".join(badge.text for badge in line.badges)
    near = (margin.signal, margin.available, margin.threshold, margin.room, margin.seconds) if margin else (None,) * 5
    return (node.name, node.zone, node.pool, node.kubelet_version, node.ready, node.unschedulable, state,
            node.sampled_at, *near, *requested, numa.get("free_cpus"), numa.get("largest_fit_cpus"))  # fmt: skip


def numa_nodes(numa: NumaFleet) -> str:
    """Return a row for each NUMA node; -1 if only the CPUs of the whole node are known."""
    units = (name if index < 4 else f"{name}_bytes" for index, name in enumerate(NUMA_NAMES))  # noqa: PLR2004 - CPUs
    names = ("node", "zone", "pool", "joined_at", "late", "numa_node", *units, "skew_ratio", "fidelity")
    return _csv(
        names,
        (
            (line.node.name, line.node.zone, line.node.pool, line.created_at, line.late, band.number,
             *(getattr(band, name) for name in NUMA_NAMES), row.get("skew_ratio"), row.get("fidelity"))
            for line in numa.lines
            for row in [line.node.numa or {}]
            for band in line.bands
        ),
    )  # fmt: skip


def alerts(found: Iterable[Alert]) -> str:
    names = ("state", "alertname", "severity", "node", "starts_at", "ends_at", "summary", "description")
    return _csv(names, ((each.state, each.name, *(getattr(each, name) for name in names[2:])) for each in found))


def timeline(story: Timeline) -> str:
    names = ("since", "until", "kind", "severity", "times", "nodes", "what")
    rows = ((*_EPISODE(each), len(each.happenings), "; ".join(each.nodes), each.what) for each in story.episodes)
    return _csv(names, rows)


def pods(detail: Detail) -> str:
    """List pods in their eviction order at the end of the range, for each signal."""
    names = ("rank", "namespace", "pod", "priority", "used_bytes", "request_bytes", "reason")
    rows = (
        [order.signal, *(getattr(each, name) for name in names)] for order in detail.orders for each in order.places
    )
    return _csv(("signal", *names), rows)


def evicted(detail: Detail) -> str:
    names = ("ts", "namespace", "pod", "cause", "resource", "available", "threshold", "predicted_rank", "evidence")
    return _csv(names, ([row[name] for name in names] for row in detail.evicted))


def _csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    plain_rows = [tuple(int(value) if isinstance(value, bool) else value for value in row) for row in rows]
    return as_csv(Result(tuple(names), (), plain_rows))
