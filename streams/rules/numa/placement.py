"""Places the same pods again, in the order of their arrival, by another strategy (rules: koordinator,
exclusive-cpus).

Counts of whole physical cores and loose hyper-threads represent the CPUs, because no requested number depends on
which core it is.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from msgspec.structs import astuple, replace

from ingest.model.machine import NumaBin, NumaClaim
from streams.rules.numa.skew import NumaNumbers, counted_numbers


def on_one(free: list[int], cpus: int, *, fullest_first: bool) -> list[int] | None:
    chosen = -1
    for i, available in enumerate(free):
        if available < cpus:
            continue
        if chosen < 0 or (available < free[chosen] if fullest_first else available > free[chosen]):
            chosen = i
    return None if chosen < 0 else [cpus if i == chosen else 0 for i in range(len(free))]


def split_widest(free: list[int], cpus: int) -> list[int] | None:
    shares = [0] * len(free)
    for i in sorted(range(len(free)), key=lambda i: (-free[i], i)):
        shares[i] = min(cpus, free[i])
        cpus -= shares[i]
    return None if cpus else shares


def split_evenly(free: list[int], cpus: int) -> list[int] | None:
    if sum(free) < cpus:
        return None
    shares = [0] * len(free)
    while cpus:
        left = sorted((i for i in range(len(free)) if free[i] > shares[i]), key=lambda i: (shares[i] - free[i], i))
        share = max(1, cpus // len(left))
        for i in left:
            part = min(share, free[i] - shares[i], cpus)
            shares[i] += part
            cpus -= part
    return shares


Strategy: TypeAlias = Literal[
    "most_allocated", "least_allocated", "distribute_evenly", "spread_by_pcpus", "full_pcpus_only", "gang"
]
STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)
SPREADING: Final = frozenset({"least_allocated", "distribute_evenly"})
"""Strategies that take the emptiest node first; all others take the fullest."""
BY_THREAD: Final = frozenset({"least_allocated", "spread_by_pcpus"})


class NodeBins(NamedTuple):
    node: str
    bins: tuple[NumaBin, ...]
    single_numa: bool = False
    """The Topology Manager's policy lets no container span NUMA nodes."""


class PlacementResult(NamedTuple):
    numbers: dict[str, tuple[NumaNumbers, ...]]
    """Numbers by node; reserved CPUs and their cores are left out of `cpus` and `cores`."""
    spanning_pods: int
    unplaced_pods: int


def place(nodes: Sequence[NodeBins], claims: Iterable[NumaClaim], strategy: Strategy) -> PlacementResult:
    """Place every claim on the nodes, in the order of arrival (simultaneous claims by uid).

    `most_allocated`: the fullest node with a NUMA node that still fits, and there the fullest such NUMA node, whole
    cores first. `least_allocated`: the emptiest node and NUMA node, one thread of each core first.
    `distribute_evenly`: the emptiest node, the CPUs split over its NUMA nodes. `spread_by_pcpus`: as most_allocated,
    but one thread of each core first (koordinator's SpreadByPCPUs, the kubelet's distribute-cpus-across-cores).
    `full_pcpus_only`: as most_allocated, but whole cores only; other requests stay unplaced. `gang`: as
    most_allocated, but a pod group is placed as one when its first pod arrives: on one NUMA node, else on one node,
    else pod by pod.
    A container that fits no NUMA node spans those of a node that allows it; a pod that fits nowhere stays unplaced.
    """
    if strategy == "full_pcpus_only":
        nodes = [each._replace(bins=tuple(replace(bin_, loose_cpus=0) for bin_ in each.bins)) for each in nodes]
    cluster = _Cluster(nodes, strategy)
    plans = [plan for batch in _batches(claims, strategy) for plan in cluster.place_batch(batch)]
    return PlacementResult(
        numbers=cluster.numbers(),
        spanning_pods=sum(plan is not None and plan.spans for plan in plans),
        unplaced_pods=sum(plan is None for plan in plans),
    )


class _Plan(NamedTuple):
    """CPUs of each room (by index) that a claim would take, and whether a container gets those of several."""

    shares: Sequence[int]
    spans: bool


