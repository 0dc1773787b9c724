"""Records the changes of pods, which are bindings to nodes, updates and ends: table `pod_bindings`.

The same step runs over the log of each node (bound pods) and over the cluster's (pending ones).
"""

from collections.abc import Sequence
from datetime import timedelta
from functools import lru_cache
from sys import intern
from typing import Final, NamedTuple

import msgspec

from ingest.model.objects.pod import Pod, PodMetadata, PodSpec, PodStatus, Toleration
from ingest.model.records import ForgetRecord, InventoryRecord, PodPlacement, PodRecord
from streams.fold.findings import PodBinding
from streams.fold.reducer import Output, Reducer
from streams.fold.shelves import Shelves, items, on_shelf, put, without
from streams.rules.pod_ends.when import deletion_asked_at
from streams.rules.pods.containers import local_volumes, memoize
from streams.rules.pods.qos import FINISHED, qos_class
from streams.rules.pods.requests import (
    cpu_limit,
    effective_requests,
    eviction_requests,
    exclusive_cpus,
    is_critical,
    memory_limit,
)
from streams.rules.scheduling.constraints import constraints_of, preferences_of, stored
from streams.rules.scheduling.message import waits_for

CLOCK_TOLERANCE: Final = timedelta(seconds=3)
"""Times of conditions are whole seconds, and clocks differ a little."""


class State(msgspec.Struct, frozen=True):
    pods: Shelves[PodBinding] = {}
    """The last row of each pod that was not deleted, by uid."""


def step(
    state: State, record: PodRecord | PodPlacement | InventoryRecord | ForgetRecord
) -> tuple[State, Sequence[Output]]:
    if isinstance(record, InventoryRecord | ForgetRecord):
        return _reconcile(state, record)
    if isinstance(record, PodPlacement):
        return _without(state, record.uid), _correct_stale_pending(on_shelf(state.pods, record.uid), record)
    uid = record.object.metadata.uid
    last = on_shelf(state.pods, uid)
    if record.reconciled:  # `_reconcile` emitted the rows of all pods at once
        return state, ()
    row = _row(record, last)
    if record.change == "DELETED":
        return _without(state, uid), (row,)
    if last is not None and row == last._replace(ts=row.ts, change=row.change, started_at=row.started_at):
        return state, ()  # a later row will have the new start time
    return State(put(state.pods, uid, row)), (row,)


def _correct_stale_pending(last: PodBinding | None, record: PodPlacement) -> Sequence[Output]:
    """Return a row for a pod that was already bound, although its last row shows it as pending.

    A watcher that resumed at a stored version repeats the pending state. If the node's log also has a row, that row
    is newer and wins.
    """
    if (
        last is None
        or record.change == "DELETED"
        or record.bound_at is None
        or last.ts <= record.bound_at + CLOCK_TOLERANCE
    ):
        return ()
    is_over = record.phase in FINISHED
    row = last._replace(ts=record.ts - timedelta(microseconds=1), node=record.target, phase=record.phase, reason="")
    asked_at = row.ts if record.ends and not is_over else None
    change = "finished" if is_over else "updated"
    return (row._replace(change=change, deletion_asked_at=asked_at, waits_for=""),)


def _reconcile(state: State, record: InventoryRecord | ForgetRecord) -> tuple[State, Sequence[Output]]:
    """Emit a `deleted` row for each pod that disappeared unseen; for a forgotten node, for every pod of its log."""
    if isinstance(record, ForgetRecord):
        return State(), [_deleted_row(row, record) for _, row in items(state.pods)]
    disappeared = _disappeared(state, record)
    if not disappeared:
        return state, ()
    known = dict(items(state.pods))
    rows = [known[uid] for uid in disappeared]
    for uid in disappeared:
        state = _without(state, uid)
    return state, [*(_deleted_row(row, record) for row in rows), *(_deleted_record(row, record) for row in rows)]


def _disappeared(state: State, inventory: InventoryRecord) -> Sequence[str]:
    """Return the pods that an inventory lacks, except pods with a row newer than the inventory."""
    if inventory.resource != "pods" or inventory.of_logs:
        return ()
    return inventory.gone(uid for uid, row in items(state.pods) if row.ts <= inventory.ts)


def _deleted_row(last: PodBinding, record: InventoryRecord | ForgetRecord) -> PodBinding:
    return last._replace(ts=record.ts, change="deleted")


