"""Decides whether the kubelet would admit a pod with exclusive CPUs, and if not, with which reason and message
(rules: topology-manager).

Kubernetes: pkg/kubelet/cm/topologymanager/{scope_container,scope_pod,policy_*,policy_options,topology_manager}.go,
pkg/kubelet/cm/cpumanager/policy_static.go.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Final, Literal, NamedTuple, TypeAlias

from streams.rules.numa.cpu_assignment import NotEnoughCpus, StaticPolicyOptions, sockets_of, take_cpus
from streams.rules.numa.hints import Affinity, Hint, Hints, amount_hints, fewest, memory_hints, merge
from streams.rules.numa.memory_checkpoint import MemoryNode
from streams.rules.numa.memory_manager import NoMemory, memory_affinity, reserve
from streams.rules.numa.topology import NumaTopology

Policy: TypeAlias = Literal["none", "best-effort", "restricted", "single-numa-node"]
Scope: TypeAlias = Literal["container", "pod"]

MOST_NUMA_NODES: Final = 8
"""The kubelet refuses to start on more NUMA nodes with a policy other than none, unless `max-allowable-numa-nodes`
allows them.
"""


class Settings(NamedTuple):
    """Kubelet settings that affect admission, with the kubelet's values."""

    topology_policy: Policy = "none"
    topology_scope: Scope = "container"
    cpu_policy: str = "static"
    assignment: StaticPolicyOptions = StaticPolicyOptions()
    prefer_uncore_cache: bool = False
    """`prefer-align-cpus-by-uncorecache`: the NUMA nodes of its CPUs are known only if a single NUMA node of the
    affinity has free CPUs. The CPUs themselves are unknown."""
    prefer_closest: bool = False
    """`prefer-closest-numa-nodes`; `fit_machine` leaves it off, because no table stores the distances."""
    max_numa_nodes: int = MOST_NUMA_NODES


class Devices(NamedTuple):
    """Number of devices of one resource by NUMA node."""

    total: dict[int, int]
    available: dict[int, int]


class Machine(NamedTuple):
    topology: NumaTopology
    free: frozenset[int]
    """CPUs that are neither reserved nor held exclusively."""
    reserved: frozenset[int] = frozenset()
    """CPUs that the kubelet reserves; empty if no source names them."""
    memory: dict[int, MemoryNode] = {}  # noqa: RUF012  a NamedTuple's default; nobody mutates it
    """Empty if the memory manager's policy is not Static, or unknown."""
    devices: dict[str, Devices] = {}  # noqa: RUF012  as above
    distances: dict[int, dict[int, int]] = {}  # noqa: RUF012  as above
    """Distance of each NUMA node to the others (10 is local)."""


class Request(NamedTuple):
    """Requests of a container; exclusive CPUs are 0 if it is not pinned."""

    cpus: int = 0
    memory_bytes: dict[str, int] = {}  # noqa: RUF012  as above
    """Requests by memory type: `memory`, `hugepages-2Mi`."""
    devices: dict[str, int] = {}  # noqa: RUF012  as above
    is_init: bool = False
    """True if it ends before the next container starts, which then reuses its resources; a sidecar does not end."""


class Admission(NamedTuple):
    admitted: bool
    reason: str
    """The kubelet's reason, such as `SMTAlignmentError`; empty if admitted, or if the kubelet would not start."""
    message: str
    hint: Hint
    """The merged hint: of the pod with scope `pod`, else of the container that was refused, or of the last one if
    all were admitted. Any affinity with policy `none`.
    """
    cpus: tuple[frozenset[int], ...]
    """CPUs of each container, before the one that was refused."""
    machine: Machine
    """The remaining machine; if the pod is refused, the unchanged machine."""
    is_certain: bool = True
    """True if the kubelet would pick CPUs of the same NUMA nodes."""


_ANY: Final = Hint(None, preferred=True)


class _Refused(Exception):
    """Reason and message of the kubelet's rejection."""


class _Reuse(NamedTuple):
    """Resources of the pod's init containers, for later containers."""

    cpus: frozenset[int] = frozenset()
    devices: dict[str, dict[int, int]] = {}  # noqa: RUF012  as above

    def cpus_per_numa_node(self, machine: Machine) -> dict[int, int]:
        return {node.numa_node: len(node.cpus & self.cpus) for node in machine.topology.numa_nodes}


