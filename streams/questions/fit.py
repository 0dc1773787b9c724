"""Answers how many pods of a kind fit a cluster now, where, and by which placement more would (rules: exclusive-cpus,
scheduler-fit).

Pods that are placed at the same time bear on the next: by affinity, anti-affinity or topology spread.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from streams.questions.fit_preemption import PreemptionAnswer
from streams.questions.fit_request import FitRequest, pod_of
from streams.rules.scheduling.constraints import Namespaces
from streams.rules.scheduling.device_claims import NO_DEVICES, Devices, device_needs
from streams.rules.scheduling.filters import (
    NodeState,
    PodRequest,
    missing_facts,
    node_shortages,
    perhaps_ignored,
    place_of,
)
from streams.rules.scheduling.fit import Judgement, Verdict, refusals, rooms, take
from streams.rules.scheduling.neighbours import Neighbour, Neighbourhood, Place, in_namespaces
from streams.rules.scheduling.scores import NO_SCORES, Scores, most_compared, scored
from streams.rules.scheduling.volume_needs import NO_EVIDENCE, Storage, needs_of


def depends_on_neighbours(pod: Neighbour, places: Sequence[Place]) -> bool:
    """Tell whether pods on other nodes can affect its placement."""
    wants = pod.constraints
    return bool(wants.affinity or wants.anti_affinity or wants.spread) or any(
        other.constraints.anti_affinity for place in places for other in place.pods
    )


def at_once(pod: Neighbour, places: Sequence[Place], room: Mapping[str, int], count: int) -> Counter[str]:
    """Return how many of `count` such pods each node takes at the same time; `room` is what a node takes alone.

    Pods are placed one after the other, like the scheduler does: each where the fewest pods of its spread are, then
    where most room is left. The first pod fixes the domain of pods that must be together, so it tries every domain.
    """
    starts: list[Place | None] = [None]
    if pod.constraints.affinity:
        keys = [term.topology_key for term in pod.constraints.affinity]
        roomy = sorted(places, key=lambda place: room.get(place.node, 0))
        starts = [*{tuple(place.labels.get(key) for key in keys): place for place in roomy}.values()]
    found = [_placed(pod, places, room, count, start) for start in starts]
    return max(found, key=lambda taken: taken.total(), default=Counter())


def _placed(
    pod: Neighbour, places: Sequence[Place], room: Mapping[str, int], count: int, start: Place | None
) -> Counter[str]:
    around = Neighbourhood(pod, places)
    taken = Counter[str]()
    while taken.total() < count:
        choice = [start] if start is not None and not taken else places
        roomy = (each for each in choice if taken[each.node] < room.get(each.node, 0))
        open_ = [each for each in roomy if not around.reasons(each) and not around.unknowns(each)]
        if not open_:
            break
        best = min(open_, key=lambda each: (around.crowd(each), taken[each.node] - room[each.node], each.node))
        taken[best.node] += 1
        around.join(best, pod)
    return taken


class Candidate(NamedTuple):
    state: NodeState
    source: str = ""
    """Source of the NUMA numbers."""
    fidelity: str = ""
    """`exact`, `count`, `none`, or empty if no source reports NUMA nodes."""
    numa_doubts: tuple[str, ...] = ()
    """Reason why its NUMA numbers may be wrong; it matters to pods with exclusive CPUs or devices."""
    largest_fits: dict[str, int] = {}  # noqa: RUF012  as above
    """The largest exclusive request that one of its NUMA nodes could take, by strategy (`numa_whatif`)."""
    largest_fit_cpus: int | None = None
    """The largest exclusive request that one of its NUMA nodes takes now."""

    @property
    def topology_manager_policy(self) -> str:
        """Return the policy; empty if no source reports it."""
        policies = {each.topology_policy for each in self.state.settings}
        return policies.pop() if len(policies) == 1 else ""


class NumaAnswer(msgspec.Struct, frozen=True):
    numa_node: int
    takes: bool
    """The request of one whole pod."""
    free_cpus: int
    lacks: list[str]


class HintAnswer(msgspec.Struct, frozen=True):
    numa_nodes: list[int] | None
    """NUMA nodes; None if any NUMA node will do."""
    preferred: bool


class ShortageAnswer(msgspec.Struct, frozen=True):
    """Amounts in base units, cpu in millicores."""

    requested: int
    used: int
    """Requests of the pods on the node."""
    capacity: int
    """Allocatable."""


class NodeAnswer(msgspec.Struct, frozen=True):
    node: str
    verdict: Verdict
    pods: int
    """Number of requested pods that it takes; of all placed together if pods depend on neighbours."""
    reasons: list[str]
    numa_nodes: list[int]
    """NUMA nodes of the pods; empty if they are unknown or any will do."""
    hint: HintAnswer | None
    """The Topology Manager's hint for the first pod."""
    numa: list[NumaAnswer]
    topology_manager_policy: str
    """The Topology Manager's policy; empty if no source reports it."""
    topology_manager_scope: str
    source: str
    fidelity: str
    notes: list[str]
    strategies: list[str]
    """Strategies that would leave room for it on one NUMA node, if they had placed the node's pods."""
    insufficient: dict[str, ShortageAnswer]
    """The amounts behind the scheduler's reasons, by resource."""
    score: int | None = None
    """The sum of the known `scores`; null if the pod or the node is not scored."""
    scores: dict[str, int | None] = {}
    """Scores by plugin of the default profile, times its weight; null if `unscored` has the reason."""


