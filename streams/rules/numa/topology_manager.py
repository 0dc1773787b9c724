"""Would the kubelet admit a pod with exclusive CPUs, and if not, in which words would it fail
(rules: topology-manager).

Kubernetes: pkg/kubelet/cm/topologymanager/{scope_container,scope_pod,policy_*,policy_options,topology_manager}.go,
pkg/kubelet/cm/cpumanager/policy_static.go.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from streams.rules.numa.cpu_assignment import Assignment, NotEnoughCpus, sockets_of, take_cpus
from streams.rules.numa.hints import Affinity, Hint, Hints, amount_hints, fewest, memory_hints, merge
from streams.rules.numa.memory_checkpoint import MemoryNode
from streams.rules.numa.memory_manager import NoMemory, memory_affinity, reserve
from streams.rules.numa.topology import NumaTopology

Policy: TypeAlias = Literal["none", "best-effort", "restricted", "single-numa-node"]
Scope: TypeAlias = Literal["container", "pod"]

MOST_NUMA_NODES: Final = 8
"""Above this the kubelet does not start with a policy but none, unless `max-allowable-numa-nodes` allows more."""


class Settings(NamedTuple):
    """The kubelet's settings that decide, in its own words."""

    topology_policy: Policy = "none"
    topology_scope: Scope = "container"
    cpu_policy: str = "static"
    assignment: Assignment = Assignment()
    prefer_uncore_cache: bool = False
    """`prefer-align-cpus-by-uncorecache`: without a hint of one NUMA node, which CPUs it picks is not known here."""
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
    reserved: frozenset[int] = frozenset()
    """CPUs that the kubelet reserves; empty where no source names them."""
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
    machine: Machine
    """What is left of it; where the pod is refused, the machine as it was."""
    is_certain: bool = True
    """Whether the kubelet would pick CPUs of the same NUMA nodes."""


_ANY: Final = Hint(None, preferred=True)


class _Refused(Exception):
    """Why the pod is refused: reason and message."""


def admit(machine: Machine, settings: Settings, containers: Sequence[Request]) -> Admission:
    """Whether a kubelet with this machine and these settings admits a pod of these (app) containers.

    With scope pod the hints are those of the sum of all containers. Each container takes CPUs, memory and devices,
    and the next sees what is left.
    """
    numa_nodes = [node.numa_node for node in machine.topology.numa_nodes]
    if settings.topology_policy != "none" and len(numa_nodes) > settings.max_numa_nodes:
        text = f"unsupported on machines with more than {settings.max_numa_nodes} NUMA Nodes"
        return Admission(admitted=False, reason="", message=text, hint=_ANY, cpus=(), machine=machine)
    hint, left, given, is_certain = _ANY, machine, list[frozenset[int]](), True
    pod_hint = _merged_hint(machine, settings, _sum(containers)) if settings.topology_scope == "pod" else None
    try:
        for container in containers:
            hint = pod_hint or _merged_hint(left, settings, container)
            _check(settings, hint)
            cpus = _cpus(left, settings, container.cpus, hint.affinity)
            is_certain = is_certain and not (cpus and _is_open(left, settings, hint.affinity))
            left = _memory(left, settings, container, hint)
            left = left._replace(free=left.free - cpus, devices=_devices(left, container, hint))
            given.append(cpus)
    except _Refused as refused:
        reason, message = refused.args
        return Admission(
            admitted=False, reason=reason, message=message, hint=hint, cpus=tuple(given), machine=machine
        )
    return Admission(
        admitted=True, reason="", message="", hint=hint, cpus=tuple(given), machine=left, is_certain=is_certain
    )


def whole_core_cpus(machine: Machine) -> frozenset[int]:
    """What `full-pcpus-only` gives: all free CPUs, half-free cores too, but those of a core with a reserved CPU."""
    return machine.free - machine.topology.siblings(machine.reserved)


