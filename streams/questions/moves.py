"""Plans which pods to restart so that a pod with exclusive CPUs fits one NUMA node (rules: drain, exclusive-cpus).

The pods restart one after the other, each once the one before is Ready again. Each goes to another node if one takes
it. If the scheduler refuses it everywhere else, it returns, and its kubelet admits it like a new one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import accumulate, count
from typing import Final, NamedTuple

import msgspec

from streams.questions.drain import OF_LEAVE, OUTCOMES, Cluster, DrainedPod, Outcome, asked, fullness
from streams.questions.fit_request import MEMORY_TYPES, MILLI
from streams.questions.pending import PodsThere, Waiting, request_of
from streams.rules.numa.topology_manager import Request
from streams.rules.scheduling.budgets import Budget, ruling
from streams.rules.scheduling.constraints import restored
from streams.rules.scheduling.filters import NodeState, PodRequest
from streams.rules.scheduling.fit import Judgement, judge, refusals
from streams.rules.scheduling.neighbours import Neighbour, Neighbourhood, Place

MOST_STEPS: Final = 23_000
"""Most judgements of a pod on a node and the like, in about two seconds."""
_CUT: Final = f"whether other restarts help: the search was cut after {MOST_STEPS:,} steps"


class Holder(NamedTuple):
    """A pod that holds exclusive CPUs."""

    there: DrainedPod
    cpus: frozenset[int]
    containers: int = 1


class Home(NamedTuple):
    """A node where restarts may make room."""

    node: str
    holders: list[Holder]


class RestartAnswer(msgspec.Struct, frozen=True):
    namespace: str
    pod: str
    controller: str
    to: str
    """One of the nodes that take it, or its own if no other can."""
    largest_fit_cpus: int
    """The most exclusive CPUs that such a pod could then have on one NUMA node of the node that this pod leaves."""


class MovesAnswer(msgspec.Struct, frozen=True):
    node: str = ""
    """Node that then takes the pod on one NUMA node; empty if none is known."""
    restarts: list[RestartAnswer] = []
    """The fewest that are enough, in their order; empty if the node takes the pod now."""
    kept: dict[Outcome, int] = {}
    """Without a plan: pods that hold exclusive CPUs and cannot restart, by `Outcome` of `streams.questions.drain`."""
    unknown: list[str] = []
    """Missing facts that may change this."""


class _Kind(NamedTuple):
    """Equal pods, and where one more of them can go."""

    request: PodRequest
    around: Neighbourhood | None
    """The effect of other pods; None without any."""
    places: Mapping[str, Place]
    rest: Iterator[NodeState]
    """Nodes that were not judged yet."""
    open: list[tuple[NodeState, tuple[Judgement, NodeState]]]
    """Nodes that the scheduler does not refuse before any move: with its judgement, and the node with the pod."""


class _Move(NamedTuple):
    holder: Holder
    itself: Neighbour
    to: str
    left: NodeState
    """The node that it leaves, afterwards."""


class _Try(NamedTuple):
    node: NodeState
    holders: tuple[Holder, ...]
    """Pods that can still restart."""
    moves: tuple[_Move, ...] = ()
    changed: Mapping[str, NodeState] = {}
    """Other nodes that took pods."""
    leaving: Holder | None = None
    """The pod that leaves the node next."""

    @property
    def key(self) -> tuple[object, ...]:
        """Return what equal tries share, in any order of their moves."""
        moved = frozenset((each.holder.there.pod.uid, each.to) for each in self.moves)
        return self.node.node, moved, self.node.machine and self.node.machine.free

    def least(self, cpus: int) -> int | None:
        """Return how many restarts at least free so many CPUs of a NUMA node; None if all of them free too few."""
        machine, found = self.node.machine, list[int]()
        for numa in machine.topology.numa_nodes if machine else ():
            free = len(numa.cpus & machine.free) if machine else 0
            held = sorted((len(numa.cpus & each.cpus) for each in self.holders), reverse=True)
            found += [restarts for restarts, sum_ in enumerate(accumulate(held, initial=free)) if sum_ >= cpus][:1]
        return min(found, default=None)


def plan(wanted: PodRequest, homes: Iterable[Home], cluster: Cluster) -> MovesAnswer:
    """Return the fewest restarts of pods of one node after which it takes the `prepared` pod on one NUMA node.

    `cluster.others` are all nodes. Any of the plans that are as short is returned.
    """
    search, kept, starts = _Search(wanted, cluster), Counter[Outcome](), list[_Try]()
    for home in homes:
        outcomes = [(_outcome(each.there, cluster.budgets), each) for each in home.holders]
        kept.update(outcome for outcome, _ in outcomes if outcome != "moves")
        movable = sorted((each for outcome, each in outcomes if outcome == "moves"), key=_small_first)
        starts.append(_Try(search.nodes[home.node], tuple(movable)))
    found = search.shortest(starts)
    if found is None:
        in_order = {outcome: kept[outcome] for outcome in OUTCOMES if kept[outcome]}
        return MovesAnswer(kept=in_order, unknown=[_CUT] * search.is_cut)
    return MovesAnswer(found.node.node, [search.answer(each) for each in found.moves])


def _outcome(there: DrainedPod, budgets: Mapping[tuple[str, str], Budget]) -> Outcome:
    if there.stays:
        return "stays"
    if there.terminating:
        return "leaving"
    if not there.controller:
        return "ends"
    return OF_LEAVE.get(ruling(asked(there, budgets), 0).leave, "moves")


class _Search:
    def __init__(self, wanted: PodRequest, cluster: Cluster) -> None:
        self._cluster, self._minor = cluster, cluster.scheduler_minor
        self.nodes = {each.node: each for each in sorted(cluster.others, key=fullness)}
        self._resources = set().union(*(each.allocatable for each in cluster.others))
        self._there = PodsThere(cluster.others, cluster.namespaces)
        self._kinds: dict[bytes, _Kind] = {}
        self._steps = 0
        self._wanted = self._kind(wanted)

    @property
    def is_cut(self) -> bool:
        return self._steps > MOST_STEPS

    def shortest(self, starts: Iterable[_Try]) -> _Try | None:
        """Return a try that helps with the fewest restarts (A*)."""
        waiting, order, seen = list[tuple[int, int, _Try]](), count(), set[object]()
        following = (each for each in starts if not refusals(_emptied(each), self._wanted.request, self._minor))
        placed: _Try | None
        for placed in following:
            if self._fits(placed):
                return placed
            self._push(waiting, order, placed)
        while waiting and not self.is_cut:
            *_, at = heappop(waiting)
            if at.leaving is None:
                for each in at.holders:
                    self._push(waiting, order, _left(at, each))
            elif (placed := self._placed(at, at.leaving)) is not None and placed.key not in seen:
                seen.add(placed.key)
                if self._fits(placed):
                    return placed
                self._push(waiting, order, placed)
        return None

    def _push(self, waiting: list[tuple[int, int, _Try]], order: Iterator[int], at: _Try) -> None:
        """Keep a try that may help, by the restarts that it needs at least."""
        self._steps += 1
        least = at.least(self._wanted.request.exclusive_cpus)
        if least is not None:
            needed = len(at.moves) + (max(1, least) if at.leaving is None else 1 + least)
            heappush(waiting, (needed, next(order), at))

    def answer(self, move: _Move) -> RestartAnswer:
        there = move.holder.there
        pod = there.pod
        return RestartAnswer(pod.namespace, pod.pod, there.controller, move.to, self._largest(move.left))

    def _largest(self, node: NodeState) -> int:
        request, machine = self._wanted.request, node.machine
        free = [len(numa.cpus & machine.free) for numa in machine.topology.numa_nodes] if machine else []
        for cpus in range(max(free, default=0), 0, -1):
            such = request._replace(containers=(Request(cpus),), requests={**request.requests, "cpu": cpus * MILLI})
            if _is_on_one(judge(node, such, self._minor)[0]):
                return cpus
        return 0

    def _fits(self, at: _Try) -> bool:
        if not _is_on_one(self._judge(at.node, self._wanted.request)[0]):
            return False
        shifts, home = _shifts(at), at.node.node
        _shift(self._wanted, shifts)
        reasons, unknowns = _between(self._wanted, home)
        _shift(self._wanted, [(itself, to, source) for itself, source, to in shifts])
        return not (reasons or unknowns)

    def _placed(self, at: _Try, holder: Holder) -> _Try | None:
        """Return the try with the pod that left on the first other node that takes it, or back on its own."""
        kind = self._kind_of(holder.there.pod)
        shifts = [*_shifts(at), (kind.request.itself, at.node.node, "")]
        _shift(kind, shifts)
        move, changed = self._move(at, holder, kind)
        _shift(kind, [(itself, to, source) for itself, source, to in shifts])
        if move is None:
            return None
        return at._replace(node=move.left, moves=(*at.moves, move), changed=changed, leaving=None)

    def _move(self, at: _Try, holder: Holder, kind: _Kind) -> tuple[_Move | None, Mapping[str, NodeState]]:
        """Return the move, and the other nodes afterwards."""
        home, can_be_bound = at.node.node, False
        for node, first in self._open(kind):
            if node.node == home:
                continue
            reasons, unknowns = _between(kind, node.node)
            changed = at.changed.get(node.node)
            judgement, after = self._judge(changed, kind.request) if changed else first
            if reasons or judgement.verdict == "refused_by_scheduler":
                continue
            if judgement.verdict == "fits" and not unknowns:
                move = _Move(holder, kind.request.itself, node.node, at.node)
                return move, {**at.changed, node.node: after}
            can_be_bound = True
        judgement, after = self._judge(at.node, kind.request)
        comes_back = _returns(holder, at.node) and judgement.verdict == "fits" and not any(_between(kind, home))
        move = _Move(holder, kind.request.itself, home, after)
        return move if comes_back and not can_be_bound else None, at.changed

    def _open(self, kind: _Kind) -> Iterator[tuple[NodeState, tuple[Judgement, NodeState]]]:
        for index in count():
            while index == len(kind.open):
                node = next(kind.rest, None)
                if node is None:
                    return
                first = self._judge(node, kind.request)
                if first[0].verdict != "refused_by_scheduler":
                    kind.open.append((node, first))
            yield kind.open[index]

    def _kind_of(self, pod: Waiting) -> _Kind:
        constraints, cluster = restored(pod.constraints), self._cluster
        owner = pod.uid if constraints.claimed or constraints.devices else ""
        key = msgspec.json.encode((*pod[3:8], pod.namespace, owner))
        if key not in self._kinds:
            used = [*self._there.bound[pod.namespace]] if constraints.claimed else []
            if (own := (pod.namespace, constraints)) in used:
                used.remove(own)
            minor, storage, devices = self._minor, cluster.storage, cluster.devices
            request = request_of(pod, constraints, self._resources, minor, used, storage, devices)
            memory = {name: size for name, size in pod.requests.items() if name.startswith(MEMORY_TYPES)}
            others = {name: amount for name, amount in pod.requests.items() if "/" in name}
            self._kinds[key] = self._kind(request._replace(containers=(Request(pod.exclusive_cpus, memory, others),)))
        return self._kinds[key]

    def _kind(self, request: PodRequest) -> _Kind:
        itself, around, places = self._there.around(request)
        self._steps += len(self.nodes) if around else 0
        places_by_node = {each.node: each for each in places}
        return _Kind(request._replace(itself=itself), around, places_by_node, iter(self.nodes.values()), [])

    def _judge(self, node: NodeState, pod: PodRequest) -> tuple[Judgement, NodeState]:
        self._steps += 1
        return judge(node, pod, self._minor)


def _small_first(holder: Holder) -> tuple[int, str, str]:
    return len(holder.cpus), holder.there.pod.namespace, holder.there.pod.pod


def _is_on_one(found: Judgement) -> bool:
    return found.verdict == "fits" and len(found.numa_nodes) == 1


def _returns(holder: Holder, home: NodeState) -> bool:
    """Tell whether its CPUs alone decide which ones the kubelet gives it."""
    pod, machine = holder.there.pod, home.machine
    is_one = holder.containers == 1 and len(holder.cpus) == pod.exclusive_cpus
    return is_one and machine is not None and not machine.memory and machine.devices.keys().isdisjoint(pod.requests)


def _emptied(at: _Try) -> NodeState:
    for each in at.holders:
        at = _left(at, each)
    return at.node


def _left(at: _Try, holder: Holder) -> _Try:
    """Return the try after the pod left. Its volumes, and its memory and devices by NUMA node, stay taken."""
    node, pod, neighbours = at.node, holder.there.pod, [*at.node.neighbours]
    looks = (pod.namespace, pod.labels, restored(pod.constraints))
    if found := [at for at, each in enumerate(neighbours) if each[: len(looks)] == looks]:
        del neighbours[found[0]]
    node = node._replace(
        requested={name: amount - pod.requests.get(name, 0) for name, amount in node.requested.items()},
        pods=node.pods - 1,
        neighbours=tuple(neighbours),
        machine=node.machine and node.machine._replace(free=node.machine.free | holder.cpus),
    )
    return at._replace(node=node, holders=tuple(each for each in at.holders if each is not holder), leaving=holder)


def _shifts(at: _Try) -> list[tuple[Neighbour, str, str]]:
    return [(move.itself, at.node.node, move.to) for move in at.moves]


def _shift(kind: _Kind, shifts: Iterable[tuple[Neighbour, str, str]]) -> None:
    """Count pods on other nodes: from one, if it is named, to another."""
    for itself, source, to in shifts:
        if kind.around and source:
            kind.around.join(kind.places[source], itself, -1)
        if kind.around and to:
            kind.around.join(kind.places[to], itself)


def _between(kind: _Kind, node: str) -> tuple[list[str], list[str]]:
    """Return the rules between pods that keep it off a node, and the unknown ones."""
    if kind.around is None:
        return [], []
    return kind.around.reasons(kind.places[node]), kind.around.unknowns(kind.places[node])
