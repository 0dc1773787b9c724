"""Use of each NUMA node, and where the memory of pods lies: tables `numa_usage` and `numa_pod_memory`."""

from collections.abc import Sequence
from typing import Final

import msgspec

from common.errors import BadRecord
from ingest.model.records import NumaUsageRecord
from streams.fold.findings import NumaPodMemoryRow, NumaUsage
from streams.fold.reducer import Output, Reducer

_MOST_NUMA_NODES: Final = 4096


class State(msgspec.Struct, frozen=True):
    """A sample stands for itself."""


def step(state: State, record: NumaUsageRecord) -> tuple[State, Sequence[Output]]:
    ids = {each.numa_node for each in record.nodes}.union(*(pod.numa_bytes for pod in record.pods))
    if odd := [each for each in ids if not 0 <= each < _MOST_NUMA_NODES]:
        raise BadRecord("bad_numa_source", f"numa_usage: {odd[0]} is not the id of a NUMA node")
    key = (record.cluster, record.ts, record.node)
    nodes = [NumaUsage(*key, *msgspec.structs.astuple(each)) for each in record.nodes]
    pods = [
        NumaPodMemoryRow(
            *key, pod.uid, sorted(pod.numa_bytes), [amount for _, amount in sorted(pod.numa_bytes.items())]
        )
        for pod in record.pods
    ]
    return state, [*nodes, *pods]


REDUCER: Final = Reducer(name="numa_usage", version=1, log="node", takes=(NumaUsageRecord,), state=State, step=step)
