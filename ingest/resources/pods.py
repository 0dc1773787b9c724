"""Pods: a `PodRecord` on the node's log and a `PodPlacement` on the cluster's.

A pending pod becomes one `PodRecord`, on the cluster's log.
"""

from functools import partial
from typing import Final

from msgspec.structs import replace

from ingest.messages.modes import CREDENTIALS, STRICT, Mode
from ingest.model.objects.pod import ContainerStatus, ContainerWaiting, Pod, PodAnnotations
from ingest.model.observation import Observation
from ingest.model.records import KnownPodRecord, PodPlacement, PodRecord, Record
from ingest.resources.decoding import kept, names_of, only_read, without_version
from ingest.resources.rejections import rejection_of_pod
from ingest.resources.resource import ApiResource, change_of, seen

_OVER: Final = frozenset({"Failed", "Succeeded"})


def _passing(pod: Pod, mode: Mode) -> Pod:
    status, conditions = pod.status, mode.conditions(pod.status.conditions)
    reason, message = mode.reason(status.reason), mode.message(status.reason, status.message)
    resize = mode.reason(status.resize)
    init, containers = (_waiting(each, mode) for each in (status.init_container_statuses, status.container_statuses))
    passing = replace(
        status,
        reason=reason,
        message=message,
        conditions=conditions,
        resize=resize,
        init_container_statuses=init,
        container_statuses=containers,
    )
    return pod if passing == status else replace(pod, status=passing)


def _waiting(statuses: list[ContainerStatus] | None, mode: Mode) -> list[ContainerStatus] | None:
    """Redact why each container waits, because a runtime's message can contain an address with credentials."""
    if statuses is None or all(each.state is None or each.state.waiting is None for each in statuses):
        return statuses
    return [
        replace(each, state=replace(each.state, waiting=_passing_reason(each.state.waiting, mode)))
        if each.state is not None and each.state.waiting is not None
        else each
        for each in statuses
    ]


def _passing_reason(waiting: ContainerWaiting, mode: Mode) -> ContainerWaiting:
    return ContainerWaiting(mode.reason(waiting.reason), mode.message(waiting.reason, waiting.message))


def _records(observation: Observation, pod: Pod) -> list[Record]:
    if observation.type == "SNAPSHOT":
        node = pod.spec.node_name
        return [KnownPodRecord(**seen(observation), node=node, object=pod)]
    change = change_of(observation)
    target = pod.spec.node_name
    record = PodRecord(**seen(observation), node=target, change=change, object=pod)
    if not target:
        return [record]
    scheduled = next((c for c in pod.status.conditions or () if c.type == "PodScheduled"), None)
    owner = next((o for o in pod.metadata.owner_references or () if o.controller), None)
    placement = PodPlacement(
        **seen(observation),
        change=change,
        target=target,
        namespace=pod.metadata.namespace,
        pod=pod.metadata.name,
        uid=pod.metadata.uid,
        phase=pod.status.phase,
        created_at=pod.metadata.creation_timestamp,
        bound_at=scheduled.last_transition_time if scheduled else None,
        owner_kind=owner.kind if owner else "",
        ends=change == "DELETED" or pod.metadata.deletion_timestamp is not None or pod.status.phase in _OVER,
    )
    return [record, placement, *rejection_of_pod(observation, pod)]


PODS: Final = ApiResource(
    name="pods",
    decode=kept(Pod, partial(_passing, mode=CREDENTIALS)),
    strict=partial(_passing, mode=STRICT),
    records=_records,
    reads=only_read(Pod),
    annotations=names_of(PodAnnotations),
    kinds={"Pod": r"v1"},
    paths=("/api/v1/pods",),
    compared=without_version,
    log=lambda pod: pod.spec.node_name,
    namespaced=True,
)