class StrategyAnswer(msgspec.Struct, frozen=True):
    """The cluster's exclusive pods placed again by a strategy."""

    strategy: str
    largest_fit_cpus: int
    takes: bool
    """True if one such pod fits the CPUs of one NUMA node."""


class Answer(msgspec.Struct, frozen=True):
    pods: int
    """Number of requested pods that the cluster takes; at most `count`."""
    fits: bool
    """True if the cluster takes all of them."""
    nodes: list[NodeAnswer]
    """Nodes that take most come first, unless a single pod is scored. Then unknown nodes, then by score and name."""
    strategies: list[StrategyAnswer]
    free_exclusive_cpus: int
    """Free CPUs of the nodes whose NUMA nodes are known and whose CPU Manager pins."""
    largest_free_cpus: int
    """The most of these CPUs on one NUMA node."""
    names_node: bool = False
    """True if the pod names its node, so that no scheduler places it."""
    not_judged: list[str] = []
    """Rules outside this answer that may keep such pods away, or find room for them."""
    unscored: dict[str, str] = {}
    """Plugins with unknown scores, each with the reason."""
    highest: dict[str, int] = {}
    """The nodes with the highest score, including those that `nodes` leaves out."""
    lead: int | None = None
    """Points between the node with the highest score and the next one; null if no other is scored."""
    compares_all: bool = True
    """False if so many nodes pass the filters that the scheduler may choose one before it has checked all."""
    preemption: PreemptionAnswer | None = None
    """Null if the scheduler tries none: a node passes its filters, or it does not place the pod."""


