"""Predicts what a drain does to the pods of nodes (rules: drain, scheduler-fit, exclusive-cpus).

It does not check the kubelet's NUMA alignment of memory and devices. It takes the exclusive CPUs of a pod as those of
one container.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from common.amounts import counted
from streams.questions.pending import Waiting, request_of
from streams.rules.scheduling.budgets import Budget, BudgetVerdict, Leave, covering, ruling
from streams.rules.scheduling.constraints import restored
from streams.rules.scheduling.device_claims import NO_DEVICES, Devices
from streams.rules.scheduling.filters import NATIVE, NodeState, PodRequest, place_of
from streams.rules.scheduling.fit import judge
from streams.rules.scheduling.neighbours import Neighbourhood, in_namespaces
from streams.rules.scheduling.volume_needs import NO_EVIDENCE, Storage

Outcome: TypeAlias = Literal["refused", "ends", "no_room", "unknown", "in_turn", "moves", "leaving", "stays"]
"""Fate of a pod, the worst first:

- `refused`: the eviction API does not let it go.
- `ends`: no controller recreates it.
- `no_room`: no other node takes it; its successor stays pending.
- `unknown`: a fact is missing.
- `in_turn`: it moves after others of its budget.
- `moves`: another node takes it.
- `leaving`: it is being deleted already.
- `stays`: a drain leaves it: of a DaemonSet, or static.
"""
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)
HARMLESS: Final[frozenset[Outcome]] = frozenset({"in_turn", "moves", "leaving", "stays"})
"""Outcomes that cost no pod."""
_STAYING: Final = {"DaemonSet": "of a DaemonSet", "Node": "a static pod, which only its node runs"}
_ENDS: Final[tuple[str, Outcome, str]] = ("", "ends", "no controller recreates it: kubectl drain needs --force")
_OF_LEAVE: Final[Mapping[Leave, Outcome]] = {"refused": "refused", "in_turn": "in_turn", "unknown": "unknown"}


class DrainedPod(NamedTuple):
    """A pod on a node that is drained, from its row."""

    node: str
    pod: Waiting
    priority: int = 0
    phase: str = "Running"
    owner_kind: str = ""
    """Kind of its controller; empty if it has none."""
    owner: str = ""
    terminating: bool = False

    @property
    def stays(self) -> bool:
        return self.owner_kind in _STAYING


class Fate(NamedTuple):
    node: str
    namespace: str
    pod: str
    outcome: Outcome
    to: str
    """A node that takes it, in one of the possible placements; empty if none does or that is not known."""
    controller: str
    """Kind and name of its owner; empty if it has none."""
    why: str


class Cluster(NamedTuple):
    others: Sequence[NodeState]
    """Nodes that are not drained, with their pods."""
    drained: Sequence[NodeState]
    """Drained nodes, with the pods that stay."""
    scheduler_minor: int
    storage: Storage = NO_EVIDENCE
    namespaces: Mapping[str, Mapping[str, str]] = {}
    devices: Devices = NO_DEVICES
    budgets: Mapping[tuple[str, str], Budget] = {}


def preview(pods: Iterable[DrainedPod], cluster: Cluster) -> list[Fate]:
    """Return the fate of each pod, the worst first, then by namespace and name.

    The pods are placed one after the other, as the scheduler sorts them: by priority. Each goes to the first node
    that fits. Nodes are ordered by spread, then by the larger requested share of CPU or memory. That is one of the
    placements that the scheduler can choose. A refused pod is placed too, because it can leave later: `to` names
    its node, and the room there counts as taken.
    """
    drain = _Drain(cluster)
    in_order = sorted(pods, key=lambda each: (-each.priority, each.pod.namespace, each.pod.pod, each.pod.uid))
    fates = [drain.fate(each) for each in in_order]
    return sorted(fates, key=lambda each: (OUTCOMES.index(each.outcome), each.namespace, each.pod))


class _Drain:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._nodes = {each.node: each for each in cluster.others}
        self._resources = set().union(*(each.allocatable for each in (*cluster.others, *cluster.drained)))
        self._gone = Counter[tuple[str, str]]()
        """Number of pods that are evicted before, by budget."""
        self._lost = Counter[tuple[str, str]]()
        """Number of those without a Ready replacement, by budget."""
        self._has_anti_affinity = any(
            pod.constraints.anti_affinity for node in self._all() for pod in node.neighbours
        )

    def fate(self, there: DrainedPod) -> Fate:
        pod = there.pod
        controller = f"{there.owner_kind} {there.owner}".strip()
        known = Fate(there.node, pod.namespace, pod.pod, "stays", "", controller, "")
        if there.stays:
            return known._replace(why=_STAYING[there.owner_kind])
        if there.terminating:
            return known._replace(outcome="leaving", why="it is being deleted")
        found = self._asked(there)
        leave, why = self._ruling(pod, found)
        to, outcome, without = self._placed(pod) if controller else _ENDS
        if leave in {"granted", "in_turn"}:
            names = [(pod.namespace, name) for name, _ in found]
            self._gone.update(names)
            self._lost.update(names if outcome in {"ends", "no_room"} else ())
        if outcome == "moves" or leave == "refused":
            outcome = _OF_LEAVE.get(leave, outcome)
        return known._replace(outcome=outcome, to=to, why="; ".join(filter(None, (why, without))))

    def _asked(self, there: DrainedPod) -> list[tuple[str, Budget]]:
        """Return the budgets that the eviction API checks; none for a Pending pod."""
        if there.phase == "Pending":
            return []
        return covering(self._cluster.budgets, there.pod.namespace, there.pod.labels)

    def _ruling(self, pod: Waiting, found: Sequence[tuple[str, Budget]]) -> BudgetVerdict:
        names = [(pod.namespace, name) for name, _ in found]
        before, lost = (max((each[name] for name in names), default=0) for each in (self._gone, self._lost))
        return ruling(found, before, lost)

    def _placed(self, pod: Waiting) -> tuple[str, Outcome, str]:
        request = self._request(pod)
        refusals, doubts = Counter[str](), list[str]()
        for node, reasons, unknowns in self._ordered_nodes(request):
            if reasons:
                refusals.update(reasons)
                continue
            judgement, after = judge(node, request, self._cluster.scheduler_minor)
            if judgement.verdict == "fits" and not unknowns:
                self._nodes[node.node] = after
                self._has_anti_affinity |= bool(request.itself.constraints.anti_affinity)
                return node.node, "moves", judgement.note
            if judgement.verdict in {"fits", "unknown"}:
                doubts += [*unknowns, judgement.note][:1]
            refusals.update(judgement.reasons)
        if doubts:
            return "", "unknown", doubts[0]
        words = ", ".join(f"{number} {reason}" for reason, number in sorted(refusals.items())) or "there is none"
        return "", "no_room", f"0 of {counted(len(self._nodes), 'other node')} would take it: {words}"

    def _request(self, pod: Waiting) -> PodRequest:
        cluster = self._cluster
        constraints = restored(pod.constraints)
        claims = (each for node in self._all() for each in node.neighbours) if constraints.claimed else ()
        used = [(each.namespace, each.constraints) for each in claims]
        minor, storage, devices = cluster.scheduler_minor, cluster.storage, cluster.devices
        return request_of(pod, constraints, self._resources, minor, used, storage, devices)

    def _all(self) -> Iterator[NodeState]:
        yield from self._nodes.values()
        yield from self._cluster.drained

    def _ordered_nodes(self, pod: PodRequest) -> Iterator[tuple[NodeState, Sequence[str], Sequence[str]]]:
        """Order the other nodes, and attach to each the reasons and unknowns of rules between pods."""
        nodes = sorted(self._nodes.values(), key=_fullness)
        wants = pod.itself.constraints
        if not (self._has_anti_affinity or wants.affinity or wants.anti_affinity or wants.spread):
            yield from ((each, (), ()) for each in nodes)
            return
        itself, places = in_namespaces(
            pod.itself, [place_of(each, pod) for each in self._all()], self._cluster.namespaces
        )
        around, where = Neighbourhood(itself, places), {each.node: each for each in places}
        for each in sorted(nodes, key=lambda node: around.crowd(where[node.node])):
            yield each, around.reasons(where[each.node]), around.unknowns(where[each.node])


def _fullness(node: NodeState) -> tuple[float, str]:
    shares = (node.requested.get(name, 0) / max(1, node.allocatable.get(name, 0)) for name in NATIVE[:2])
    return max(shares), node.node


def summary(fates: Sequence[Fate]) -> dict[Outcome, int]:
    """Count the pods by outcome, the worst first, without those that none has."""
    found = Counter(each.outcome for each in fates)
    return {outcome: found[outcome] for outcome in OUTCOMES if found[outcome]}
