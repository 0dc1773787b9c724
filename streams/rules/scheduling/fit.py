"""Decides whether a node takes a pod now, first as the scheduler, then as the kubelet (rules: exclusive-cpus,
scheduler-fit, scheduler-messages).

The scheduler's judgement is that of `filters`; that of neighbours comes on top (`streams.questions.fit`). Left out:
plugins that are not Kubernetes' own.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from common.amounts import counted, two_sizes
from streams.rules.numa.hints import Hint
from streams.rules.numa.topology import NumaNode, lump_topology
from streams.rules.numa.topology_manager import Machine, Request, Settings, admit, whole_core_cpus
from streams.rules.scheduling.blind_spot import tolerates
from streams.rules.scheduling.filters import (
    NOT_READY,
    NodeState,
    PodRequest,
    kubelets_checks,
    kubelets_pressure,
    missing_facts,
    scheduler_reasons,
)

Verdict: TypeAlias = Literal["fits", "refused_by_scheduler", "refused_by_kubelet", "not_exclusive", "unknown"]
"""`not_exclusive`: the pod would run there, but without the exclusive CPUs that it requests."""

_NOT_KNOWN_READY: Final = "whether the node is Ready is unknown"
_TOLERATED: Final = "the pod tolerates that the node is not Ready: whether it starts is unknown"
_NOT_READY: Final = "the node is not Ready: whether the pod starts there is unknown"
_PREEMPTS: Final = "the kubelet may preempt pods for this critical one, which is not judged"
_CACHES: Final = "which CPUs prefer-align-cpus-by-uncorecache picks is unknown: Leadsman does not model caches"


class Judgement(NamedTuple):
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    """Reasons in the words of the component that refuses; empty if the pod fits."""
    hint: Hint | None = None
    """The Topology Manager's merged hint; None if it was not asked."""
    numa_nodes: tuple[int, ...] = ()
    """NUMA nodes of its CPUs, or of the hint for its other resources; empty if unknown, or if any fits."""
    note: str = ""


class NumaRoom(NamedTuple):
    """The resources that one NUMA node lacks for the whole pod, if any."""

    numa_node: int
    free_cpus: int
    takes: bool
    lacks: tuple[str, ...]


def take(node: NodeState, pod: PodRequest, scheduler_minor: int, count: int) -> tuple[Judgement, int, list[int]]:
    """Return the judgement of the first of `count` such pods, how many the node takes, and on which NUMA nodes."""
    first, after = judge(node, pod, scheduler_minor)
    taken, where = 0, list[tuple[int, ...]]()
    judgement = first
    while judgement.verdict == "fits" and taken < count:
        taken += 1
        where.append(judgement.numa_nodes)
        judgement, after = judge(after, pod, scheduler_minor)
    return first, taken, sorted(set().union(*where)) if all(where) else []


def rooms(node: NodeState, pod: PodRequest) -> list[NumaRoom]:
    """Return each NUMA node and what it lacks for the whole pod; an empty list if they are unknown."""
    machine = node.machine
    if machine is None:
        return []
    whole_cores = bool(node.settings) and all(each.assignment.whole_cores for each in node.settings)
    return [_room(machine, each, pod, whole_cores=whole_cores) for each in machine.topology.numa_nodes]


def kubelets_verdict(node: NodeState, pod: PodRequest) -> str:
    """Return the kubelet's verdict on CPUs: admitted, not_exclusive, not_pinned, unknown, or why it refuses."""
    if not pod.exclusive_cpus:
        return "not_exclusive"
    judgement, _ = _kubelets(node, pod)
    match judgement.verdict:
        case "fits":
            return "admitted"
        case "not_exclusive":
            return "not_pinned"
        case "refused_by_kubelet":
            reason = judgement.reasons[0].partition(":")[0]
            return reason if reason.endswith("Error") else "UnexpectedAdmissionError"
        case _:
            return "unknown"


def judge(node: NodeState, pod: PodRequest, scheduler_minor: int) -> tuple[Judgement, NodeState]:
    """Return the judgement of one pod, and the node with the pod on it, where it fits."""
    if kept_off := _kept_off(node, pod, scheduler_minor):
        return kept_off, node
    judgement, machine = _kubelets(node, pod)
    if judgement.verdict == "fits" and pod.node_name == node.node:
        judgement = _checked(node, pod, scheduler_minor) or judgement
    missing = missing_facts(node, pod, scheduler_minor)
    if judgement.verdict == "fits" and missing:
        return Judgement("unknown", note=f"unknown: {'; '.join(missing)}"), node
    if judgement.verdict == "unknown":
        return judgement, node
    requested = {
        name: node.requested.get(name, 0) + pod.requests.get(name, 0) for name in {*node.requested, *pod.requests}
    }
    free = None if node.free_cpus is None else node.free_cpus - pod.exclusive_cpus
    neighbours = (*node.neighbours, pod.itself)
    return judgement, node._replace(
        machine=machine,
        free_cpus=free,
        requested=requested,
        pods=node.pods + 1,
        neighbours=neighbours,
        volumes=node.volumes.with_pod(pod.known_needs),
    )


def refusals(node: NodeState, pod: PodRequest, scheduler_minor: int) -> list[str]:
    """Return why the scheduler does not place the pod there, apart from rules between pods."""
    reasons = scheduler_reasons(node, pod, scheduler_minor)
    if not reasons and node.ready is False and not tolerates(pod.tolerations, NOT_READY):
        return ["the node is not Ready"]
    return reasons