def _merged_hint(machine: Machine, settings: Settings, request: Request) -> Hint:
    if settings.topology_policy == "none":
        return _ANY
    memory = memory_hints(machine.memory, request.memory_bytes) if machine.memory else None
    devices = [
        amount_hints(machine.devices[name].total, machine.devices[name].available, count)
        for name, count in sorted(request.devices.items())
        if name in machine.devices
    ]
    return merge(
        (node.numa_node for node in machine.topology.numa_nodes),
        # No hints at all of the memory manager are no opinion: that there is no memory is seen when it is reserved.
        [_cpu_hints(machine, settings, request.cpus), memory or None, *devices],
        single_numa=settings.topology_policy == "single-numa-node",
        distances=machine.distances if settings.prefer_closest else None,
    )


def _check(settings: Settings, hint: Hint) -> None:
    if settings.topology_policy in {"restricted", "single-numa-node"} and not hint.preferred:
        raise _Refused("TopologyAffinityError", "Resources cannot be allocated with Topology locality")


def _cpu_hints(machine: Machine, settings: Settings, cpus: int) -> Hints:
    if settings.cpu_policy != "static":
        return None
    nodes = machine.topology.numa_nodes
    total = {node.numa_node: len(node.cpus) for node in nodes}
    hints = amount_hints(total, {node.numa_node: len(node.cpus & machine.free) for node in nodes}, cpus)
    if hints is None or not settings.assignment.by_socket:
        return hints
    numa_per_socket = len(nodes) // len(sockets_of(machine.topology, frozenset(total)))
    sockets = -(-fewest(total, cpus) // numa_per_socket) if numa_per_socket else None
    return tuple(
        hint._replace(
            preferred=hint.preferred or len(sockets_of(machine.topology, hint.affinity or frozenset())) == sockets
        )
        for hint in hints
    )


def _cpus(machine: Machine, settings: Settings, cpus: int, affinity: Affinity | None) -> frozenset[int]:
    """The CPUs that the CPU Manager gives a container; raises _Refused."""
    if settings.cpu_policy != "static" or not cpus:
        return frozenset()
    threads = machine.topology.threads_per_core
    if settings.assignment.whole_cores:
        text = "SMT Alignment Error: "
        if cpus % threads:
            text += f"requested {cpus} cpus not multiple cpus per core = {threads}"
            raise _Refused("SMTAlignmentError", text)
        whole = len(whole_core_cpus(machine))
        if cpus > whole:
            text += f"not enough free physical CPUs: available physical CPUs = {whole}, "
            text += f"requested CPUs = {cpus}, CPUs per core = {threads}"
            raise _Refused("SMTAlignmentError", text)
    try:
        return take_cpus(machine.topology, machine.free, cpus, affinity, settings.assignment)
    except NotEnoughCpus as error:
        raise _unexpected(error) from None


def _is_open(machine: Machine, settings: Settings, affinity: Affinity | None) -> bool:
    """Whether the caches, which are not known, decide between NUMA nodes."""
    able = {node.numa_node for node in machine.topology.numa_nodes if node.cpus & machine.free}
    return settings.prefer_uncore_cache and len(able if affinity is None else able & affinity) > 1


def _memory(machine: Machine, settings: Settings, container: Request, hint: Hint) -> Machine:
    """The machine with a container's memory reserved; raises _Refused."""
    wanted = {kind: size for kind, size in container.memory_bytes.items() if size > 0}
    if not machine.memory or not wanted:
        return machine
    if settings.topology_policy == "none":
        hint = hint._replace(preferred=False)
    try:
        affinity = memory_affinity(machine.memory, wanted, hint)
    except NoMemory as error:
        raise _unexpected(error) from None
    return machine._replace(memory=reserve(machine.memory, affinity, wanted))


def _devices(machine: Machine, container: Request, hint: Hint) -> dict[str, Devices]:
    """The devices that are left: taken of the hint's NUMA nodes, then of the lowest others."""
    devices = dict(machine.devices)
    for name in container.devices.keys() & devices.keys():
        left, count = dict(devices[name].available), container.devices[name]
        for numa in sorted(left, key=lambda numa: (numa not in (hint.affinity or ()), numa)):
            part = min(count, left[numa])
            left[numa] -= part
            count -= part
        devices[name] = devices[name]._replace(available=left)
    return devices


def _unexpected(error: Exception) -> _Refused:
    return _Refused("UnexpectedAdmissionError", f"Allocate failed due to {error}, which is unexpected")


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
