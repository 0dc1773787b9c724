"""Reads API objects and annotations about NUMA nodes: NodeResourceTopology, koordinator, Volcano, Crane
(rules: noderesourcetopology, koordinator, crane-and-volcano). Every function raises BadRecord for what it cannot
read.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from common.amounts import counted
from common.errors import BadRecord
from ingest.model.cpuset import InvalidCpuSet, parse_cpuset
from ingest.model.machine import Cpu
from ingest.model.numbers import Int64
from ingest.model.objects.base import Quantity
from ingest.model.objects.pod import PodAnnotations
from streams.rules.numa.sources import CRANE, KOORDINATOR, NRT, VOLCANO, Amount, Holder, NumaView, NumaZone, numa_id
from streams.rules.values.quantity import NANO, InvalidQuantity, base_units, nano_units


class Object(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the types below; fields that are not named here are dropped."""


class Named(Object, frozen=True):
    name: str
    value: str | Int64


class Resource(Object, frozen=True):
    name: str
    capacity: Quantity | None = None
    allocatable: Quantity | None = None
    available: Quantity | None = None


class Zone(Object, frozen=True):
    name: str
    type: str = "Node"
    costs: list[Named] | None = None
    resources: list[Resource] | None = None


class NrtAnnotations(Object, frozen=True, rename=None):
    cpu_topology: str = msgspec.field(default="", name="node.koordinator.sh/cpu-topology")
    pod_cpu_allocs: str = msgspec.field(default="", name="node.koordinator.sh/pod-cpu-allocs")
    cpu_manager_policy: str = msgspec.field(default="", name="kubelet.koordinator.sh/cpu-manager-policy")
    reservation: str = msgspec.field(default="", name="node.koordinator.sh/reservation")


class Metadata(Object, frozen=True):
    name: str = ""
    labels: dict[str, str] | None = None
    annotations: NrtAnnotations | None = None


class Nrt(Object, frozen=True):
    metadata: Metadata = Metadata()
    topology_policies: list[str] | None = None
    attributes: list[Named] | None = None
    zones: list[Zone] | None = None


class KoordinatorCpu(Object, frozen=True):
    id: Int64
    core: Int64
    socket: Int64
    node: Int64


class KoordinatorTopology(Object, frozen=True):
    detail: list[KoordinatorCpu]


class KoordinatorAlloc(Object, frozen=True):
    namespace: str = ""
    name: str = ""
    uid: str = ""
    cpuset: str = ""


class KoordinatorPolicy(Object, frozen=True):
    policy: str = ""
    reserved_cpus: str = msgspec.field(default="", name="reservedCPUs")


class KoordinatorReservation(Object, frozen=True):
    reserved_cpus: str = msgspec.field(default="", name="reservedCPUs")


class KoordinatorStatus(Object, frozen=True):
    cpuset: str = ""


class VolcanoPolicies(Object, frozen=True, rename=None):
    cpu: str = msgspec.field(default="", name="CPUManagerPolicy")
    topology: str = msgspec.field(default="", name="TopologyManagerPolicy")


class VolcanoCpu(Object, frozen=True):
    numa: Int64 = 0
    socket: Int64 = 0
    core: Int64 = 0


class VolcanoContainer(Object, frozen=True):
    name: str = ""
    allocations: dict[str, str] | None = None


