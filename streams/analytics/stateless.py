"""The reducers whose records stand for themselves: a row, or some, for each, and no state.

They fill `cgroup_values`, `cpu_throttling` (rules: cpu-contention), `kubelet_log` (rules: kubelet-log), `node_leases`
(rules: nodes-that-do-not-report), `machine_memory`, `file_systems`, `numa_usage` and `numa_pod_memory`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from common.errors import BadRecord
from ingest.model.records import (
    CgroupValuesRecord,
    CpuThrottlingRecord,
    EventRecord,
    MachineUsageRecord,
    NodeLeaseRecord,
    NumaUsageRecord,
    Record,
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
from streams.fold.reducer import Reducer

_MOST_NUMA_NODES: Final = 4096


class State(msgspec.Struct, frozen=True):
    """None is needed."""


def _reducer(name: str, takes: type[Record], rows: Callable[[Any], Sequence[Row]]) -> Reducer[State]:
    return Reducer(
        name, version=1, log="node", takes=(takes,), state=State, step=lambda state, record: (state, rows(record))
    )


def _throttling(record: CpuThrottlingRecord) -> Sequence[Row]:
    return [
        CpuThrottling(
            record.cluster,
            record.ts,
            record.node,
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
    row = KubeletLogLine(
        cluster=record.cluster,
        ts=record.ts,
        node=record.node,
        said=line.said,
        resource=line.resource,
        namespace=namespace,
        pod=pod,
        uid=line.uid,
        pods=list(line.pods),
        image=line.image,
        amount_bytes=line.amount_bytes,
        message=line.message,
        time_known=line.earliest is None and line.latest is None,
        earliest=line.earliest,
        latest=line.latest,
    )
    return (row,)


def _age_of_lease(record: NodeLeaseRecord) -> Sequence[Row]:
    age = (record.ts - record.renewed_at).total_seconds() if record.renewed_at else -1.0
    # renewed after it was seen: clocks differ, nobody knows by how much; just then: a saved file has nothing later
    known = age if age > 0 else None
    return (NodeLease(record.cluster, record.ts, record.node, known, record.duration_seconds),)


def _numa_usage(record: NumaUsageRecord) -> Sequence[Row]:
    ids = {each.numa_node for each in record.nodes}.union(*(pod.numa_bytes for pod in record.pods))
    if odd := [each for each in ids if not 0 <= each < _MOST_NUMA_NODES]:
        raise BadRecord("bad_numa_source", f"numa_usage: {odd[0]} is not a NUMA node id")
    key = (record.cluster, record.ts, record.node)
    nodes = [NumaUsage(*key, *msgspec.structs.astuple(each)) for each in record.nodes]
    pods = [
        NumaPodMemoryRow(
            *key, pod.uid, sorted(pod.numa_bytes), [amount for _, amount in sorted(pod.numa_bytes.items())]
        )
        for pod in record.pods
    ]
    return [*nodes, *pods]


def _machine(record: MachineUsageRecord) -> Sequence[Row]:
    key = (record.cluster, record.ts, record.node)
    memory = [MachineMemoryRow(*key, *msgspec.structs.astuple(each)) for each in (record.memory,) if each]
    return [*memory, *(FileSystemRow(*key, *msgspec.structs.astuple(each)) for each in record.file_systems)]


def _cgroups(record: CgroupValuesRecord) -> Sequence[Row]:
    key = (record.cluster, record.ts, record.node)
    return [CgroupValuesRow(*key, *msgspec.structs.astuple(each)) for each in record.cgroups]


CGROUP_VALUES: Final = _reducer("cgroup_values", CgroupValuesRecord, _cgroups)
CPU_THROTTLING: Final = _reducer("cpu_throttling", CpuThrottlingRecord, _throttling)
KUBELET_LOG: Final = _reducer("kubelet_log", EventRecord, _log_line)
MACHINE_USAGE: Final = _reducer("machine_usage", MachineUsageRecord, _machine)
NODE_LEASES: Final = _reducer("node_leases", NodeLeaseRecord, _age_of_lease)
NUMA_USAGE: Final = _reducer("numa_usage", NumaUsageRecord, _numa_usage)