def _deleted_record(last: PodBinding, inventory: InventoryRecord) -> PodRecord:
    metadata = PodMetadata(last.pod, last.namespace, last.uid, creation_timestamp=last.created_at)
    pod = Pod(metadata, PodSpec(last.node), PodStatus(last.phase, qos_class=last.qos_class))
    return PodRecord(
        ts=inventory.ts, cluster=last.cluster, node=last.node, change="DELETED", object=pod, reconciled=True
    )


def _without(state: State, uid: str) -> State:
    return state if on_shelf(state.pods, uid) is None else State(without(state.pods, uid))


def _change(record: PodRecord, last: PodBinding | None) -> str:
    if record.change == "DELETED":
        return "deleted"
    if record.object.status.phase in FINISHED:
        return "finished"
    if not record.node:
        return "pending"
    return "bound" if last is None else "updated"


def _row(record: PodRecord, last: PodBinding | None) -> PodBinding:
    pod = record.object
    metadata = pod.metadata
    change = _change(record, last)
    owner = next((o for o in metadata.owner_references or () if o.controller), None)
    asked_at = deletion_asked_at(pod)
    resources = _resources(pod)
    return PodBinding(
        cluster=record.cluster,
        ts=record.ts,
        change=change,
        node=intern(record.node),
        namespace=intern(metadata.namespace),
        pod=metadata.name,
        uid=metadata.uid,
        qos_class=resources.qos_class,
        priority=pod.spec.priority or 0,
        critical=is_critical(pod),
        cpu_request_millicores=resources.requests.get("cpu", 0),
        cpu_limit_millicores=resources.cpu_limit,
        memory_request_bytes=resources.requests.get("memory", 0),
        memory_limit_bytes=resources.memory_limit,
        ephemeral_request_bytes=resources.requests.get("ephemeral-storage", 0),
        eviction_memory_request_bytes=resources.eviction_requests.get("memory", 0),
        eviction_ephemeral_request_bytes=resources.eviction_requests.get("ephemeral-storage", 0),
        exclusive_cpus=resources.exclusive_cpus,
        requests=resources.requests,
        phase=intern(pod.status.phase),
        reason=intern(_reason(pod)),
        owner_kind=intern(owner.kind) if owner else "",
        owner_name=owner.name if owner else "",
        created_at=metadata.creation_timestamp,
        tolerations=_interned_list(tuple([_toleration(each) for each in pod.spec.tolerations or ()])),
        local_volumes=_interned_list(local_volumes(pod)),
        labels=_interned_map(tuple(sorted((metadata.labels or {}).items()))),
        constraints=intern(stored(constraints_of(pod))),
        deletion_asked_at=None if asked_at is None else min(asked_at, record.ts),
        waits_for=waits_for(pod),
        preferences=intern(stored(preferences_of(pod))),
        started_at=pod.status.start_time,
    )


class _PodResources(NamedTuple):
    requests: dict[str, int]
    eviction_requests: dict[str, int]
    """The requests that eviction ranking compares."""
    qos_class: str
    cpu_limit: int | None
    memory_limit: int | None
    exclusive_cpus: int


@memoize
def _resources(pod: Pod) -> _PodResources:
    limits = cpu_limit(pod), memory_limit(pod)
    return _PodResources(
        effective_requests(pod), eviction_requests(pod), qos_class(pod), *limits, exclusive_cpus(pod)
    )


@lru_cache(maxsize=1024)
def _interned_list(texts: tuple[str, ...]) -> list[str]:
    """Return one list object for equal values, to save memory: tens of thousands of rows are kept."""
    return list(texts)


@lru_cache(maxsize=4096)
def _interned_map(labels: tuple[tuple[str, str], ...]) -> dict[str, str]:
    return dict(labels)


def _toleration(each: Toleration) -> str:
    return f"{each.key}:{each.effect}" if each.operator == "Exists" else f"{each.key}={each.value}:{each.effect}"


def _reason(pod: Pod) -> str:
    """Return the reason in the status, or else why the pod is not scheduled."""
    if pod.status.reason or pod.status.phase != "Pending":
        return pod.status.reason
    return next((c.reason for c in pod.status.conditions or () if c.type == "PodScheduled"), "")


REDUCER: Final = Reducer(
    name="pod_bindings",
    version=5,
    log="node",
    takes=(PodRecord, InventoryRecord, ForgetRecord),
    state=State,
    step=step,
)
CLUSTER_REDUCER: Final = Reducer(
    name="pending_pods",
    version=5,
    log="cluster",
    takes=(PodRecord, PodPlacement, InventoryRecord),
    state=State,
    step=step,
)