def _kept_off(node: NodeState, pod: PodRequest, scheduler_minor: int) -> Judgement | None:
    """Return why the pod does not reach the kubelet. No scheduler looks at a pod that names its node."""
    is_named = pod.node_name == node.node
    if not is_named and (reasons := refusals(node, pod, scheduler_minor)):
        return Judgement("refused_by_scheduler", tuple(reasons))
    if not node.ready:
        note = _NOT_KNOWN_READY if node.ready is None else _NOT_READY if is_named else _TOLERATED
        return Judgement("unknown", note=note)
    pressure = kubelets_pressure(node, pod)
    return Judgement("refused_by_kubelet", (pressure,)) if pressure else None


def _checked(node: NodeState, pod: PodRequest, minor: int) -> Judgement | None:
    refusal = kubelets_checks(node, pod, minor)
    if pod.is_critical and refusal.startswith("OutOf"):
        return Judgement("unknown", note=f"{refusal}; {_PREEMPTS}")
    return Judgement("refused_by_kubelet", (refusal,)) if refusal else None


def _kubelets(node: NodeState, pod: PodRequest) -> tuple[Judgement, Machine | None]:
    """Return the common verdict of kubelets with all the settings that this one can have."""
    judgements = [_kubelet(node, settings, pod) for settings in node.settings]
    judgement, machine = judgements[0]
    if any(other.verdict != judgement.verdict for other, _ in judgements[1:]):
        note = "it depends on the kubelet's CPU Manager and Topology Manager, whose policies no source reports"
        return Judgement("unknown", note=note), machine
    if any(other.numa_nodes != judgement.numa_nodes for other, _ in judgements[1:]):
        judgement = judgement._replace(numa_nodes=(), hint=None)
    return judgement, machine


def _kubelet(node: NodeState, settings: Settings, pod: PodRequest) -> tuple[Judgement, Machine | None]:
    if pod.exclusive_cpus and settings.cpu_policy != "static":
        reason = f"the CPU Manager's policy is {settings.cpu_policy}: the kubelet gives no exclusive CPUs"
        if pod.insists:
            return Judgement("not_exclusive", (reason,)), node.machine
        judgement, machine = (
            (Judgement("fits"), None) if node.machine is None else _admitted(node.machine, settings, pod)
        )
        note = f"its CPUs are not pinned there: the CPU Manager's policy is {settings.cpu_policy}"
        return (judgement if judgement.verdict != "fits" else judgement._replace(note=note)), machine
    if node.machine is not None:
        return _admitted(node.machine, settings, pod)
    if not pod.exclusive_cpus:
        return Judgement("fits"), None
    return _without_numa_nodes(node.free_cpus, settings, pod), None


def _admitted(machine: Machine, settings: Settings, pod: PodRequest) -> tuple[Judgement, Machine]:
    """Return the kubelet's judgement on a known machine, and what is left of it."""
    admission = admit(machine, settings, pod.containers)
    if not admission.admitted:
        reason = f"{admission.reason}: {admission.message}" if admission.reason else admission.message
        return Judgement("refused_by_kubelet", (reason,), admission.hint), machine
    if not admission.is_certain:
        return Judgement("fits", (), admission.hint, note=_CACHES), admission.machine
    taken = frozenset[int]().union(*admission.cpus)
    where = machine.topology.numa_nodes_of(taken) or sorted(admission.hint.affinity or ())
    return Judgement("fits", (), admission.hint, tuple(where)), admission.machine


def _without_numa_nodes(free_cpus: int | None, settings: Settings, pod: PodRequest) -> Judgement:
    """Judge exclusive CPUs if only the number of the whole node is known, or not even that."""
    if free_cpus is None:
        return Judgement("unknown", note="no source reports how many exclusive CPUs are free")
    lump = Machine(lump_topology(max(0, free_cpus)), frozenset(range(max(0, free_cpus))))
    judgement, _ = _admitted(lump, Settings(topology_scope=settings.topology_scope), pod)
    if judgement.verdict != "fits":
        return judgement
    if settings.topology_policy in {"none", "best-effort"} and not settings.assignment.whole_cores:
        return Judgement("fits", note="no source reports on which NUMA nodes CPUs are free")
    free = counted(free_cpus, "exclusive CPU is", "exclusive CPUs are")
    return Judgement("unknown", note=f"{free} free, but no source reports on which NUMA nodes")


def _room(machine: Machine, numa: NumaNode, pod: PodRequest, *, whole_cores: bool) -> NumaRoom:
    free = numa.cpus & machine.free
    whole = len(free & whole_core_cpus(machine)) if whole_cores else len(free)
    lacks = [*_cpus_lacking(len(free), whole, pod.exclusive_cpus)]
    lacks += _others_lacking(machine, numa.numa_node, pod.containers)
    return NumaRoom(numa.numa_node, len(free), not lacks, tuple(lacks))


def _cpus_lacking(free: int, whole: int, cpus: int) -> list[str]:
    if cpus > free:
        return [f"{free} of {counted(cpus, 'CPU')} free"]
    return [f"{whole} of {counted(cpus, 'CPU')} free on cores without reserved CPUs"] if cpus > whole else []


def _others_lacking(machine: Machine, numa: int, containers: Sequence[Request]) -> list[str]:
    memory = machine.memory.get(numa)
    lacks = []
    for kind in sorted({kind for each in containers for kind in each.memory_bytes} if machine.memory else ()):
        wanted = sum(each.memory_bytes.get(kind, 0) for each in containers)
        free = memory.tables[kind].free if memory and kind in memory.tables else 0
        if wanted > free:
            lacks.append(f"{' of '.join(two_sizes(free, wanted))} of {kind} free")
    for name in sorted({name for each in containers for name in each.devices} & machine.devices.keys()):
        wanted = sum(each.devices.get(name, 0) for each in containers)
        free = machine.devices[name].available.get(numa, 0)
        if wanted > free:
            lacks.append(f"{free} of {wanted} {name} free")
    return lacks
