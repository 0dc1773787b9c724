"""Plans which pods to restart so that a pod with exclusive CPUs fits one NUMA node (rules: drain, exclusive-cpus,
scheduler-fit).

The pods restart one after the other. Each goes to another node if one takes it, because its own is cordoned then. If
none can, it returns, and its kubelet admits it like a new one. Only pods whose exclusive CPUs are known by their ids
restart.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from streams.questions.drain import Cluster, DrainedPod, Draining, Fate, Outcome, summary, without
from streams.rules.numa.topology_manager import Request
from streams.rules.scheduling.filters import NodeState, PodRequest
from streams.rules.scheduling.fit import Judgement, judge, kubelets_judgement

MOST_TRIED: Final = 1_000
"""Orders of restarts that are tried on all nodes together."""
_TOO_MANY: Final = f"whether further restarts help: {MOST_TRIED:,} orders were tried"
_RESTARTS: Final = frozenset({"moves", "in_turn"})
_Cpus: TypeAlias = frozenset[int]


class Home(NamedTuple):
    """A node where restarts may make room."""

    node: str
    pods: Sequence[DrainedPod]
    held: Mapping[str, Sequence[_Cpus]]
    """Exclusive CPUs of each container, by UID of its pod."""


class RestartAnswer(msgspec.Struct, frozen=True):
    namespace: str
    pod: str
    controller: str
    to: str
    """One of the nodes that take it, or its own if no other can."""
    largest_fit_cpus: int
    """The largest exclusive pod that afterwards fits one NUMA node of the node that it leaves."""


class MovesAnswer(msgspec.Struct, frozen=True):
    node: str = ""
    """Node that then takes the pod on one NUMA node; empty if none is known."""
    restarts: list[RestartAnswer] = []
    """The fewest that are enough, in their order; empty if the node takes the pod now."""
    kept: dict[Outcome, int] = {}
    """Pods on the nodes where restarts could help that do not restart: by `Outcome` of `streams.questions.drain`."""
    unknown: list[str] = []
    """Missing facts that may change this."""


class _Try(NamedTuple):
    home: Home
    draining: Draining
    left: Sequence[DrainedPod]
    done: tuple[tuple[Fate, NodeState], ...] = ()
    """The restarts, with the node after each."""

    @property
    def node(self) -> NodeState:
        return self.draining.nodes[self.home.node]


def plan(wanted: PodRequest, homes: Iterable[Home], cluster: Cluster) -> MovesAnswer:
    """Return the fewest restarts of pods of one node after which it takes the `prepared` pod on one NUMA node.

    `cluster.others` are all nodes. If several are as few, it returns those of the smallest pods of the first node.
    """
    nodes, minor = {each.node: each for each in cluster.others}, cluster.scheduler_minor
    starts = [(home, nodes[home.node], _movable(home, nodes[home.node])) for home in homes]
    promising = [
        _Try(home, Draining(cluster._replace(home=home.node, containers=_returning(home, node, movable))), movable)
        for home, node, movable in starts
        if _fits(node, wanted, minor) or _fits(_emptied(home, node, movable), wanted, minor)
    ]
    kept = summary(fate for each in promising for fate, _ in _fates(each) if fate.outcome not in _RESTARTS)
    for number, each in enumerate(_fewest_first(promising)):
        if _fits(each.node, wanted, minor):
            restarts = [
                RestartAnswer(fate.namespace, fate.pod, fate.controller, fate.to, _largest(node))
                for fate, node in each.done
            ]
            return MovesAnswer(each.home.node, restarts, kept)
        if number > MOST_TRIED:
            return MovesAnswer(kept=kept, unknown=[_TOO_MANY])
    return MovesAnswer(kept=kept)


def _movable(home: Home, node: NodeState) -> list[DrainedPod]:
    """Return the pods that hold exclusive CPUs by the newest numbers of the node too, small ones first."""
    taken = node.machine.topology.cpus - node.machine.free if node.machine else frozenset()
    sizes = {each: len(cpus) for each, held in home.held.items() if (cpus := frozenset().union(*held)) <= taken}
    pods = (each for each in home.pods if sizes.get(each.pod.uid))
    return sorted(pods, key=lambda each: (sizes[each.pod.uid], each.pod.namespace, each.pod.pod))


def _cpus(home: Home, pod: DrainedPod) -> _Cpus:
    return frozenset().union(*home.held.get(pod.pod.uid, ()))


def _returning(home: Home, node: NodeState, pods: Iterable[DrainedPod]) -> dict[str, tuple[Request, ...]]:
    """Return the containers of pods, by UID, that the kubelet admits by their CPUs alone, in any order."""
    machine, found = node.machine, dict[str, tuple[Request, ...]]()
    for each in pods:
        sizes = [len(cpus) for cpus in home.held[each.pod.uid]]
        is_whole = sum(sizes) == each.pod.exclusive_cpus == len(_cpus(home, each)) and len(set(sizes)) == 1
        if is_whole and machine and not (machine.memory or machine.devices.keys() & each.pod.requests.keys()):
            found[each.pod.uid] = tuple(map(Request, sizes))
    return found


def _emptied(home: Home, node: NodeState, pods: Iterable[DrainedPod]) -> NodeState:
    for each in pods:
        node = without(node, each.pod, _cpus(home, each))
    return node


def _fewest_first(tries: Sequence[_Try]) -> Iterator[_Try]:
    """Yield the tries, then all with one restart, with two and so on, those alike once."""
    seen = set[object]()
    yield from tries
    while tries:
        level, tries = tries, []
        for each in (after for at in level for after in _next(at)):
            where = frozenset((fate.namespace, fate.pod, fate.to) for fate, _ in each.done)
            key = (each.home.node, where, each.node.machine and each.node.machine.free)
            if key not in seen:
                seen.add(key)
                tries.append(each)
                yield each


def _next(at: _Try) -> Iterator[_Try]:
    for pod, (fate, draining) in zip(at.left, _fates(at), strict=True):
        if fate.outcome in _RESTARTS:
            left = [each for each in at.left if each is not pod]
            yield _Try(at.home, draining, left, (*at.done, (fate, draining.nodes[at.home.node])))


def _fates(at: _Try) -> Iterator[tuple[Fate, Draining]]:
    """Yield what becomes of each pod if it is the next to restart."""
    for pod in at.left:
        draining = at.draining.apart()
        yield draining.restart(pod, _cpus(at.home, pod)), draining


def _fits(node: NodeState, wanted: PodRequest, scheduler_minor: int) -> bool:
    return _is_on_one(judge(node, wanted, scheduler_minor)[0])


def _is_on_one(found: Judgement) -> bool:
    return found.verdict == "fits" and len(found.numa_nodes) == 1


def _largest(node: NodeState) -> int:
    """Return the most exclusive CPUs that a pod of one container gets there on one NUMA node."""
    machine = node.machine
    free = [len(numa.cpus & machine.free) for numa in machine.topology.numa_nodes] if machine else []
    sizes = range(max(free, default=0), 0, -1)
    able = (each for each in sizes if _is_on_one(kubelets_judgement(node, PodRequest((Request(each),), {}))[0]))
    return next(able, 0)
