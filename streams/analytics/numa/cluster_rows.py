"""The rows that sum up the nodes of a cluster: their skew, and the late-joiner effect."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from common.amounts import counted
from streams.fold.findings import LateJoiners, NumaSkew
from streams.rules.numa import late_joiners as rule
from streams.rules.numa.skew import cluster_skew

NOTABLE_CORRELATION: Final = 0.5
NOTABLE_GAP: Final = 0.1
"""From both on, nodes that joined later count as emptier."""
MOST_NAMES: Final = 50
"""Nodes of a group that a row names."""
SHOWN_NAMES: Final = 5
"""Number of names in its explanation."""
_FIDELITIES: Final = ("exact", "count")


class Entry(NamedTuple):
    """A node's numbers since `ts`."""

    ts: datetime
    gone: bool
    exclusive: int
    allocatable: int
    free: int
    fit: int
    spanning: int
    fidelity: str
    created_at: datetime | None
    control_plane: bool


def skew_row(cluster: str, bucket: datetime, nodes: Iterable[Entry]) -> NumaSkew:
    entries = list(nodes)
    total = cluster_skew([(each.exclusive, each.allocatable, each.free, each.fit) for each in entries])
    return NumaSkew(
        cluster=cluster,
        ts=bucket,
        scope="cluster",
        node="",
        skew_ratio=total and total.skew_ratio,
        mean_absolute_deviation=total and total.mean_absolute_deviation,
        free_cpus=total and total.free_cpus,
        largest_fit_cpus=total and total.largest_fit_cpus,
        stranded_cpus=total and total.stranded_cpus,
        exclusive_cpus=sum(each.exclusive for each in entries),
        allocatable_cpus=sum(each.allocatable for each in entries),
        spanning_pods=sum(each.spanning for each in entries),
        nodes=len(entries),
        source="nodes",
        fidelity=max((each.fidelity for each in entries), key=_FIDELITIES.index, default="none"),
        assumed=[],
        explanation="",
    )


def late_joiners_row(cluster: str, bucket: datetime, nodes: dict[str, Entry], group_gap: timedelta) -> LateJoiners:
    aged = [
        rule.Aged(each.created_at, node, each.exclusive / each.allocatable)
        for node, each in nodes.items()
        if each.created_at is not None
    ]
    found = rule.late_joiners(aged, group_gap)
    oldest = found.groups[0] if found.groups else None
    youngest = found.groups[-1] if len(found.groups) > 1 else None
    free = sum(each.free for each in nodes.values())
    fit = max((each.fit for each in nodes.values()), default=0)
    verdict = _verdict(found)
    return LateJoiners(
        cluster=cluster,
        ts=bucket,
        verdict=verdict,
        rank_correlation=found.rank_correlation,
        gap_ratio=found.gap_ratio,
        nodes=len(aged),
        oldest_nodes=list(oldest.nodes[:MOST_NAMES]) if oldest else [],
        oldest_created_at=oldest and oldest.first_created_at,
        oldest_ratio=oldest and oldest.ratio,
        youngest_nodes=list(youngest.nodes[:MOST_NAMES]) if youngest else [],
        youngest_created_at=youngest and youngest.first_created_at,
        youngest_ratio=youngest and youngest.ratio,
        free_cpus=free,
        largest_fit_cpus=fit,
        explanation=_explanation(verdict, found, free, fit),
    )


def _verdict(found: rule.LateJoiners) -> str:
    if found.gap_ratio is None or found.rank_correlation is None:
        return "inconclusive"
    emptier = found.gap_ratio >= NOTABLE_GAP and found.rank_correlation >= NOTABLE_CORRELATION
    return "late_joiners_emptier" if emptier else "even"


def _explanation(verdict: str, found: rule.LateJoiners, free: int, fit: int) -> str:
    left = f"{counted(free, 'CPU is', 'CPUs are')} free, the largest request that fits one NUMA node is {fit}"
    if verdict == "inconclusive":
        return f"the nodes are too few, of one age or equally full: nothing relates to their age; {left}"
    oldest, youngest = found.groups[0], found.groups[-1]
    return (
        f"nodes that joined last ({_names(youngest)}) hold {youngest.ratio * 100:.0f} % of what they can give "
        f"exclusively, those that joined first ({_names(oldest)}) {oldest.ratio * 100:.0f} %; {left}"
    )


def _names(group: rule.AgeGroup) -> str:
    shown, more = ", ".join(group.nodes[:SHOWN_NAMES]), len(group.nodes) - SHOWN_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
