"""Reconciles all sources to one account of a node's NUMA nodes: the best fidelity wins (rules: numa-sources)."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ingest.model.cpuset import format_cpuset
from streams.rules.numa.skew import NumaNumbers, counted_numbers, exact_numbers
from streams.rules.numa.sources import (
    CHECKPOINT,
    KOORDINATOR,
    METRICS,
    POD_SPEC,
    PODRESOURCES,
    PREFERENCE,
    VOLCANO,
    Fidelity,
    NumaView,
)
from streams.rules.numa.topology import NumaTopology, lowest_cpus

WHOLE_NODE: Final = -1
"""Stands in for the NUMA node in numbers of the whole node."""
SINGLE_NUMA_NODE: Final = "single_numa_node"
RESERVED_CPUS: Final = "reserved_cpus"

_FIDELITIES: Final[tuple[Fidelity, ...]] = ("exact", "count", "none")


_OF_THE_KUBELET: Final = frozenset({CHECKPOINT, PODRESOURCES, METRICS})


class NodeFacts(NamedTuple):
    """Other known facts about a node; None if no source has them."""

    topology: NumaTopology | None = None
    numa_named: frozenset[int] = frozenset()
    """NUMA nodes that any source has named."""
    capacity_cpus: int | None = None
    reserved: frozenset[int] | None = None
    """Reserved CPUs by `reservedSystemCPUs`, or all except those that podresources reports as allocatable."""
    reserved_cpus: int | None = None
    """Number by the amounts of system and kube reservation, or by capacity minus allocatable."""
    reserved_assumed: bool = True
    """True if the amount is not from the kubelet's settings."""


class Account(NamedTuple):
    """One source's report about a node, combined with the facts."""

    view: NumaView
    fidelity: Fidelity
    numbers: tuple[NumaNumbers, ...]
    """Numbers by NUMA node; with fidelity none of `WHOLE_NODE`, or NUMA nodes of unknown exclusive CPUs."""
    assumed: tuple[str, ...] = ()
    explanation: str = ""
    topology: NumaTopology | None = None
    """Topology, with fidelity exact."""
    taken: frozenset[int] = frozenset()
    """Reserved and exclusive CPUs, with fidelity exact."""
    reserved: frozenset[int] = frozenset()
    """Reserved CPUs, with fidelity exact."""

    @property
    def exclusive_cpus(self) -> int | None:
        counts = [each.exclusive_cpus for each in self.numbers]
        known = [count for count in counts if count is not None]
        return sum(known) if known and len(known) == len(counts) else self.view.exclusive_cpus

    def numa_nodes_of(self, cpus: frozenset[int]) -> tuple[int, ...]:
        """Return the NUMA nodes of CPUs; empty if unknown."""
        if self.topology is not None:
            return self.topology.numa_nodes_of(cpus)
        return (self.numbers[0].numa_node,) if SINGLE_NUMA_NODE in self.assumed and cpus else ()


def account(view: NumaView, facts: NodeFacts) -> Account:
    if view.source in {CHECKPOINT, PODRESOURCES, KOORDINATOR, VOLCANO} and view.fidelity == "exact":
        return _of_cpu_ids(view, facts)
    if view.source == METRICS:
        return _of_gauges(view, facts)
    if view.zones:
        return _of_zones(view)
    return _of_whole_node(view, facts, view.quirk)


def best_account(accounts: Iterable[Account]) -> Account | None:
    return next(iter(ordered_accounts(accounts)), None)


def ordered_accounts(accounts: Iterable[Account]) -> list[Account]:
    """Order accounts from the best: by fidelity, complete ones first, then by `PREFERENCE`."""
    return sorted(accounts, key=_order)


def disagreements(best: Account, others: Sequence[Account]) -> dict[tuple[int, str], tuple[int, int]]:
    """Return where others report another number of exclusive CPUs than the best.

    The key is the NUMA node (`WHOLE_NODE` if only that can be compared) and the source, the value the best's number
    and the other's. Requests of pods do not prove what they hold. podresources reports fewer CPUs than the
    checkpoint by design: not those of finished init containers (rules: podresources).
    """
    found: dict[tuple[int, str], tuple[int, int]] = {}
    for other in others:
        if other.view.source in {best.view.source, POD_SPEC}:
            continue
        for numa, mine, its in _comparable(best, other):
            if other.view.source == PODRESOURCES and mine is not None and its is not None and its < mine:
                continue
            if mine is not None and its is not None and mine != its:
                found[numa, other.view.source] = (mine, its)
    return found


def witnesses(best: Account, others: Sequence[Account], numa_node: int) -> list[str]:
    """Return the other sources that report the same number of exclusive CPUs on this NUMA node."""
    return sorted(
        other.view.source
        for other in others
        if other.view.source != best.view.source
        for numa, mine, its in _comparable(best, other)
        if numa == numa_node and mine is not None and mine == its
    )


def _comparable(best: Account, other: Account) -> list[tuple[int, int | None, int | None]]:
    mine = {each.numa_node: each.exclusive_cpus for each in best.numbers}
    its = {each.numa_node: each.exclusive_cpus for each in other.numbers}
    if WHOLE_NODE in mine or WHOLE_NODE in its:
        return [(WHOLE_NODE, best.exclusive_cpus, other.exclusive_cpus)]
    return [(numa, mine.get(numa, 0), its.get(numa, 0)) for numa in sorted({*mine, *its})]