_NO_REUSE: Final = _Reuse()


def admit(machine: Machine, settings: Settings, containers: Sequence[Request]) -> Admission:
    """Decide whether a kubelet with this machine and these settings admits a pod of these containers, init
    containers first.

    With scope pod the hints are those of the whole pod. Each container takes CPUs, memory and devices, and the next
    one sees the rest. Later containers can reuse CPUs and devices of init containers. With scope container and a
    policy other than none, hints for CPUs and devices then cover the NUMA nodes of all reusable ones.
    """
    numa_nodes = [node.numa_node for node in machine.topology.numa_nodes]
    if settings.topology_policy != "none" and len(numa_nodes) > settings.max_numa_nodes:
        text = f"unsupported on machines with more than {settings.max_numa_nodes} NUMA Nodes"
        return Admission(admitted=False, reason="", message=text, hint=_ANY, cpus=(), machine=machine)
    hint, left, given, is_certain = _ANY, machine, list[frozenset[int]](), True
    pod_hint = _merged_hint(machine, settings, _pod_request(containers)) if settings.topology_scope == "pod" else None
    reuse = _NO_REUSE
    try:
        for container in containers:
            hint = pod_hint or _merged_hint(left, settings, container, reuse)
            _refuse_unaligned(settings, hint)
            cpus = _cpus(left, settings, container.cpus, hint.affinity, reuse.cpus)
            is_certain = is_certain and not (cpus and _may_choose_numa_node(left, settings, hint.affinity))
            after = _memory(left, settings, container, hint)
            devices = _devices(left, container, hint, reuse)
            reuse = _next_reuse(reuse, container, cpus, left, devices)
            # memory of an init container is free for the next one again
            left = (left if container.is_init else after)._replace(free=left.free - cpus, devices=devices)
            given.append(cpus)
    except _Refused as refused:
        reason, message = refused.args
        return Admission(
            admitted=False, reason=reason, message=message, hint=hint, cpus=tuple(given), machine=machine
        )
    left = _release_unused(left, reuse)
    return Admission(
        admitted=True, reason="", message="", hint=hint, cpus=tuple(given), machine=left, is_certain=is_certain
    )


def _next_reuse(
    reuse: _Reuse, container: Request, cpus: frozenset[int], before: Machine, after: Mapping[str, Devices]
) -> _Reuse:
    """Return the reusable resources after a container: an init container adds to them, another one uses them up."""
    if not container.is_init:
        held = dict(reuse.devices)
        for name in container.devices.keys() & held.keys():
            held[name] = _take_devices(held[name], container.devices[name])[0]
        return _Reuse(reuse.cpus - cpus, held)
    held = dict(reuse.devices)
    for name in container.devices.keys() & after.keys():
        was, now = before.devices[name].available, after[name].available
        known = held.get(name, {})
        held[name] = {numa: known.get(numa, 0) + was[numa] - now[numa] for numa in was}
    return _Reuse(reuse.cpus | cpus, held)


def _take_devices(
    held: Mapping[int, int], count: int, first: AbstractSet[int] = frozenset()
) -> tuple[dict[int, int], int]:
    """Return the devices that remain once `count` are taken, those in `first` first, and how many are missing."""
    left = dict(held)
    for numa in sorted(left, key=lambda numa: (numa not in first, numa)):
        part = min(count, left[numa])
        left[numa] -= part
        count -= part
    return left, count


def _release_unused(machine: Machine, reuse: _Reuse) -> Machine:
    """Return the machine after the init containers: resources that no later container reused are free."""
    devices = dict(machine.devices)
    for name, held in reuse.devices.items():
        free = devices[name].available
        devices[name] = devices[name]._replace(available={numa: free[numa] + held.get(numa, 0) for numa in free})
    return machine._replace(free=machine.free | reuse.cpus, devices=devices)


def whole_core_cpus(machine: Machine) -> frozenset[int]:
    """Return the CPUs that `full-pcpus-only` gives: all free ones but those of a core with a reserved CPU."""
    return machine.free - machine.topology.siblings(machine.reserved)


