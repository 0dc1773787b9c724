"""Limits of each pod on its node's disk, when first seen and when changed: table `storage_limits`
(rules: disk-growth).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from ingest.model.objects.pod import Pod
from ingest.model.records import PodRecord, Record, SettingsRecord
from streams.fold.findings import StorageLimit
from streams.fold.reducer import Output, Reducer
from streams.fold.shelves import Shelves, items, on_shelf, put, without
from streams.rules.pods.containers import volume_limits
from streams.rules.pods.qos import has_ended
from streams.rules.pods.requests import effective_limits
from streams.rules.values.quantity import base_units


class Limits(msgspec.Struct, frozen=True, array_like=True):
    """Limits of a pod, without the node's log settings."""

    namespace: str
    pod: str
    ephemeral_bytes: int | None = None
    logs: int = 0
    """Number of log directories: one for each container, and one for its previous attempt."""
    volumes: dict[str, int] = {}


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    log_bytes: int | None = None
    """Bytes of one container's log that rotation keeps; None without `/configz`."""
    pods: Shelves[Limits] = {}
    """Limits of pods by uid."""


def step(state: State, record: Record) -> tuple[State, Sequence[Output]]:
    match record:
        case PodRecord():
            return _pod(state, record)
        case SettingsRecord(config=config) if config.container_log_max_size and config.container_log_max_files:
            log_bytes = base_units(config.container_log_max_size) * config.container_log_max_files
            if log_bytes == state.log_bytes:
                return state, ()
            return State(log_bytes, state.pods), [*_rows(record, dict(items(state.pods)), log_bytes)]
        case _:
            return state, ()


def _pod(state: State, record: PodRecord) -> tuple[State, Sequence[Output]]:
    uid = record.object.metadata.uid
    before = on_shelf(state.pods, uid)
    after = None if has_ended(record) else _limits(record.object)
    if after == before:
        return state, ()
    if after is None:
        return State(state.log_bytes, without(state.pods, uid)), ()
    return State(state.log_bytes, put(state.pods, uid, after)), [*_rows(record, {uid: after}, state.log_bytes)]


def _limits(pod: Pod) -> Limits:
    statuses = (*(pod.status.container_statuses or ()), *(pod.status.init_container_statuses or ()))
    return Limits(
        pod.metadata.namespace,
        pod.metadata.name,
        effective_limits(pod).get("ephemeral-storage"),
        sum(2 if each.restart_count else 1 for each in statuses),
        volume_limits(pod),
    )


def _rows(record: Record, pods: Mapping[str, Limits], log_bytes: int | None) -> Iterator[StorageLimit]:
    for uid, each in pods.items():
        logs = log_bytes * each.logs if log_bytes and each.logs else None
        if each.ephemeral_bytes or logs or each.volumes:
            yield StorageLimit(
                *record.row_key, each.namespace, each.pod, uid, each.ephemeral_bytes, logs, each.volumes
            )


REDUCER: Final = Reducer(
    name="storage_limits", version=2, log="node", takes=(PodRecord, SettingsRecord), state=State, step=step
)
