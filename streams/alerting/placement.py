"""Alerts about where pods fit: NUMA skew and fragments (A), the scheduler's view (E), what a node promises (D)."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from common.text import plain
from streams.alerting.holding import Said, State, ends, happened, holds, is_over, key_of
from streams.alerting.words import amount, name
from streams.fold.findings import LateJoiners, NodeFit, NumaSkew, SchedulerBlindSpot

if TYPE_CHECKING:
    from streams.alerting.rules import AlertRules, NodeOvercommitted

_SKEW: Final = "NUMASkewHigh"
_FRAGMENTED: Final = "NUMAFragmented"
_OVER: Final = "NodeOvercommitted"
_ALL: Final = 100.0
_SENTENCE: Final = 1000
"""Characters of an explanation."""
_BYTES: Final = frozenset({"memory", "ephemeral-storage"})
_VERDICTS: Final = {
    "lost_node": "does not see a node",
    "stale_view": "counts fewer nodes than there are",
    "ghost_nodes": "counts nodes that do not exist",
}


def numa(state: State, row: NumaSkew, at: datetime, rules: "AlertRules") -> State:
    """Of a node, or of the cluster, with each change of its numbers."""
    state = _skew(state, row, at, rules)
    return _fragmented(state, row, at, rules)


def _skew(state: State, row: NumaSkew, at: datetime, rules: "AlertRules") -> State:
    rule = rules.alerts.NUMASkewHigh
    labels = {"scope": row.scope}
    limit = rule.node_skew_ratio if row.scope == "node" else rule.cluster_skew_ratio
    is_high = row.skew_ratio is not None and row.skew_ratio >= limit
    if not (rule.enabled and is_high and (row.exclusive_cpus or 0) >= rule.exclusive_cpus):
        return ends(state, key_of(_SKEW, labels), at)
    where, unit = _where(row)
    said = Said(
        _SKEW,
        labels,
        f"{where}: exclusive CPUs differ by {100 * (row.skew_ratio or 0):.0f} % between {unit} "
        f"({_count(row.free_cpus)} CPUs free, at most {_count(row.largest_fit_cpus)} of them on one NUMA node)",
        f"Pods with exclusive CPUs pile up. {_sentence(row.explanation)}{_sentence(state.late_joiners)}"
        "Move some to where CPUs are free, or let the scheduler place by NUMA node. The map: leadsman query "
        f"numa_map; other strategies: leadsman query numa_whatif. {_source(row)}",
    )
    return holds(state, said, at, rules)


def _fragmented(state: State, row: NumaSkew, at: datetime, rules: "AlertRules") -> State:
    rule = rules.alerts.NUMAFragmented
    labels = {"scope": row.scope}
    free, fit = row.free_cpus, row.largest_fit_cpus
    watched = rule.enabled and row.scope in rule.scopes and row.cpu_manager_policy != "none"
    if not watched or free is None or fit is None or not fit < rule.request_cpus <= free:
        return ends(state, key_of(_FRAGMENTED, labels), at)
    where, _ = _where(row)
    said = Said(
        _FRAGMENTED,
        labels,
        f"{where}: {free} CPUs are free, but no NUMA node has more than {fit} together",
        f"A pod that asks for {rule.request_cpus} exclusive CPUs on one NUMA node fits nowhere, although there are "
        "enough. Move pods so that one NUMA node gets free; which placement would have kept room: leadsman query "
        f"numa_whatif. What fits now: leadsman fit --cpu {rule.request_cpus} --exclusive. {_source(row)}",
    )
    return holds(state, said, at, rules)


def late_joiners(state: State, row: LateJoiners, _at: datetime, _rules: "AlertRules") -> State:
    """Its words go into the alert about the cluster's skew."""
    words = row.explanation if row.verdict == "late_joiners_emptier" else ""
    return state if words == state.late_joiners else msgspec.structs.replace(state, late_joiners=words)


def blind_spot(state: State, row: SchedulerBlindSpot, at: datetime, rules: "AlertRules") -> State:
    """One alert for each verdict and node, however many pods show it; nothing for `inconclusive`."""
    rule = rules.of("SchedulerBlindSpot")
    seen_at = at if row.test == "placement" else row.ts
    if not rule.enabled or row.verdict not in _VERDICTS or is_over(at, seen_at, rule.keep_firing_seconds):
        return state
    labels = {"verdict": row.verdict} | ({"node": row.node} if row.node else {})
    node = f" {name(row.node)}" if row.node else ""
    pod = f"; pod {name(row.namespace)}/{name(row.pod)}" if row.pod else ""
    said = Said(
        "SchedulerBlindSpot",
        labels,
        f"Cluster {name(row.cluster)}: the scheduler {_VERDICTS[row.verdict]}{node and ':' + node}{pod}",
        f"{_sentence(row.evidence)}Restart kube-scheduler, or add or delete any node: both rebuild its list. Lasting "
        "cure: a version without the fault (1.19, or 1.18.8). See leadsman query blind_spots.",
    )
    return happened(state, said, at, rules, until=seen_at)


def fits(state: State, rows: Sequence[NodeFit], at: datetime, rules: "AlertRules") -> State:
    """The resources of one node at once. Called for every sample of every node."""
    rule = rules.alerts.NodeOvercommitted
    over = [row for row in rows if row.free < 0 or (row.used is not None and row.used > row.allocatable)]
    asked, used = rule.requested_percent, rule.used_percent
    if not over and not state.entries and min(asked, used) >= _ALL:
        return state
    for row in rows:
        if rule.enabled and _is_over(row, rule):
            state = holds(state, _over(row), at, rules)
        elif state.entries:
            state = ends(state, key_of(_OVER, {"resource": row.resource}), at)
    return state


def _is_over(row: NodeFit, rule: "NodeOvercommitted") -> bool:
    promised = row.allocatable
    if row.requested * _ALL > promised * rule.requested_percent:
        return True
    return row.used is not None and row.used * _ALL > promised * rule.used_percent


def _over(row: NodeFit) -> Said:
    used = "" if row.used is None else f", {_in_units(row.used, row.resource)} used"
    return Said(
        _OVER,
        {"resource": row.resource},
        f"Node {name(row.node)}: {name(row.resource)}, {_in_units(row.requested, row.resource)} requested{used} of "
        f"{_in_units(row.allocatable, row.resource)} allocatable",
        "What pods ask for or use is more than what the node can give them: by static pods, by an allocatable that "
        "became smaller, or by pods that use more than they ask for. New pods fail with Insufficient, and the "
        "kubelet's reserve is used up. Raise requests to what is used, or move pods: leadsman query over_request, "
        "leadsman query fit.",
    )


def _in_units(value: int, resource: str) -> str:
    if resource == "cpu":
        return f"{value / 1000:g} CPUs"
    return amount(value, resource) if resource in _BYTES else f"{value}"


def _where(row: NumaSkew) -> tuple[str, str]:
    if row.scope == "node":
        return f"Node {name(row.node)}", "its NUMA nodes"
    return f"Cluster {name(row.cluster)}", f"its {row.nodes} nodes"


def _count(number: int | None) -> str:
    return "an unknown number of" if number is None else str(number)


def _sentence(text: str) -> str:
    if not text:
        return ""
    told = plain(text, _SENTENCE)
    return f"{told[0].upper()}{told[1:].rstrip('.')}. "


def _source(row: NumaSkew) -> str:
    return f"By {name(row.source)}, fidelity {row.fidelity}."
