"""Formats the answer of `leadsman fit` for people and for programs."""

from collections.abc import Iterator
from typing import Final

import msgspec

from common.amounts import counted
from common.text import plain
from leadsman.cli.present.tables import of_text, raw_rows
from sql.database.open import Result
from sql.questions.cells import CELL, Column
from sql.questions.fit import ClusterFacts
from streams.questions.fit import Answer, NodeAnswer
from streams.questions.fit_preemption import PreemptionAnswer, VictimAnswer
from streams.questions.fit_request import MILLI, FitRequest
from streams.rules.events.admission import amount, of
from streams.rules.scheduling.scores import MOST, WEIGHTS
from streams.rules.values.quantity import format_quantity

SURE: Final = {"exact": "CPU ids", "count": "CPU counts", "none": "pod specs"}
"""Words for the evidence behind the verdict on NUMA nodes, by the source's fidelity."""
_VICTIMS: Final = 10
"""Maximum number of pods that are named."""
_VERDICT: Final = 2
"""Position of the column after which the score is inserted."""


def fit_lines(
    known: ClusterFacts, request: FitRequest, found: Answer, *, insists: bool = True, more: bool = False
) -> Iterator[str]:
    """Yield the answer in sentences, with names in plain text.

    CPUs are called exclusive if the pod `insists` on exclusive ones. `more` if `found` is about a new node, and each
    further one takes as many.
    """
    shown = request if insists else request._replace(exclusive=False)
    when = f", as known at {known.as_of:%Y-%m-%d %H:%M:%S} UTC" if known.as_of else ""
    yield f"Cluster {plain(known.cluster) or '(none)'}{when}: {_verdict(shown, found)}"
    if request.exclusive and found.free_exclusive_cpus:
        yield (
            f"{counted(found.free_exclusive_cpus, 'exclusive CPU is', 'exclusive CPUs are')} free, "
            f"at most {found.largest_free_cpus} of them on one NUMA node."
        )
    if more and 0 < found.pods < request.count:
        yield f"{counted(-(-request.count // found.pods), 'such node')} would take all of them."
    failing = [node for node in found.nodes if node.verdict == "refused_by_kubelet"]
    if failing and not found.names_node:
        nodes = counted(len(failing), "node")
        yield f"On {nodes} the scheduler sees room for it, but the kubelet would reject it."
    for each in found.strategies:
        would = "one would fit" if each.takes else "none would"
        yield (
            f"The same pods placed again by {plain(each.strategy)}: {would}, "
            f"{counted(each.largest_fit_cpus, 'CPU')} would be free on one NUMA node."
        )
    yield from _score_lines(found)
    yield from _preemption_lines(found.preemption)
    if found.not_judged:
        yield f"Not judged: {plain('; '.join(found.not_judged))}."


def _score_lines(found: Answer) -> Iterator[str]:
    best = [plain(name) for name in found.highest]
    if not best:
        return
    first = f"{best[0]} scores highest" if len(best) == 1 else f"{counted(len(best), 'node')} score highest"
    of = f"{max(found.highest.values())} of {MOST * sum(WEIGHTS.values()):,}"
    yield f"By the default plugins and weights of kube-scheduler 1.36, {first}, with {of}."
    yield "Other profiles and extenders score differently, and no source reports those of your scheduler."
    unknown = [f"{name} (at most {MOST * WEIGHTS[name]}: {why})" for name, why in found.unscored.items()]
    if unknown:
        most = MOST * sum(WEIGHTS[name] for name in found.unscored)
        can = "can" if found.lead is not None and found.lead <= most else "cannot"
        yield f"Unknown scores, which {can} put another node first: {', '.join(unknown)}."
    if not found.compares_all:
        yield "The scheduler compares only a part of the nodes that pass its filters."


def _preemption_lines(found: PreemptionAnswer | None) -> Iterator[str]:
    if found is None:
        return
    if found.victims:
        more = len(found.nodes) - 1
        others = f" or one of {counted(more, 'equally good node')}" if more else ""
        names = [_victim(each) for each in found.victims[:_VICTIMS]]
        names += [f"{len(found.victims) - _VICTIMS} more"] * (len(found.victims) > _VICTIMS)
        pods = counted(len(found.victims), "pod")
        yield f"Preemption would end {pods} on {plain(found.nodes[0])}{others}: {', '.join(names)}."
    elif found.reason:
        yield f"Preemption would end no pod for it: {found.reason}."
    else:
        yield "Whether preemption would make room for it is unknown."
    if found.unknown:
        yield f"Unknown about preemption: {plain('; '.join(found.unknown))}."


