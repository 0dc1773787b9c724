"""NUMASkewHigh: exclusive CPUs pile up on some NUMA nodes of a node, or on some nodes of the cluster."""

from collections.abc import Sequence
from typing import Final

import msgspec

from common.amounts import counted
from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Now
from streams.alerting.rule_settings import Count, Ratio, RuleSettings
from streams.alerting.words import numa_evidence, place, sentence
from streams.fold.findings import LateJoiners, NumaSkew
from streams.fold.titles import free_cpus


class Settings(RuleSettings):
    node_skew_ratio: Ratio
    cluster_skew_ratio: Ratio
    exclusive_cpus: Count


class State(msgspec.Struct, frozen=True):
    late_joiners: str = ""
    """Reason why nodes that joined late are emptier; empty if they are not."""


def step(
    settings: Settings, state: State, rows: Sequence[NumaSkew | LateJoiners], _now: Now
) -> tuple[State, Sequence[Change]]:
    """Judge each change of the numbers; late joiners explain the skew of a cluster."""
    changes: list[Change] = []
    for row in rows:
        if isinstance(row, LateJoiners):
            state = State(row.explanation if row.verdict == "late_joiners_emptier" else "")
        else:
            changes.append(_skew(row, settings, state))
    return state, changes


def _skew(row: NumaSkew, settings: Settings, state: State) -> Change:
    labels = {"scope": row.scope}
    limit = settings.node_skew_ratio if row.scope == "node" else settings.cluster_skew_ratio
    if row.skew_ratio is None or row.skew_ratio < limit or (row.exclusive_cpus or 0) < settings.exclusive_cpus:
        return Ends(labels)
    between = "its NUMA nodes" if row.scope == "node" else f"its {counted(row.nodes, 'node')}"
    return Holds(
        labels,
        f"{place(row.cluster, row.node)}: exclusive CPUs differ by {100 * row.skew_ratio:.0f} % between {between} "
        f"({free_cpus(row.free_cpus, row.largest_fit_cpus)})",
        f"Pods with exclusive CPUs pile up. {sentence(row.explanation)}{sentence(state.late_joiners)}"
        "Move some to nodes with free CPUs, or let the scheduler place by NUMA node. See the map: leadsman query "
        "numa_map. Compare strategies: leadsman query numa_whatif. "
        f"{numa_evidence(row.source, row.fidelity)}",
    )


ALERT: Final = AlertDefinition(
    name="NUMASkewHigh",
    settings=Settings,
    needs=(Need("numa", "no source reports its NUMA nodes: it cannot fire"),),
    node_rows=(NumaSkew,),
    cluster_rows=(NumaSkew, LateJoiners),
    state=State,
    step=step,
)