def answer(
    request: FitRequest,
    candidates: Sequence[Candidate],
    strategies: Mapping[str, int],
    scheduler_minor: int,
    *,
    pod: PodRequest | None = None,
    everywhere: Sequence[NodeState] = (),
    storage: Storage = NO_EVIDENCE,
    namespaces: Mapping[str, Mapping[str, str]] = {},
    devices: Devices = NO_DEVICES,
) -> Answer:
    """Answer a question. `strategies`: the largest fit in CPUs of the whole cluster's exclusive pods placed again.

    `pod` is the requested pod if a manifest has more than `request`. `everywhere` are all nodes with their pods, if
    it may depend on them. `storage`, `namespaces` and `devices` are the known facts about volumes, namespaces
    and device claims. The pods are identical; if none depends on another, the nodes' results add up. Pods
    can share a claim that is unbound, unallocated or for a single pod: then at most one fits for sure.
    """
    is_of_manifest = pod is not None
    pod = pod or pod_of(request)
    known = set().union(*(each.allocatable for each in everywhere or [each.state for each in candidates]))
    pod, places = prepared(pod, everywhere, known, scheduler_minor, storage, namespaces, devices)
    alone = any(each.alone for each in pod.known_needs) or any(each.alone for each in pod.device_needs or ())
    most = 1 if alone else request.count
    nodes = [_node_answer(request, pod, each, scheduler_minor, most) for each in candidates]
    around = Neighbourhood(pod.itself, places)
    if depends_on_neighbours(pod.itself, places) and not pod.node_name:
        nodes = _side_by_side(pod.itself, nodes, places, around, most)
    scores = _scores(pod, everywhere, places, around, scheduler_minor)
    nodes = [_with_scores(each, scores.by_node.get(each.node, {})) for each in nodes]
    takes = min(most, sum(each.pods for each in nodes))
    by_score = request.count == 1 and bool(scores.by_node)
    order = {
        each.node: (-each.pods * (not by_score), _ORDER.index(each.verdict), -(each.score or 0)) for each in nodes
    }
    free = [cpus for each in candidates for cpus in _free_exclusive(each.state)]
    needed = _largest(pod)
    return Answer(
        pods=takes,
        fits=takes >= request.count,
        nodes=sorted(nodes, key=lambda each: (order[each.node], each.node)),
        strategies=[
            StrategyAnswer(name, fit, needed <= fit) for name, fit in sorted(strategies.items()) if request.exclusive
        ],
        free_exclusive_cpus=sum(free),
        largest_free_cpus=max(free, default=0),
        names_node=bool(pod.node_name),
        not_judged=[*_not_judged(pod, nodes, takes, request.count)] if is_of_manifest else [],
        unscored=dict(scores.unknown),
        highest=_highest(scores),
        lead=_lead(scores),
        compares_all=len(scores.by_node) <= most_compared(len(everywhere)),
    )


def _not_judged(pod: PodRequest, nodes: Sequence[NodeAnswer], takes: int, count: int) -> Iterator[str]:
    if takes:
        yield f"a ResourceQuota or LimitRange of namespace {pod.itself.namespace}, which can refuse or change it"
    may_preempt = pod.priority != 0 and not (pod.node_name or pod.itself.constraints.never_preempts)
    if 0 < takes < count and may_preempt and any(each.insufficient for each in nodes):
        yield "whether the others would preempt pods of lower priority"


def _largest(pod: PodRequest) -> int:
    return max((container.cpus for container in pod.containers), default=0)


def prepared(
    pod: PodRequest,
    nodes: Sequence[NodeState],
    resources: Collection[str],
    scheduler_minor: int,
    storage: Storage,
    namespaces: Namespaces,
    devices: Devices,
) -> tuple[PodRequest, list[Place]]:
    """Return the pod completed from the facts, and the nodes with their pods. `resources` are known of some node."""
    constraints, namespace = pod.itself.constraints, pod.itself.namespace
    if pod.needs is None:
        pods = [(each.namespace, each.constraints) for node in nodes for each in node.neighbours]
        pod = pod._replace(
            needs=needs_of(constraints, namespace, storage, pods=pods, created_claims=pod.created_claims),
            device_needs=device_needs(constraints, namespace, devices, scheduler_minor),
        )
    pod = pod._replace(ignored=perhaps_ignored(pod.requests, resources))
    itself, places = in_namespaces(pod.itself, [place_of(state, pod) for state in nodes], namespaces)
    return pod._replace(itself=itself), places


def _side_by_side(
    pod: Neighbour, nodes: Sequence[NodeAnswer], places: Sequence[Place], around: Neighbourhood, count: int
) -> list[NodeAnswer]:
    """Restrict the answers by rules between pods that exist or are placed now."""
    where = {each.node: each for each in places}
    judged = [_among(around, where[each.node], each) for each in nodes]
    placed = at_once(pod, places, {each.node: each.pods for each in judged}, count)
    return [msgspec.structs.replace(each, pods=placed[each.node]) for each in judged]


def _scores(
    pod: PodRequest, nodes: Sequence[NodeState], places: Sequence[Place], around: Neighbourhood, scheduler_minor: int
) -> Scores:
    """Score the nodes that pass the filters; none for a pod that the default scheduler does not place."""
    passing, perhaps = list[NodeState](), list[NodeState]()
    if pod.node_name or pod.itself.constraints.scheduler:
        return NO_SCORES
    named = [node._replace(neighbours=tuple(place.pods)) for node, place in zip(nodes, places, strict=True)]
    for node, place in zip(named, places, strict=True):
        if not (refusals(node, pod, scheduler_minor) or around.reasons(place)):
            is_unsure = missing_facts(node, pod, scheduler_minor) or around.unknowns(place)
            (perhaps if is_unsure else passing).append(node)
    return scored(pod, named, passing, perhaps) if passing else NO_SCORES