def _victim(each: VictimAnswer) -> str:
    budget = ", against its budget" if each.breaks_budget else ""
    return f"{plain(each.namespace)}/{plain(each.pod)} (priority {each.priority}{budget})"


def fit_rows(found: Answer) -> Result:
    return raw_rows(NodeAnswer.__struct_fields__, map(msgspec.structs.astuple, found.nodes))


def fit_columns(found: Answer) -> list[Column]:
    """Return a line for each node: how many pods it takes, where, why not more, and its score if known."""
    names = ("node", "pods", "verdict", "NUMA nodes", "hint", "policy", "known by", "would with", "why")
    shown = of_text(names, ([plain(cell, CELL) for cell in _cells(node)] for node in found.nodes))
    shown = [each._replace(whole=each.heading != "why") for each in shown]
    if any(node.scores for node in found.nodes):
        scores = ["-" if node.score is None else str(node.score) for node in found.nodes]
        shown.insert(_VERDICT + 1, Column("score", scores, right=True, whole=True))
    return shown


def _verdict(request: FitRequest, found: Answer) -> str:
    pod = _pod(request)
    if request.count == 1:
        taking = sum(node.pods > 0 for node in found.nodes)
        unknown = sum(node.verdict == "unknown" for node in found.nodes)
        doubt = f" {unknown} may; this is uncertain." if unknown and not taking else ""
        nodes = counted(taking, "node takes", "nodes take") if taking else "no node takes"
        return f"{nodes} {pod}.{doubt}"
    return f"{found.pods} of {request.count} fit, each {pod}."


def _pod(request: FitRequest) -> str:
    kind = f"{'exclusive ' if request.exclusive else ''}{'CPU' if request.cpu_millicores == MILLI else 'CPUs'}"
    parts = [f"{format_quantity_of('cpu', request.cpu_millicores)} {kind}"]
    parts += [f"{format_quantity_of('memory', request.memory_bytes)} of memory"] * bool(request.memory_bytes)
    parts += [f"{format_quantity_of(name, amount)} {plain(name)}" for name, amount in sorted(request.devices.items())]
    each = f"{counted(request.containers, 'container')}, each of " if request.containers > 1 else ""
    return f"a pod of {each}{' and '.join([', '.join(parts[:-1]), parts[-1]] if parts[1:] else parts)}"


def format_quantity_of(name: str, amount: int) -> str:
    """Format an amount in base units (cpu in millicores) for a manifest."""
    if name == "cpu":
        return f"{amount / MILLI:g}"
    is_of_bytes = name in {"memory", "ephemeral-storage"} or name.startswith("hugepages-")
    return format_quantity(amount, "BinarySI" if is_of_bytes else "DecimalSI")


def _cells(node: NodeAnswer) -> tuple[str, ...]:
    why = [*node.reasons]
    if node.verdict in {"refused_by_kubelet", "unknown"}:
        why += [f"NUMA node {each.numa_node}: {', '.join(each.lacks)}" for each in node.numa if each.lacks]
    return (
        node.node,
        str(node.pods),
        node.verdict.replace("_", " "),
        ", ".join(map(str, node.numa_nodes)) or "-",
        _hint(node),
        f"{node.topology_manager_policy} ({node.topology_manager_scope})" if node.topology_manager_policy else "-",
        f"{node.source} ({SURE[node.fidelity]})" if node.fidelity in SURE else "-",
        ", ".join(node.strategies) or "-",
        "; ".join([*why, *_amounts(node), *_by_plugin(node), *node.notes]) or "-",
    )


def _amounts(node: NodeAnswer) -> Iterator[str]:
    for name, lack in node.insufficient.items():
        there = of(lack.used, lack.capacity, name)
        asks = f"it requests {amount(lack.requested, name)}, the pods there {there}"
        yield f"{there} are there" if name == "pods" else asks


def _by_plugin(node: NodeAnswer) -> Iterator[str]:
    known = [f"{name} {score}" for name, score in node.scores.items() if score]
    if known:
        yield f"score: {', '.join(known)}"


def _hint(node: NodeAnswer) -> str:
    if node.hint is None:
        return "-"
    where = "any" if node.hint.numa_nodes is None else ",".join(map(str, node.hint.numa_nodes))
    return where if node.hint.preferred else f"{where} (not preferred)"
