"""Capacity, requests and use of each node: table `node_fit`.

Requests are counted like `kubectl describe node`: pods that Succeeded or Failed do not count (rules: pod-requests).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from ingest.model.records import NodeRecord, PodRecord, Record, SampleRecord
from ingest.model.samples import NodeSample
from streams.fold.findings import NodeFit
from streams.fold.reducer import Output, Reducer
from streams.fold.shelves import Shelves, count_on, on_shelf, put, without
from streams.rules.pods.qos import has_ended
from streams.rules.pods.requests import effective_requests
from streams.rules.values.quantity import in_base_units

_NANOCORES_PER_MILLICORE: Final = 1_000_000


class State(msgspec.Struct, frozen=True):
    capacity: dict[str, int] = {}
    allocatable: dict[str, int] = {}
    pods: Shelves[dict[str, int]] = {}
    """Effective requests of each pod that counts, by uid."""
    requested: dict[str, int] = {}
    """Their sum."""
    used: dict[str, int] = {}
    """Use by the last sample."""


def step(state: State, record: Record) -> tuple[State, Sequence[Output]]:
    match record:
        case SampleRecord():
            state = msgspec.structs.replace(state, used=_used(record.sample))
        case PodRecord():
            changed = _pod(state, record)
            if changed is state:
                return state, ()
            state = changed
        case NodeRecord(change="DELETED"):
            # its pods may outlive the object if it is recreated: each has its own deletion
            return State(pods=state.pods, requested=state.requested), ()
        case NodeRecord(object=node):
            capacity, allocatable = in_base_units(node.status.capacity), in_base_units(node.status.allocatable)
            if (capacity, allocatable) == (state.capacity, state.allocatable):
                return state, ()
            state = msgspec.structs.replace(state, capacity=capacity, allocatable=allocatable)
    return state, [*_rows(state, record)]


def _pod(state: State, record: PodRecord) -> State:
    uid = record.object.metadata.uid
    before = on_shelf(state.pods, uid)
    requests = None if has_ended(record) else effective_requests(record.object)
    if requests == before:
        return state
    pods = without(state.pods, uid) if requests is None else put(state.pods, uid, requests)
    return msgspec.structs.replace(state, pods=pods, requested=_sum(state.requested, requests or {}, before or {}))


def _sum(total: Mapping[str, int], more: Mapping[str, int], less: Mapping[str, int]) -> dict[str, int]:
    changed = {resource: more.get(resource, 0) - less.get(resource, 0) for resource in (*more, *less)}
    return {**total, **{resource: total.get(resource, 0) + change for resource, change in changed.items()}}


def _used(sample: NodeSample) -> dict[str, int]:
    """Return the use of the node, including use outside of pods; ephemeral-storage is that of the node's file
    system.
    """
    cpu = sample.cpu_usage_nanocores
    used = {
        "cpu": None if cpu is None else cpu // _NANOCORES_PER_MILLICORE,
        "memory": sample.memory_working_set_bytes,
        "ephemeral-storage": sample.nodefs_used_bytes,
    }
    return {resource: amount for resource, amount in used.items() if amount is not None}


def _rows(state: State, record: Record) -> Iterator[NodeFit]:
    pods = count_on(state.pods)
    for resource, allocatable in state.allocatable.items():
        capacity = state.capacity.get(resource, 0)
        requested = pods if resource == "pods" else state.requested.get(resource, 0)
        if capacity or allocatable or requested:
            used, free = pods if resource == "pods" else state.used.get(resource), allocatable - requested
            yield NodeFit(*record.row_key, resource, capacity, allocatable, requested, used, free, pods)


REDUCER: Final = Reducer(
    name="node_fit", version=2, log="node", takes=(SampleRecord, PodRecord, NodeRecord), state=State, step=step
)
