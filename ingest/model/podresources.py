"""Answers of the kubelet's podresources service, with the fields that are used (rules: podresources).

The names are the service's own; `numa_nodes` are the ids of its `topology.nodes`. It names neither a pod's uid nor a
CPU's NUMA node.
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
    """`cpu_ids` are only exclusive CPUs since 1.23. Before, a container without exclusive CPUs has the shared
    pool's.
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
    """Resources that the kubelet can allocate: all CPUs minus the reserved ones, all its devices."""

    cpu_ids: tuple[Int64, ...] = ()
    devices: tuple[DeviceResources, ...] = ()
    memory: tuple[MemoryResources, ...] = ()


class NodeResources(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The object of the resource `podresources`."""

    pods: tuple[PodResources, ...]
    allocatable: AllocatableResources | None = None
    """None if the kubelet does not report it (before 1.23)."""
