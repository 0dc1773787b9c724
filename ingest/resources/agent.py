"""Resources that the agent reads: CPUs, checkpoints, podresources, memory, disks, NUMA nodes, cgroups."""

from typing import Any, Final

import msgspec

from ingest.model.machine import (
    CgroupValues,
    Cpu,
    FileSystem,
    MachineMemory,
    NumaNodeUsage,
    NumaPodMemory,
    PodThrottling,
)
from ingest.model.podresources import NodeResources
from ingest.model.records import (
    CgroupValuesRecord,
    CpuManagerRecord,
    CpuThrottlingRecord,
    CpuTopologyRecord,
    MachineUsageRecord,
    MemoryManagerRecord,
    NumaUsageRecord,
    PodResourcesRecord,
    Record,
)
from ingest.resources.decoding import text
from ingest.resources.resource import NodeResource, as_record


class _Checkpoint(msgspec.Struct, frozen=True):
    checkpoint: str


class _Topology(msgspec.Struct, frozen=True):
    cpus: list[Cpu]
    distances: dict[int, dict[int, int]] = {}
    caches: list[str] = []


class _Usage(msgspec.Struct, frozen=True):
    nodes: list[NumaNodeUsage] = msgspec.field(name="numa_usage")
    pods: list[NumaPodMemory] = []


class _Machine(msgspec.Struct, frozen=True):
    memory: MachineMemory | None = msgspec.field(name="machine_memory", default=None)
    file_systems: list[FileSystem] = []


class _Throttling(msgspec.Struct, frozen=True):
    pods: list[PodThrottling] = msgspec.field(name="cpu_throttling")


class _Cgroups(msgspec.Struct, frozen=True):
    cgroups: list[CgroupValues] = msgspec.field(name="cgroup_values")


def _checkpoint(data: bytes | msgspec.Raw) -> _Checkpoint:
    """Keep the exact text, because its checksum covers it (rules: cpu-checkpoint)."""
    return _Checkpoint(text(data))


def _stored(name: str, record: type[Record], *, of_memory: bool) -> NodeResource[Any]:
    """Return the resource for the checkpoint of one of the kubelet's managers."""
    return NodeResource(
        name=name,
        decode=_checkpoint,
        records=as_record(record),
        secrets=False,
        fields=lambda fields: "policyName" in fields and ("machineState" in fields) is of_memory,
        file=f"var/lib/kubelet/{name}",
    )


def _measured(
    name: str, shape: type[msgspec.Struct], record: type[Record], field: str = "", **more: Any
) -> NodeResource[Any]:
    """Return a resource that the agent measures; in a dump it is recognised by this field, or by the field of its
    name.
    """
    settings = {"fields": lambda fields: (field or name) in fields, **more}
    decode = msgspec.json.Decoder(shape).decode
    return NodeResource(
        name=name, decode=decode, records=as_record(record), secrets=False, origin="agent", **settings
    )


CPU_MANAGER_STATE: Final = _stored("cpu_manager_state", CpuManagerRecord, of_memory=False)
MEMORY_MANAGER_STATE: Final = _stored("memory_manager_state", MemoryManagerRecord, of_memory=True)
CPU_TOPOLOGY: Final = _measured("cpu_topology", _Topology, CpuTopologyRecord, "cpus", timeless=True)
PODRESOURCES: Final = _measured(
    "podresources",
    NodeResources,
    PodResourcesRecord,
    fields=lambda fields: "pods" in fields and fields.keys() <= {"pods", "allocatable"},
)
"""The answer of the kubelet's podresources service (rules: podresources)."""
NUMA_USAGE: Final = _measured("numa_usage", _Usage, NumaUsageRecord)
"""Use of each NUMA node (rules: numa-usage)."""
MACHINE_USAGE: Final = _measured("machine_usage", _Machine, MachineUsageRecord, "machine_memory")
"""Memory of a machine, and file systems that no signal is about (rules: eviction-signals, unguarded-signals)."""
CPU_THROTTLING: Final = _measured("cpu_throttling", _Throttling, CpuThrottlingRecord)
"""Throttling of pods by CPU quotas (rules: cpu-contention)."""
CGROUP_VALUES: Final = _measured("cgroup_values", _Cgroups, CgroupValuesRecord)
"""Values of the cgroups of pods and containers (rules: cgroup-values)."""