def _with_scores(node: NodeAnswer, scores: Mapping[str, int | None]) -> NodeAnswer:
    if not scores:
        return node
    return msgspec.structs.replace(node, score=_sum(scores), scores=dict(scores))


def _sum(scores: Mapping[str, int | None]) -> int:
    return sum(each or 0 for each in scores.values())


def _highest(scores: Scores) -> dict[str, int]:
    sums = {node: _sum(each) for node, each in scores.by_node.items()}
    most = max(sums.values(), default=0)
    return {node: each for node, each in sums.items() if each == most}


def _lead(scores: Scores) -> int | None:
    sums = sorted(map(_sum, scores.by_node.values()), reverse=True)
    return sums[0] - sums[1] if sums[1:] else None


def _among(around: Neighbourhood, place: Place, node: NodeAnswer) -> NodeAnswer:
    reasons, missing = around.reasons(place), around.unknowns(place)
    if reasons:
        kept = node.reasons if node.verdict == "refused_by_scheduler" else []
        return msgspec.structs.replace(node, verdict="refused_by_scheduler", pods=0, reasons=[*kept, *reasons])
    if missing and node.verdict == "fits":
        notes = [*node.notes, f"unknown: {'; '.join(missing)}"]
        return msgspec.structs.replace(node, verdict="unknown", pods=0, notes=notes)
    return node


_ORDER: Final[tuple[Verdict, ...]] = (
    "fits",
    "unknown",
    "refused_by_kubelet",
    "refused_by_scheduler",
    "not_exclusive",
)


def _node_answer(
    request: FitRequest, pod: PodRequest, each: Candidate, scheduler_minor: int, most: int
) -> NodeAnswer:
    state = each.state
    judgement, pods, numa_nodes = take(state, pod, scheduler_minor, most)
    needed = _largest(pod)
    could = judgement.verdict in {"fits", "refused_by_kubelet", "unknown"}
    return NodeAnswer(
        node=state.node,
        verdict=judgement.verdict,
        pods=pods,
        reasons=list(judgement.reasons),
        numa_nodes=numa_nodes,
        hint=_hint(judgement),
        numa=[NumaAnswer(room.numa_node, room.takes, room.free_cpus, list(room.lacks)) for room in rooms(state, pod)],
        topology_manager_policy=each.topology_manager_policy,
        topology_manager_scope=state.settings[0].topology_scope,
        source=each.source,
        fidelity=each.fidelity,
        notes=_notes(each, request, judgement),
        strategies=sorted(name for name, fit in each.largest_fits.items() if could and 0 < needed <= fit),
        insufficient={
            lack.resource: ShortageAnswer(lack.requested, lack.used, lack.capacity)
            for lack in node_shortages(state, pod, scheduler_minor)
        },
    )


def _notes(each: Candidate, request: FitRequest, judgement: Judgement) -> list[str]:
    notes = [judgement.note] if judgement.note else []
    devices = sorted(name for name in request.devices if "/" in name)
    if judgement.verdict != "refused_by_scheduler" and (request.exclusive or devices):
        known = each.state.machine.devices if each.state.machine else {}
        notes += [
            f"no source reports the NUMA nodes of {name}: they give no hint" for name in devices if name not in known
        ]
        pins = any(of_kubelet.cpu_policy == "static" for of_kubelet in each.state.settings)
        notes += each.numa_doubts if pins else ()
    return notes


def _hint(judgement: Judgement) -> HintAnswer | None:
    if judgement.hint is None:
        return None
    affinity = judgement.hint.affinity
    return HintAnswer(None if affinity is None else sorted(affinity), judgement.hint.preferred)


def _free_exclusive(state: NodeState) -> list[int]:
    """Return the free CPUs of each NUMA node; empty if the CPU Manager pins nothing or the NUMA nodes are unknown."""
    if state.machine is None or all(each.cpu_policy != "static" for each in state.settings):
        return []
    return [len(numa.cpus & state.machine.free) for numa in state.machine.topology.numa_nodes]
