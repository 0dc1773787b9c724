"""What the kubelet's podresources service returns, as far as it is used here (rules: podresources).

The names are the service's own; `numa_nodes` are the ids of its `topology.nodes`. It names no pod's uid, and no CPU's
NUMA node.
"""

import msgspec

from ingest.model.numbers import Count, Int64


class DeviceResources(msgspec.Struct, frozen=True, kw_only=True):
    """Devices of one resource with the same NUMA nodes."""

    resource_name: str
    device_ids: tuple[str, ...] = ()
    numa_nodes: tuple[Int64, ...] = ()


class MemoryResources(msgspec.Struct, frozen=True, kw_only=True):
    memory_type: str
    """`memory` or `hugepages-<size>`."""
    size: Count
    """Bytes."""
    numa_nodes: tuple[Int64, ...] = ()


class ContainerResources(msgspec.Struct, frozen=True, kw_only=True):
    """What a container holds.

    `cpu_ids` are the exclusive CPUs only since 1.23: before, they are the shared pool's where a container has none.
    """

    name: str
    cpu_ids: tuple[Int64, ...] = ()
    devices: tuple[DeviceResources, ...] = ()
    memory: tuple[MemoryResources, ...] = ()


class PodResources(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    namespace: str
    containers: tuple[ContainerResources, ...] = ()


class AllocatableResources(msgspec.Struct, frozen=True, kw_only=True):
    """What the kubelet can give to containers: all CPUs less the reserved ones, all its devices."""

    cpu_ids: tuple[Int64, ...] = ()
    devices: tuple[DeviceResources, ...] = ()
    memory: tuple[MemoryResources, ...] = ()


class NodeResources(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The object of the resource `podresources`."""

    pods: tuple[PodResources, ...]
    allocatable: AllocatableResources | None = None
    """None where the kubelet does not report it (before 1.23)."""
