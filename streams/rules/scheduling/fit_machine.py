"""Builds a node's machine and kubelet settings from sources of any fidelity (rules: exclusive-cpus, numa-sources)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast, get_args

from ingest.model.machine import Cpu
from streams.rules.numa.cpu_assignment import StaticPolicyOptions
from streams.rules.numa.memory_checkpoint import MemoryNode
from streams.rules.numa.topology import InvalidTopology, numa_topology
from streams.rules.numa.topology_manager import MOST_NUMA_NODES, Devices, Machine, Policy, Scope, Settings

FULL_PCPUS_ONLY: Final = "full-pcpus-only"
PREFER_CLOSEST: Final = "prefer-closest-numa-nodes"
MAX_NUMA_NODES: Final = "max-allowable-numa-nodes"
ACROSS_NUMA: Final = "distribute-cpus-across-numa"
ACROSS_CORES: Final = "distribute-cpus-across-cores"
BY_SOCKET: Final = "align-by-socket"
UNCORE_CACHE: Final = "prefer-align-cpus-by-uncorecache"
NOT_FOLLOWED: Final = (PREFER_CLOSEST,)
"""Options that choose NUMA nodes by facts that no table stores; they rarely change whether a pod is admitted."""
TRUE: Final = ("1", "t", "T", "true", "TRUE", "True")
"""Values of an option that is on."""


class NumaCpus(NamedTuple):
    """The CPUs of one NUMA node; counts are None if no source reports them."""

    numa_node: int
    cpus: int | None
    free_cpus: int | None
    cores: int | None = None
    free: frozenset[int] = frozenset()
    core_cpus: tuple[frozenset[int], ...] = ()
    """CPUs of each physical core. Both are empty if the source has no CPU ids."""
    core_sockets: tuple[int, ...] = ()
    """The package of each physical core."""
    reserved: frozenset[int] = frozenset()


class Policies(NamedTuple):
    """The known settings of a kubelet; empty texts and None if unknown."""

    cpu: str = ""
    topology: str = ""
    scope: str = ""
    cpu_options: Mapping[str, str] | None = None
    topology_options: Mapping[str, str] | None = None


def machine_of(
    parts: Sequence[NumaCpus], memory: dict[int, MemoryNode], devices: dict[str, Devices]
) -> Machine | None:
    """Build the machine; None if a NUMA node's CPUs are unknown.

    If only counts are known, CPU ids are invented, and free ones are assumed to be whole cores.
    """
    cpus: list[Cpu] = []
    free: set[int] = set()
    sockets_known = all(len(part.core_sockets) == len(part.core_cpus) for part in parts)
    for part in parts:
        if part.core_cpus:
            cores, part_free = part.core_cpus, part.free
        elif part.cpus is None or part.free_cpus is None:
            return None
        else:
            cores, part_free = _made_up(part.cpus, part.free_cpus, part.cores or part.cpus, first=len(cpus))
        sockets = part.core_sockets if part.core_cpus and sockets_known else (part.numa_node,) * len(cores)
        cpus += [
            Cpu(cpu, index, socket, part.numa_node)
            for index, (core, socket) in enumerate(zip(cores, sockets, strict=True))
            for cpu in core
        ]
        free |= part_free
    reserved = frozenset[int]().union(*(part.reserved for part in parts))
    try:
        return Machine(numa_topology(cpus), frozenset(free), reserved, memory, devices) if cpus else None
    except InvalidTopology:
        return None


def settings_of(known: Policies) -> tuple[Settings, ...]:
    """Return the settings of a kubelet; if some are unknown, the laxest and the strictest that it can have."""
    options = known.cpu_options or {}
    topology_options = known.topology_options or {}
    limit = topology_options.get(MAX_NUMA_NODES, "")
    base = Settings(
        topology_scope=cast("Scope", known.scope) if known.scope in get_args(Scope) else "container",
        cpu_policy=known.cpu or "static",
        assignment=StaticPolicyOptions(
            across_numa=options.get(ACROSS_NUMA) in TRUE,
            across_cores=options.get(ACROSS_CORES) in TRUE,
            by_socket=options.get(BY_SOCKET) in TRUE,
            whole_cores=requires_whole_cores(options),
        ),
        prefer_uncore_cache=options.get(UNCORE_CACHE) in TRUE,
        max_numa_nodes=int(limit[:6]) if limit.isascii() and limit.isdecimal() else MOST_NUMA_NODES,
    )
    policies: tuple[Policy, ...] = ("none", "single-numa-node")
    if known.topology in get_args(Policy):
        policies = (cast("Policy", known.topology),)
    lax, strict = base._replace(topology_policy=policies[0]), base._replace(topology_policy=policies[-1])
    if known.cpu_options is None:
        strict = strict._replace(assignment=strict.assignment._replace(whole_cores=True))
    pinning = (lax, strict) if lax != strict else (lax,)
    return pinning if known.cpu else (*pinning, lax._replace(cpu_policy="none"))


def requires_whole_cores(cpu_options: Mapping[str, str]) -> bool:
    """Tell whether `full-pcpus-only` is on."""
    return cpu_options.get(FULL_PCPUS_ONLY) in TRUE


def options_not_followed(known: Policies) -> Iterator[str]:
    """Name the options that are set and not followed."""
    options = {**(known.cpu_options or {}), **(known.topology_options or {})}
    for name in NOT_FOLLOWED:
        if options.get(name) in TRUE:
            yield f"option {name} is not followed: it can be on other NUMA nodes"


def _made_up(
    cpus: int, free_cpus: int, cores: int, *, first: int
) -> tuple[tuple[frozenset[int], ...], frozenset[int]]:
    threads = max(1, cpus // max(1, cores))
    ids = range(first, first + cpus)
    made = tuple(frozenset(ids[at : at + threads]) for at in range(0, cpus, threads))
    return made, frozenset(ids[: max(0, free_cpus)])
