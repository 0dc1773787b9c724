"""Pods: a bound one on its node's log, and, on its cluster's, what the scheduler's view of it needs."""

from typing import Final

from msgspec.structs import replace

from ingest.messages.allowed import allowed, allowed_conditions, allowed_reason
from ingest.model.objects.pod import Pod, PodAnnotations
from ingest.model.observation import Observation
from ingest.model.records import PodPlacement, PodRecord, Record
from ingest.resources.decoding import kept, names_of, without_version
from ingest.resources.rejections import rejection_of_pod
from ingest.resources.resource import ApiResource, change_of


def _allowed(pod: Pod) -> Pod:
    status, conditions = pod.status, allowed_conditions(pod.status.conditions)
    reason, message = allowed_reason(status.reason), allowed(status.reason, status.message)
    if conditions is status.conditions and (reason, message) == (status.reason, status.message):
        return pod
    return replace(pod, status=replace(status, reason=reason, message=message, conditions=conditions))


def _records(observation: Observation, pod: Pod) -> list[Record]:
    change = change_of(observation)
    target = pod.spec.node_name
    record = PodRecord(ts=observation.ts, cluster=observation.cluster, node=target, change=change, object=pod)
    if not target:
        return [record]
    scheduled = next((c for c in pod.status.conditions or () if c.type == "PodScheduled"), None)
    owner = next((o for o in pod.metadata.owner_references or () if o.controller), None)
    placement = PodPlacement(
        ts=observation.ts,
        cluster=observation.cluster,
        change=change,
        target=target,
        namespace=pod.metadata.namespace,
        pod=pod.metadata.name,
        uid=pod.metadata.uid,
        phase=pod.status.phase,
        created_at=pod.metadata.creation_timestamp,
        bound_at=scheduled.last_transition_time if scheduled else None,
        owner_kind=owner.kind if owner else "",
    )
    return [record, placement, *rejection_of_pod(observation, pod)]


PODS: Final = ApiResource(
    name="pods",
    decode=kept(Pod, _allowed),
    records=_records,
    annotations=names_of(PodAnnotations),
    kinds={"Pod": r"v1"},
    paths=("/api/v1/pods",),
    compared=without_version,
    log=lambda pod: pod.spec.node_name,
    namespaced=True,
    must_gather=r"namespaces/[^/]+/(?:core/pods|pods/(?:[^/]+/)?[^/]+)",
)