def _merged_hint(machine: Machine, settings: Settings, request: Request, reuse: _Reuse = _NO_REUSE) -> Hint:
    if settings.topology_policy == "none":
        return _ANY
    memory = memory_hints(machine.memory, request.memory_bytes) if machine.memory else None
    devices = [
        amount_hints(machine.devices[name].total, machine.devices[name].available, count, reuse.devices.get(name, {}))
        for name, count in sorted(request.devices.items())
        if name in machine.devices
    ]
    return merge(
        (node.numa_node for node in machine.topology.numa_nodes),
        # Without any hints the memory manager has no preference; reserving shows whether memory is missing.
        [_cpu_hints(machine, settings, request.cpus, reuse), memory or None, *devices],
        single_numa=settings.topology_policy == "single-numa-node",
        distances=machine.distances if settings.prefer_closest else None,
    )


def _refuse_unaligned(settings: Settings, hint: Hint) -> None:
    if settings.topology_policy in {"restricted", "single-numa-node"} and not hint.preferred:
        raise _Refused("TopologyAffinityError", "Resources cannot be allocated with Topology locality")


def _cpu_hints(machine: Machine, settings: Settings, cpus: int, reuse: _Reuse) -> Hints:
    if settings.cpu_policy != "static":
        return None
    nodes = machine.topology.numa_nodes
    total = {node.numa_node: len(node.cpus) for node in nodes}
    free = {node.numa_node: len(node.cpus & machine.free) for node in nodes}
    hints = amount_hints(total, free, cpus, reuse.cpus_per_numa_node(machine))
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


def _cpus(
    machine: Machine, settings: Settings, cpus: int, affinity: Affinity | None, reusable: frozenset[int]
) -> frozenset[int]:
    """Return the CPUs that the CPU Manager gives a container from those that are free or reusable; raises
    _Refused.
    """
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
        return take_cpus(machine.topology, machine.free | reusable, cpus, affinity, settings.assignment)
    except NotEnoughCpus as error:
        raise _unexpected(error) from None


def _may_choose_numa_node(machine: Machine, settings: Settings, affinity: Affinity | None) -> bool:
    able = {node.numa_node for node in machine.topology.numa_nodes if node.cpus & machine.free}
    return settings.prefer_uncore_cache and len(able if affinity is None else able & affinity) > 1


def _memory(machine: Machine, settings: Settings, container: Request, hint: Hint) -> Machine:
    requested = {kind: size for kind, size in container.memory_bytes.items() if size > 0}
    if not machine.memory or not requested:
        return machine
    if settings.topology_policy == "none":
        hint = hint._replace(preferred=False)
    try:
        affinity = memory_affinity(machine.memory, requested, hint)
    except NoMemory as error:
        raise _unexpected(error) from None
    return machine._replace(memory=reserve(machine.memory, affinity, requested))


def _devices(machine: Machine, container: Request, hint: Hint, reuse: _Reuse) -> dict[str, Devices]:
    """Return the devices that remain. The container gets reusable ones first, then those of the hint's NUMA nodes,
    then those of the lowest other NUMA nodes.
    """
    devices = dict(machine.devices)
    for name in container.devices.keys() & devices.keys():
        _, count = _take_devices(reuse.devices.get(name, {}), container.devices[name])
        left, _ = _take_devices(devices[name].available, count, hint.affinity or frozenset())
        devices[name] = devices[name]._replace(available=left)
    return devices


def _unexpected(error: Exception) -> _Refused:
    return _Refused("UnexpectedAdmissionError", f"Allocate failed due to {error}, which is unexpected")


def _pod_request(containers: Sequence[Request]) -> Request:
    """Return the most that the pod requests at a time: its app containers and sidecars, or one init container with
    the sidecars started before it.
    """
    running = [[each for each in containers[:at] if not each.is_init] for at in range(len(containers) + 1)]
    starting = [[*before, each] for before, each in zip(running, containers, strict=False) if each.is_init]
    return _total([_total(each, sum) for each in (running[-1], *starting)], max)


def _total(requests: Sequence[Request], combine: Callable[[Iterable[int]], int]) -> Request:
    """Combine requests by resource name: `combine` is `sum` or `max`."""

    def by_name(amounts: Sequence[Mapping[str, int]]) -> dict[str, int]:
        return {name: combine(each.get(name, 0) for each in amounts) for name in dict.fromkeys(chain(*amounts))}

    return Request(
        combine(each.cpus for each in requests),
        by_name([each.memory_bytes for each in requests]),
        by_name([each.devices for each in requests]),
    )