class _Room:
    __slots__ = ("bin", "loose", "whole")

    def __init__(self, bin_: NumaBin) -> None:
        self.bin = bin_
        self.whole = bin_.whole_cores
        self.loose = bin_.loose_cpus

    @property
    def free(self) -> int:
        return self.whole * self.bin.threads_per_core + self.loose

    def take(self, cpus: int, *, spread: bool) -> None:
        threads = self.bin.threads_per_core
        opened = min(self.whole, cpus if spread else cpus // threads)
        taken = opened if spread else opened * threads
        self.whole -= opened
        self.loose += opened * threads - taken
        while cpus - taken > self.loose:
            self.whole -= 1
            self.loose += threads
        self.loose -= cpus - taken


class _Node:
    __slots__ = ("allocatable", "fit", "free", "name", "order", "rooms", "single_numa", "strategy")

    def __init__(self, shape: NodeBins, strategy: Strategy) -> None:
        self.name = shape.node
        self.strategy = strategy
        self.rooms = [_Room(each) for each in shape.bins]
        self.single_numa = shape.single_numa
        self.allocatable = sum(each.cpus for each in shape.bins)
        self.free: list[int] = []
        self.fit = 0
        self.order = (0.0, "")
        self._measure()

    def _measure(self) -> None:
        """Compute the free CPUs of each NUMA node, the most on one, and the node's place in the strategy's order."""
        self.free = [room.free for room in self.rooms]
        self.fit = max(self.free, default=0)
        ratio = 1 - sum(self.free) / self.allocatable if self.allocatable else 1.0
        self.order = (ratio if self.strategy in SPREADING else -ratio, self.name)

    def plan(self, containers: Sequence[int], *, spanning: bool) -> _Plan | None:
        """Plan how this node would serve containers with these numbers of CPUs; None if it cannot."""
        free = self.free
        spans = False
        for cpus in sorted(containers, reverse=True):
            shares = self._shares(free, cpus, spanning=spanning and not self.single_numa)
            if shares is None:
                return None
            if len(containers) == 1:
                return _Plan(shares, sum(share > 0 for share in shares) > 1)
            spans = spans or sum(share > 0 for share in shares) > 1
            free = [available - share for available, share in zip(free, shares, strict=True)]
        return _Plan([was - now for was, now in zip(self.free, free, strict=True)], spans)

    def plan_on_one_numa_node(self, containers: Sequence[int]) -> _Plan | None:
        shares = on_one(self.free, sum(containers), fullest_first=True)
        return None if shares is None else _Plan(shares, spans=False)

    def take(self, shares: Sequence[int]) -> None:
        for room, share in zip(self.rooms, shares, strict=True):
            if share:
                room.take(share, spread=self.strategy in BY_THREAD)
        self._measure()

    def _shares(self, free: list[int], cpus: int, *, spanning: bool) -> list[int] | None:
        if self.strategy == "full_pcpus_only" and cpus % max(each.bin.threads_per_core for each in self.rooms):
            return None
        if self.strategy == "distribute_evenly" and not self.single_numa:
            return split_evenly(free, cpus)
        if spanning:
            return split_widest(free, cpus)
        return on_one(free, cpus, fullest_first=self.strategy not in SPREADING)


class _Cluster:
    """Nodes by what still fits one of their NUMA nodes, so that a claim looks at few of them."""

    def __init__(self, nodes: Sequence[NodeBins], strategy: Strategy) -> None:
        self.nodes = {shape.node: _Node(shape, strategy) for shape in nodes}
        self.splits = strategy == "distribute_evenly"
        self.by_fit: defaultdict[int, list[tuple[float, str]]] = defaultdict(list)
        for node in self.nodes.values():
            insort(self.by_fit[node.fit], node.order)

    def place_batch(self, batch: Sequence[NumaClaim]) -> list[_Plan | None]:
        if len(batch) > 1:
            containers = [cpus for claim in batch for cpus in claim.cpus]
            found = self._find(sum(containers), lambda node: node.plan_on_one_numa_node(containers))
            if found is None:
                found = self._find(max(containers, default=0), lambda node: node.plan(containers, spanning=False))
            if found is not None:
                self._take(*found)
                return [found[1], *([_Plan((), spans=False)] * (len(batch) - 1))]
        return [self._place(claim) for claim in batch]

    def numbers(self) -> dict[str, tuple[NumaNumbers, ...]]:
        return {
            name: tuple(
                counted_numbers(
                    room.bin.numa_node, room.bin.cpus, 0, room.bin.cpus - room.free, room.bin.whole_cores
                )._replace(free_cores=room.whole)
                for room in node.rooms
            )
            for name, node in self.nodes.items()
        }

    def _place(self, claim: NumaClaim) -> _Plan | None:
        needed = 0 if self.splits else max(claim.cpus, default=0)
        found = self._find(needed, lambda node: node.plan(claim.cpus, spanning=False))
        if found is None and not self.splits:
            found = self._find(0, lambda node: node.plan(claim.cpus, spanning=True))
        if found is None:
            return None
        self._take(*found)
        return found[1]

    def _find(self, needed: int, plan: Callable[[_Node], _Plan | None]) -> tuple[_Node, _Plan] | None:
        """Return the first node with a plan, in the strategy's order, where `needed` CPUs fit a NUMA node."""
        best: tuple[tuple[float, str], _Node, _Plan] | None = None
        for fit, orders in self.by_fit.items():
            if fit < needed:
                continue
            for order in orders:
                if best is not None and order >= best[0]:
                    break
                node = self.nodes[order[1]]
                planned = plan(node)
                if planned is not None:
                    best = (order, node, planned)
                    break
        return None if best is None else best[1:]

    def _take(self, node: _Node, plan: _Plan) -> None:
        orders = self.by_fit[node.fit]
        del orders[bisect_left(orders, node.order)]
        if not orders:
            del self.by_fit[node.fit]
        node.take(plan.shares)
        insort(self.by_fit[node.fit], node.order)


def _batches(claims: Iterable[NumaClaim], strategy: Strategy) -> list[list[NumaClaim]]:
    ordered = sorted(claims, key=astuple)  # by arrival
    if strategy != "gang":
        return [[claim] for claim in ordered]
    batches: dict[tuple[str, str], list[NumaClaim]] = {}
    for claim in ordered:
        batches.setdefault((claim.group, "" if claim.group else claim.uid), []).append(claim)
    return list(batches.values())
