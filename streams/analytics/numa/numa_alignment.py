"""Alignment of containers' memory, huge pages, devices and caches with their CPUs: table `numa_alignment`."""

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from common.errors import BadRecord
from ingest.model.cpuset import InvalidCpuSet, parse_cpuset
from ingest.model.podresources import PodResources
from ingest.model.records import CpuTopologyRecord, KnownNodeRecord, NodeRecord, PodResourcesRecord
from streams.fold.findings import NumaAlignment
from streams.fold.reducer import Output, Reducer
from streams.rules.numa.alignment import Alignment, Layout, alignment
from streams.rules.numa.podresources import names_exclusive_cpus

_MOST_NUMA_NODES: Final = 4096
_Taken: TypeAlias = CpuTopologyRecord | PodResourcesRecord | NodeRecord | KnownNodeRecord


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    numa_of: dict[int, int] = {}
    """The NUMA node of each CPU."""
    distances: dict[int, dict[int, int]] = {}
    caches: list[str] = []
    version: str = ""
    """Version of the kubelet."""
    pods: tuple[PodResources, ...] = ()
    shown: dict[str, NumaAlignment] = {}
    """The last row of each container that holds something."""


def step(state: State, record: _Taken) -> tuple[State, Sequence[Output]]:
    match record:
        case CpuTopologyRecord():
            try:
                [*map(parse_cpuset, record.caches)]
            except InvalidCpuSet as error:
                raise BadRecord("bad_topology", f"cpu_topology: {error}") from None
            numa_of = {each.cpu: each.numa for each in record.cpus}
            now = msgspec.structs.replace(state, numa_of=numa_of, distances=record.distances, caches=record.caches)
        case PodResourcesRecord():
            now = msgspec.structs.replace(state, pods=record.pods)
        case _:
            if isinstance(record, NodeRecord) and record.change == "DELETED":
                return State(), [_gone(row, record) for row in state.shown.values()]
            now = msgspec.structs.replace(state, version=record.object.status.node_info.kubelet_version)
    return (state, ()) if now == state else _concluded(now, record)


def _concluded(state: State, record: _Taken) -> tuple[State, list[Output]]:
    layout = Layout(state.numa_of, state.distances, [*map(parse_cpuset, state.caches)])
    exclusive = names_exclusive_cpus(state.version)
    found = {
        f"{pod.namespace}/{pod.name}/{each.name}": _row(record, pod.namespace, pod.name, each.name, aligned)
        for pod in state.pods
        for each in pod.containers
        if (aligned := alignment(each, layout, exclusive=exclusive)) is not None
    }
    for row in found.values():
        places = (*row.cpu_numa_nodes, *row.memory_numa_nodes, *row.hugepages_numa_nodes, *row.device_numa_nodes)
        if not all(0 <= each < _MOST_NUMA_NODES for each in places):
            raise BadRecord("bad_numa_source", "podresources: no machine has so many NUMA nodes")
    changed = [row for name, row in found.items() if _differs(row, state.shown.get(name))]
    gone = [_gone(row, record) for name, row in state.shown.items() if name not in found]
    shown = {name: row if _differs(row, state.shown.get(name)) else state.shown[name] for name, row in found.items()}
    return msgspec.structs.replace(state, shown=shown), [*changed, *gone]


def _differs(row: NumaAlignment, last: NumaAlignment | None) -> bool:
    return last is None or row != last._replace(ts=row.ts)


def _row(record: _Taken, namespace: str, pod: str, container: str, found: Alignment) -> NumaAlignment:
    return NumaAlignment(record.cluster, record.ts, record.node, namespace, pod, container, *found)


def _gone(row: NumaAlignment, record: _Taken) -> NumaAlignment:
    nothing = Alignment([], [], [], [], [], None, None, None, "gone")
    return _row(record, row.namespace, row.pod, row.container, nothing)


REDUCER: Final = Reducer(
    name="numa_alignment",
    version=1,
    log="node",
    takes=(CpuTopologyRecord, PodResourcesRecord, NodeRecord, KnownNodeRecord),
    state=State,
    step=step,
)
