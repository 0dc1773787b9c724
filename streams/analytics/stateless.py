"""The reducers without a state: each record produces rows on its own.

They fill `cgroup_values`, `cpu_throttling` (rules: cpu-contention), `kubelet_log` (rules: kubelet-log), `node_leases`
(rules: nodes-that-do-not-report), `machine_memory`, `file_systems`, `numa_usage` and `numa_pod_memory`.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from common.errors import BadRecord
from ingest.model.records import (
    CgroupValuesRecord,
    CpuThrottlingRecord,
    EventRecord,
    MachineUsageRecord,
    NodeLeaseRecord,
    NumaUsageRecord,
)
from streams.fold.findings import (
    CgroupValuesRow,
    CpuThrottling,
    FileSystemRow,
    KubeletLogLine,
    MachineMemoryRow,
    NodeLease,
    NumaPodMemoryRow,
    NumaUsage,
    Row,
)
from streams.fold.reducer import stateless

_MOST_NUMA_NODES: Final = 4096


def _throttling(record: CpuThrottlingRecord) -> Sequence[Row]:
    return [
        CpuThrottling(
            *record.row_key,
            pod.uid,
            [each.container for each in pod.cgroups],
            [each.periods for each in pod.cgroups],
            [each.throttled_periods for each in pod.cgroups],
            [each.throttled_nanoseconds for each in pod.cgroups],
        )
        for pod in record.pods
    ]


def _log_line(record: EventRecord) -> Sequence[Row]:
    line = record.line
    if line is None:
        return ()
    namespace, _, pod = line.pod.rpartition("/")
    known = msgspec.structs.asdict(line) | {"namespace": namespace, "pod": pod, "pods": list(line.pods)}
    return [KubeletLogLine(*record.row_key, **known, time_known=line.earliest is None and line.latest is None)]


def _age_of_lease(record: NodeLeaseRecord) -> Sequence[Row]:
    age = (record.ts - record.renewed_at).total_seconds() if record.renewed_at else -1.0
    # renewed later than seen: clocks differ by an unknown time; at the same time: a saved file has nothing newer
    known = age if age > 0 else None
    return (NodeLease(*record.row_key, known, record.duration_seconds),)


def _numa_usage(record: NumaUsageRecord) -> Sequence[Row]:
    ids = {each.numa_node for each in record.nodes}.union(*(pod.numa_bytes for pod in record.pods))
    if odd := [each for each in ids if not 0 <= each < _MOST_NUMA_NODES]:
        raise BadRecord("bad_numa_source", f"numa_usage: {odd[0]} is not a NUMA node id")
    nodes = [NumaUsage(*record.row_key, *msgspec.structs.astuple(each)) for each in record.nodes]
    pods = [
        NumaPodMemoryRow(
            *record.row_key, pod.uid, sorted(pod.numa_bytes), [amount for _, amount in sorted(pod.numa_bytes.items())]
        )
        for pod in record.pods
    ]
    return [*nodes, *pods]


def _machine(record: MachineUsageRecord) -> Sequence[Row]:
    memory = [MachineMemoryRow(*record.row_key, *msgspec.structs.astuple(each)) for each in (record.memory,) if each]
    return [
        *memory,
        *(FileSystemRow(*record.row_key, *msgspec.structs.astuple(each)) for each in record.file_systems),
    ]


def _cgroups(record: CgroupValuesRecord) -> Sequence[Row]:
    return [CgroupValuesRow(*record.row_key, *msgspec.structs.astuple(each)) for each in record.cgroups]


CGROUP_VALUES: Final = stateless("cgroup_values", "node", (CgroupValuesRecord,), _cgroups)
CPU_THROTTLING: Final = stateless("cpu_throttling", "node", (CpuThrottlingRecord,), _throttling)
KUBELET_LOG: Final = stateless("kubelet_log", "node", (EventRecord,), _log_line)
MACHINE_USAGE: Final = stateless("machine_usage", "node", (MachineUsageRecord,), _machine)
NODE_LEASES: Final = stateless("node_leases", "node", (NodeLeaseRecord,), _age_of_lease)
NUMA_USAGE: Final = stateless("numa_usage", "node", (NumaUsageRecord,), _numa_usage)
