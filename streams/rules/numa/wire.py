"""Defines the parts that Leadsman reads of API objects and annotations about NUMA nodes, with their own names
(rules: noderesourcetopology, koordinator, crane-and-volcano).
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from common.errors import BadRecord
from ingest.model.cpuset import InvalidCpuSet, parse_cpuset
from ingest.model.numbers import Int64
from ingest.model.objects.base import Quantity
from streams.rules.numa.sources import NumaZone
from streams.rules.values.quantity import NANO, InvalidQuantity, nano_units


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
