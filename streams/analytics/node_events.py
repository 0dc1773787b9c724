"""Every Event, with the occurrences that each observation of it adds: table `node_events`.

The same step runs over the log of each node and over the cluster's log, for events that concern no node.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from ingest.model.objects.event import event_time
from ingest.model.records import EventRecord, KnownNodeRecord, NodeRecord
from streams.fold.findings import NodeEvent
from streams.fold.reducer import Output, Reducer
from streams.rules.events.counting import Bucket, Counted, draw, event_count, occurrences
from streams.rules.values.version import is_at_least

MAX_NAMES: Final = 1_000
"""Number of names whose counts are stored, also after their deletion; the one unseen for longest is dropped first."""
TYPES_SEPARATE_SINCE: Final = 32
"""The kubelet's minor version, which is assumed for the API server and controllers, too (rules: dropped-events)."""
_Value = TypeVar("_Value")


class State(msgspec.Struct, frozen=True):
    counters: dict[str, Counted] = {}
    """Counters by namespace/name."""
    buckets: dict[str, Bucket] = {}
    """Buckets by source and object, and by type if the recorder separates types (rules: dropped-events)."""
    kubelet_version: str = ""


def step(state: State, record: EventRecord | NodeRecord | KnownNodeRecord) -> tuple[State, Sequence[Output]]:
    if isinstance(record, NodeRecord | KnownNodeRecord):
        version = record.object.status.node_info.kubelet_version
        return (state if version == state.kubelet_version else replace(state, kubelet_version=version)), ()
    if record.change == "DELETED" or record.line is not None:
        return state, ()  # table `kubelet_log` has the log's line
    event = record.object
    at = event_time(event) or record.ts
    now = Counted(event.metadata.uid, event_count(event), at.timestamp())
    name = f"{event.metadata.namespace}/{event.metadata.name}"
    added = record.change == "ADDED"
    found = occurrences(event, added=added, before=state.counters.get(name), now=now)
    if not found.delta:
        return state, ()
    involved = event.involved
    component = event.component
    # while the version is unknown, use the bucket that empties sooner: at worst it marks too many counts
    version = state.kubelet_version
    separate_type = event.type if version and is_at_least(version, TYPES_SEPARATE_SINCE) else ""
    bucket_key = "/".join(
        (
            component,
            event.emitter.host or event.reporting_instance,
            involved.kind,
            involved.namespace,
            involved.name,
            separate_type,
        )
    )
    bucket = draw(state.buckets.get(bucket_key), now.at, found.delta)
    row = NodeEvent(
        cluster=record.cluster,
        ts=at,
        observed_at=record.ts,
        node=record.node,
        namespace=event.metadata.namespace,
        name=event.metadata.name,
        object_kind=involved.kind,
        object_name=involved.name,
        object_uid=involved.uid,
        reason=event.reason,
        type=event.type,
        message=event.text,
        count=now.total,
        occurrences=found.delta,
        occurrences_lower_bound=found.lower_bound or bucket.tokens < 1,
        component=component,
        time_known=event.earliest is None and event.latest is None,
    )
    counters = remember(state.counters, name, now)
    return replace(state, counters=counters, buckets=remember(state.buckets, bucket_key, bucket)), (row,)


def remember(known: Mapping[str, _Value], key: str, value: _Value) -> dict[str, _Value]:
    """Return the mapping with `key` as its newest entry, at most MAX_NAMES long."""
    kept = dict(known)  # many times faster than a comprehension without the key
    kept.pop(key, None)
    if len(kept) >= MAX_NAMES:
        del kept[next(iter(kept))]
    kept[key] = value
    return kept


_TAKES: Final = (EventRecord, NodeRecord, KnownNodeRecord)
REDUCER: Final = Reducer(name="node_events", version=2, log="node", takes=_TAKES, state=State, step=step)
CLUSTER_REDUCER: Final = Reducer(
    name="cluster_events", version=2, log="cluster", takes=_TAKES, state=State, step=step
)