def _order(each: Account) -> tuple[int, bool, int]:
    complete = all(numbers.free_cpus is not None for numbers in each.numbers)
    return (_FIDELITIES.index(each.fidelity), not complete, PREFERENCE.index(each.view.source))


def _of_cpu_ids(view: NumaView, facts: NodeFacts) -> Account:
    exclusive = frozenset[int]().union(*(holder.cpus for holder in view.holders))
    view = view._replace(exclusive_cpus=len(exclusive))
    topology = facts.topology
    if topology is None:
        return _of_whole_node(view, facts, "the NUMA nodes of these CPUs are unknown: no topology was seen")
    strange = exclusive - topology.cpus
    if strange:
        return _of_whole_node(view, facts, f"CPU {format_cpuset(strange)} is in no NUMA node of the topology")
    reserved, assumed = _reserved(view, facts, topology)
    return Account(
        view=view,
        fidelity="exact",
        numbers=exact_numbers(topology, reserved, exclusive),
        assumed=(RESERVED_CPUS,) if assumed else (),
        topology=topology,
        taken=reserved | exclusive,
        reserved=reserved,
    )


def _of_gauges(view: NumaView, facts: NodeFacts) -> Account:
    gauges = {zone.numa_node: zone.exclusive_cpus for zone in view.zones}
    if None in gauges.values() or (view.exclusive_cpus and not gauges):
        return _of_whole_node(view, facts, view.quirk)
    if facts.topology is not None:
        topology = facts.topology
        if gauges.keys() - {node.numa_node for node in topology.numa_nodes}:
            return _of_whole_node(view, facts, "the kubelet's gauges name a NUMA node that has no CPUs")
        reserved, assumed = _reserved(view, facts, topology)
        numbers = tuple(
            counted_numbers(
                node.numa_node,
                len(node.cpus),
                len(node.cpus & reserved),
                gauges.get(node.numa_node, 0),
                len(node.cores),
            )
            for node in topology.numa_nodes
        )
        return Account(view, "count", numbers, (RESERVED_CPUS,) if assumed else (), view.quirk)
    if len(facts.numa_named) == 1 or not facts.numa_named:
        return _of_whole_node(view, facts, view.quirk)
    numbers = tuple(counted_numbers(numa, None, None, gauges.get(numa, 0)) for numa in sorted(facts.numa_named))
    return Account(view, "count", numbers, (), "the number of CPUs of a NUMA node is unknown: no topology was seen")


def _of_zones(view: NumaView) -> Account:
    numbers = tuple(
        counted_numbers(zone.numa_node, zone.cpus, zone.reserved_cpus, zone.exclusive_cpus)
        for zone in view.zones
        if zone.cpus != 0
    )
    if any(each.exclusive_cpus is None for each in numbers):
        text = f"{view.producer or 'the exporter'} does not report how many CPUs of a NUMA node are available"
        return Account(view, "none", numbers, (), text)
    too_many = next((each for each in numbers if (each.free_cpus or 0) < 0), None)
    if too_many is not None:
        text = f"NUMA node {too_many.numa_node} has more exclusive CPUs than it can give"
        return Account(view, "none", tuple(each._replace(free_cpus=None) for each in numbers), (), text)
    return Account(view, "count", numbers)


def _of_whole_node(view: NumaView, facts: NodeFacts, explanation: str) -> Account:
    """Return the node's counts, which are those of its NUMA node if only one was ever named (`single_numa_node`)."""
    single = facts.topology is None and len(facts.numa_named) == 1 and view.source in _OF_THE_KUBELET
    numa = next(iter(facts.numa_named)) if single else WHOLE_NODE
    cpus, reserved, assumed = _node_counts(facts)
    numbers = counted_numbers(numa, cpus, reserved, view.exclusive_cpus)
    if (numbers.free_cpus or 0) < 0:
        # by its source more is held or reserved than the node has: the parts are facts, but their difference is not
        numbers = numbers._replace(free_cpus=None)
    noted = (SINGLE_NUMA_NODE,) if single else ()
    if single:
        explanation = f"NUMA node {numa} is the only one that any source names: all CPUs are assumed to be on it"
    return Account(
        view, "count" if single else "none", (numbers,), (*noted, RESERVED_CPUS) if assumed else noted, explanation
    )


def _node_counts(facts: NodeFacts) -> tuple[int | None, int | None, bool]:
    if facts.topology is not None:
        cpus: int | None = len(facts.topology.cpus)
    else:
        cpus = facts.capacity_cpus
    if facts.reserved is not None:
        return cpus, len(facts.reserved), False
    return cpus, facts.reserved_cpus or 0, facts.reserved_cpus is None or facts.reserved_assumed


def _reserved(view: NumaView, facts: NodeFacts, topology: NumaTopology) -> tuple[frozenset[int], bool]:
    """Return the reserved CPUs, and whether they were inferred rather than reported."""
    if facts.reserved is not None:
        return facts.reserved & topology.cpus, False
    if view.reserved is not None:
        return view.reserved & topology.cpus, False
    return lowest_cpus(topology, facts.reserved_cpus or 0), facts.reserved_cpus is None or facts.reserved_assumed