class VolcanoPod(Object, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    container_allocations: list[VolcanoContainer] | None = None


class VolcanoSpec(Object, frozen=True):
    policies: VolcanoPolicies | None = None
    numares: dict[str, dict[str, Any]] | None = None
    cpu_detail: dict[str, VolcanoCpu] | None = None
    pod_allocations: list[VolcanoPod] | None = None


class Volcano(Object, frozen=True):
    metadata: Metadata = Metadata()
    spec: VolcanoSpec = VolcanoSpec()


class CraneResources(Object, frozen=True):
    capacity: dict[str, Quantity] | None = None
    allocatable: dict[str, Quantity] | None = None
    reserved_cpu_nums: Int64 | None = msgspec.field(default=None, name="reservedCPUNums")


class CraneZone(Object, frozen=True):
    name: str
    type: str = "Node"
    resources: CraneResources | None = None


class CranePolicy(Object, frozen=True):
    cpu_manager_policy: str = ""
    topology_manager_policy: str = ""


class Crane(Object, frozen=True):
    metadata: Metadata = Metadata()
    crane_manager_policy: CranePolicy | None = None
    zones: list[CraneZone] | None = None


class TypeMeta(Object, frozen=True):
    api_version: str = ""
    kind: str = ""


T = TypeVar("T")


def decoded(text: str, kind: type[T], what: str) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise BadRecord("bad_numa_source", f"{what}: {error}") from None


def distinct(zones: Iterable[NumaZone]) -> tuple[NumaZone, ...]:
    """Return the zones sorted by id, because exporters write them in any order; raises for a repeated one."""
    ordered = sorted(zones, key=lambda zone: zone.numa_node)
    if len({zone.numa_node for zone in ordered}) < len(ordered):
        raise BadRecord("bad_numa_source", "a NUMA node is named twice")
    return tuple(ordered)


def managed_by(metadata: Metadata) -> str:
    labels: Mapping[str, str] = metadata.labels or {}
    return labels.get("app.kubernetes.io/managed-by", "")


def number_of_cpus(quantity: Quantity) -> int:
    try:
        nanos = nano_units(quantity)
    except InvalidQuantity as error:
        raise BadRecord("bad_numa_source", str(error)) from None
    if nanos % NANO or nanos < 0:
        raise BadRecord("bad_numa_source", f"{quantity!r:.64} is not a whole number of CPUs")
    return nanos // NANO


def cpu_list(text: str) -> frozenset[int]:
    try:
        return parse_cpuset(text)
    except InvalidCpuSet as error:
        raise BadRecord("bad_numa_source", str(error)) from None


def distance(value: str | int) -> int:
    text = str(value)
    if not (text.isascii() and text.isdecimal()):
        raise BadRecord("bad_numa_source", f"{text[:64]!r} is not a distance between NUMA nodes")
    return int(text[:9])


_ZONE_PREFIXES: Final = ("node-", "node")
_POLICY_NAMES: Final = {
    "None": ("none", ""),
    "BestEffort": ("best-effort", "container"),
    "BestEffortContainerLevel": ("best-effort", "container"),
    "BestEffortPodLevel": ("best-effort", "pod"),
    "Restricted": ("restricted", "container"),
    "RestrictedContainerLevel": ("restricted", "container"),
    "RestrictedPodLevel": ("restricted", "pod"),
    "SingleNUMANode": ("single-numa-node", "container"),
    "SingleNUMANodeContainerLevel": ("single-numa-node", "container"),
    "SingleNUMANodePodLevel": ("single-numa-node", "pod"),
}
"""`topologyPolicies` of the NRT in the kubelet's words: policy and scope."""


def parse_topology_object(text: str) -> NumaView:
    """Parse the JSON of a NodeResourceTopology (of Kubernetes' or Crane's group) or of a Volcano Numatopology."""
    meta = decoded(text, TypeMeta, "topology object")
    group = meta.api_version.partition("/")[0]
    if group == "topology.crane.io":
        return _crane(decoded(text, Crane, "crane topology"))
    if group == "nodeinfo.volcano.sh":
        return _volcano(decoded(text, Volcano, "Numatopology"))
    if group in {"topology.node.k8s.io", ""}:
        nrt = decoded(text, Nrt, "NodeResourceTopology")
        annotations = nrt.metadata.annotations
        return _koordinator(nrt, annotations) if annotations and annotations.cpu_topology else _node_zones(nrt)
    raise BadRecord("bad_numa_source", f"{group[:64]!r} is not an API group of a node's topology")


def koordinator_cpus(annotations: PodAnnotations) -> frozenset[int]:
    """Return the CPUs that koordinator's scheduler gave a pod (rules: koordinator); empty if it gave none."""
    if not annotations.koordinator_resource_status:
        return frozenset()
    status = decoded(annotations.koordinator_resource_status, KoordinatorStatus, "resource-status")
    return cpu_list(status.cpuset)


def crane_cpus(annotations: PodAnnotations) -> dict[int, int]:
    """Return exclusive CPUs by NUMA node that Crane's scheduler gave a pod (rules: crane-and-volcano): counts, unless
    the pod's policy shares them (`none`, `numa`, `immovable`).
    """
    if not annotations.crane_topology_result or annotations.crane_cpu_policy not in {"", "exclusive"}:
        return {}
    zones = decoded(annotations.crane_topology_result, list[CraneZone], "topology-result")
    return {
        numa_id(zone.name, _ZONE_PREFIXES): number_of_cpus(zone.resources.capacity["cpu"])
        for zone in zones
        if zone.type == "Node" and zone.resources and zone.resources.capacity and "cpu" in zone.resources.capacity
    }


def with_crane_pods(crane: NumaView | None, pods: Mapping[str, Mapping[int, int]]) -> NumaView:
    """Return Crane's view of a node with its pods' CPUs, by pod uid and NUMA node (`crane_cpus`)."""
    held: Counter[int] = Counter()
    for counts in pods.values():
        held.update(counts)
    view = crane or NumaView(source=CRANE, fidelity="count", producer="crane")
    known = {zone.numa_node: zone for zone in view.zones}
    zones = (known.get(numa, NumaZone(numa))._replace(exclusive_cpus=held[numa]) for numa in {*known, *held})
    return view._replace(zones=tuple(sorted(zones, key=lambda zone: zone.numa_node)))


def _node_zones(nrt: Nrt) -> NumaView:
    zones = distinct(_zone(zone) for zone in nrt.zones or () if zone.type == "Node")
    policy, scope = _policy(nrt)
    return NumaView(
        source=NRT,
        fidelity="count",
        producer=managed_by(nrt.metadata),
        zones=zones,
        topology_manager_policy=policy,
        topology_manager_scope=scope,
    )


def _zone(zone: Zone) -> NumaZone:
    resources = {resource.name: resource for resource in zone.resources or ()}
    numa = numa_id(zone.name, _ZONE_PREFIXES)
    amounts = {name: _amount(r, base_units) for name, r in resources.items() if name != "cpu"}
    distances = {numa_id(c.name, _ZONE_PREFIXES): distance(c.value) for c in zone.costs or ()}
    if "cpu" not in resources:
        # A NUMA node of memory alone: it has no CPUs, which is not the same as unknown.
        return NumaZone(numa, 0, 0, 0, amounts, distances)
    cpu = _amount(resources["cpu"], number_of_cpus)
    exclusive = None if cpu.available is None else cpu.allocatable - cpu.available
    return NumaZone(numa, cpu.capacity, cpu.capacity - cpu.allocatable, exclusive, amounts, distances)


def _amount(resource: Resource, parse: Callable[[Quantity], int]) -> Amount:
    first = resource.allocatable if resource.capacity is None else resource.capacity
    second = resource.capacity if resource.allocatable is None else resource.allocatable
    if first is None or second is None:
        raise BadRecord("bad_numa_source", f"{resource.name[:64]!r} of a zone has neither capacity nor allocatable")
    try:
        capacity, allocatable = parse(first), parse(second)
        available = None if resource.available is None else parse(resource.available)
    except InvalidQuantity as error:
        raise BadRecord("bad_numa_source", f"{resource.name[:64]!r} of a zone: {error}") from None
    if not 0 <= (available or 0) <= allocatable <= capacity:
        raise BadRecord(
            "bad_numa_source",
            f"{resource.name[:64]!r} of a zone has capacity {capacity}, allocatable {allocatable}, "
            f"available {available}: more than there is",
        )
    return Amount(capacity, allocatable, available)


def _policy(nrt: Nrt) -> tuple[str, str]:
    policy, scope = _POLICY_NAMES.get((nrt.topology_policies or [""])[0], ("", ""))
    attributes = {attribute.name: str(attribute.value) for attribute in nrt.attributes or ()}
    return attributes.get("topologyManagerPolicy", policy), attributes.get("topologyManagerScope", scope)


def _koordinator(nrt: Nrt, annotations: NrtAnnotations) -> NumaView:
    detail = decoded(annotations.cpu_topology, KoordinatorTopology, "cpu-topology").detail
    policy = decoded(annotations.cpu_manager_policy or "{}", KoordinatorPolicy, "cpu-manager-policy")
    reservation = decoded(annotations.reservation or "{}", KoordinatorReservation, "reservation")
    allocs = decoded(annotations.pod_cpu_allocs or "null", list[KoordinatorAlloc] | None, "pod-cpu-allocs")  # type: ignore[arg-type]
    topology_policy, scope = _policy(nrt)
    return NumaView(
        source=KOORDINATOR,
        fidelity="exact",
        producer=managed_by(nrt.metadata) or "koordinator",
        cpus=tuple(Cpu(cpu=c.id, core=c.core, socket=c.socket, numa=c.node) for c in detail),
        reserved=cpu_list(policy.reserved_cpus) | cpu_list(reservation.reserved_cpus)
        if annotations.cpu_manager_policy or annotations.reservation
        else None,
        holders=tuple(Holder(a.namespace, a.name, a.uid, "", cpu_list(a.cpuset)) for a in allocs or () if a.cpuset),
        cpu_manager_policy=policy.policy,
        topology_manager_policy=topology_policy,
        topology_manager_scope=scope,
    )


def _volcano(numatopology: Volcano) -> NumaView:
    spec = numatopology.spec
    cpus = tuple(
        Cpu(cpu=numa_id(cpu), core=where.core, socket=where.socket, numa=where.numa)
        for cpu, where in (spec.cpu_detail or {}).items()
    )
    holders = tuple(
        Holder(pod.namespace, pod.name, pod.uid, container.name, cpu_list(container.allocations["cpu"]))
        for pod in spec.pod_allocations or ()
        for container in pod.container_allocations or ()
        if container.allocations and container.allocations.get("cpu")
    )
    exclusive = frozenset[int]().union(*(holder.cpus for holder in holders))
    allocatable = cpu_list(str((spec.numares or {}).get("cpu", {}).get("allocatable", "")))
    allocated = spec.pod_allocations is not None
    policies = spec.policies or VolcanoPolicies()
    return NumaView(
        source=VOLCANO,
        fidelity="exact" if allocated else "none",
        producer=managed_by(numatopology.metadata) or "volcano",
        cpus=cpus,
        reserved=frozenset(c.cpu for c in cpus) - allocatable - exclusive if allocatable and allocated else None,
        holders=holders,
        cpu_manager_policy=policies.cpu,
        topology_manager_policy=policies.topology,
        quirk="" if allocated else "Numatopology has no podAllocations: which CPUs are exclusive is unknown",
    )


def _crane(crane: Crane) -> NumaView:
    policy = crane.crane_manager_policy or CranePolicy()
    return NumaView(
        source=CRANE,
        fidelity="count",
        producer=managed_by(crane.metadata) or "crane",
        zones=distinct(_crane_zone(zone) for zone in crane.zones or () if zone.type == "Node"),
        cpu_manager_policy=policy.cpu_manager_policy.lower(),
        topology_manager_policy=policy.topology_manager_policy,
    )


def _crane_zone(zone: CraneZone) -> NumaZone:
    resources = zone.resources or CraneResources()
    numa = numa_id(zone.name, _ZONE_PREFIXES)
    if "cpu" not in (resources.capacity or {}):
        return NumaZone(numa)
    cpus = number_of_cpus((resources.capacity or {})["cpu"])
    allocatable = number_of_cpus((resources.allocatable or {}).get("cpu", cpus))
    reserved = cpus - allocatable if resources.reserved_cpu_nums is None else resources.reserved_cpu_nums
    if not 0 <= reserved <= cpus:
        raise BadRecord("bad_numa_source", f"a zone reserves {reserved} of {counted(cpus, 'CPU')}")
    return NumaZone(numa, cpus, reserved)
