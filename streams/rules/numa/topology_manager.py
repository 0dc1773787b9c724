"""Would the kubelet admit a pod with exclusive CPUs, and if not, in which words would it fail
(rules: topology-manager).

Kubernetes: pkg/kubelet/cm/topologymanager/{scope_container,scope_pod,policy_*,policy_options,topology_manager}.go,
pkg/kubelet/cm/cpumanager/{policy_static,cpu_assignment}.go.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from streams.rules.numa.hints import Affinity, Hint, Hints, amount_hints, memory_hints, merge
from streams.rules.numa.memory_checkpoint import MemoryNode
from streams.rules.numa.topology import NumaTopology

Policy: TypeAlias = Literal["none", "best-effort", "restricted", "single-numa-node"]
Scope: TypeAlias = Literal["container", "pod"]

MOST_NUMA_NODES: Final = 8
"""Above this the kubelet does not start with a policy but none, unless `max-allowable-numa-nodes` says more."""


class Settings(NamedTuple):
    """The kubelet's settings that decide, in its own words."""

    topology_policy: Policy = "none"
    topology_scope: Scope = "container"
    cpu_policy: str = "static"
    full_pcpus_only: bool = False
    prefer_closest: bool = False
    max_numa_nodes: int = MOST_NUMA_NODES


class Devices(NamedTuple):
    """Devices of one resource by NUMA node."""

    total: dict[int, int]
    available: dict[int, int]


class Machine(NamedTuple):
    topology: NumaTopology
    free: frozenset[int]
    """CPUs that are neither reserved nor held exclusively."""
    memory: dict[int, MemoryNode] = {}  # noqa: RUF012  a NamedTuple's default; nobody mutates it
    """Empty where the memory manager's policy is not Static, or unknown."""
    devices: dict[str, Devices] = {}  # noqa: RUF012  as above
    distances: dict[int, dict[int, int]] = {}  # noqa: RUF012  as above
    """Of each NUMA node to the others (10 is local)."""


class Request(NamedTuple):
    """What a container asks for; exclusive CPUs are 0 where it is not pinned."""

    cpus: int = 0
    memory_bytes: dict[str, int] = {}  # noqa: RUF012  as above
    """By memory type: `memory`, `hugepages-2Mi`."""
    devices: dict[str, int] = {}  # noqa: RUF012  as above


class Admission(NamedTuple):
    admitted: bool
    reason: str
    """`TopologyAffinityError`, `SMTAlignmentError` or `UnexpectedAdmissionError`; empty where admitted, and where the
    kubelet would not even start.
    """
    message: str
    hint: Hint
    """The merged hint of the container that decided; any affinity where the policy is none."""
    cpus: tuple[frozenset[int], ...]
    """What each container would get, as far as it went."""


_ANY: Final = Hint(None, preferred=True)


def admit(machine: Machine, settings: Settings, containers: Sequence[Request]) -> Admission:
    """Whether a kubelet with this machine and these settings admits a pod of these (app) containers.

    With scope pod the hints are those of the sum of all containers. Devices and memory are asked for their NUMA
    nodes only; of CPUs it is followed which ones each container takes, so that the next sees what is left.
    """
    numa_nodes = [node.numa_node for node in machine.topology.numa_nodes]
    if settings.topology_policy != "none" and len(numa_nodes) > settings.max_numa_nodes:
        text = f"unsupported on machines with more than {settings.max_numa_nodes} NUMA Nodes"
        return Admission(admitted=False, reason="", message=text, hint=_ANY, cpus=())
    hint, free, given = _ANY, machine.free, list[frozenset[int]]()
    pod_hint = _merged_hint(machine, settings, free, _sum(containers)) if settings.topology_scope == "pod" else None
    for container in containers:
        hint = pod_hint or _merged_hint(machine, settings, free, container)
        if settings.topology_policy in {"restricted", "single-numa-node"} and not hint.preferred:
            text = "Resources cannot be allocated with Topology locality"
            return Admission(
                admitted=False, reason="TopologyAffinityError", message=text, hint=hint, cpus=tuple(given)
            )
        reason, message = _refusal(machine, settings, free, container.cpus)
        if reason:
            return Admission(admitted=False, reason=reason, message=message, hint=hint, cpus=tuple(given))
        taken = take_cpus(machine.topology, free, container.cpus, hint.affinity)
        free -= taken
        given.append(taken)
    return Admission(admitted=True, reason="", message="", hint=hint, cpus=tuple(given))


def take_cpus(topology: NumaTopology, free: frozenset[int], count: int, affinity: Affinity | None) -> frozenset[int]:
    """The CPUs that the static policy picks: first within the affinity, then anywhere; whole NUMA nodes, then whole
    cores, then single threads, each where least is free. The caller has checked that enough are free.
    """
    aligned = free & frozenset().union(
        *(node.cpus for node in topology.numa_nodes if affinity is None or node.numa_node in affinity)
    )
    taken = _pack(topology, aligned, min(count, len(aligned)))
    return taken | _pack(topology, free - taken, count - len(taken))


def _merged_hint(machine: Machine, settings: Settings, free: frozenset[int], request: Request) -> Hint:
    if settings.topology_policy == "none":
        return _ANY
    nodes = machine.topology.numa_nodes
    cpus: Hints = None
    if settings.cpu_policy == "static":
        total = {node.numa_node: len(node.cpus) for node in nodes}
        cpus = amount_hints(total, {node.numa_node: len(node.cpus & free) for node in nodes}, request.cpus)
    memory = memory_hints(machine.memory, request.memory_bytes) if machine.memory else None
    devices = [
        amount_hints(machine.devices[name].total, machine.devices[name].available, count)
        for name, count in sorted(request.devices.items())
        if name in machine.devices
    ]
    return merge(
        (node.numa_node for node in nodes),
        [cpus, memory, *devices],
        single_numa=settings.topology_policy == "single-numa-node",
        distances=machine.distances if settings.prefer_closest else None,
    )


def _refusal(machine: Machine, settings: Settings, free: frozenset[int], cpus: int) -> tuple[str, str]:
    """Reason and message with which the CPU manager refuses a container, or two empty texts."""
    if settings.cpu_policy != "static" or not cpus:
        return "", ""
    threads = machine.topology.threads_per_core
    if settings.full_pcpus_only:
        if cpus % threads:
            text = f"SMT Alignment Error: requested {cpus} cpus not multiple cpus per core = {threads}"
            return "SMTAlignmentError", text
        whole = sum(len(core) for node in machine.topology.numa_nodes for core in node.cores if core <= free)
        if cpus > whole:
            text = (
                "SMT Alignment Error: not enough free physical CPUs: "
                f"available physical CPUs = {whole}, requested CPUs = {cpus}, CPUs per core = {threads}"
            )
            return "SMTAlignmentError", text
    if cpus > len(free):
        text = f"not enough cpus available to satisfy request: requested={cpus}, available={len(free)}"
        return "UnexpectedAdmissionError", f"Allocate failed due to {text}, which is unexpected"
    return "", ""


def _pack(topology: NumaTopology, free: frozenset[int], count: int) -> frozenset[int]:
    taken: set[int] = set()
    nodes = sorted(topology.numa_nodes, key=lambda node: (len(node.cpus & free), node.numa_node))
    for node in nodes:
        if node.cpus <= free and len(node.cpus) <= count - len(taken):
            taken |= node.cpus
    cores = [core for node in nodes for core in node.cores]
    for core in cores:
        if core <= free - taken and len(core) <= count - len(taken):
            taken |= core
    threads = (sorted(core & free) for core in sorted(cores, key=lambda core: len(core & free)))
    for cpu in (cpu for core in threads for cpu in core):
        if len(taken) < count:
            taken.add(cpu)
    return frozenset(taken)


def _sum(containers: Sequence[Request]) -> Request:
    return Request(
        sum(container.cpus for container in containers),
        _added([container.memory_bytes for container in containers]),
        _added([container.devices for container in containers]),
    )


def _added(amounts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in amounts:
        for name, amount in each.items():
            total[name] = total.get(name, 0) + amount
    return total
