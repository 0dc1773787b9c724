"""Pods that a kubelet rejected for reasons that the scheduler does not see, for the alerts across nodes.

The records come from the pod or the Event itself, not from the log of its node. Records from other logs reach the
cluster's log in no fixed order, and a count over many nodes would depend on it.
"""

from typing import Final

from ingest.model.objects.event import Event, event_time
from ingest.model.objects.pod import Pod
from ingest.model.observation import Observation
from ingest.model.records import Record, RejectionRecord
from ingest.resources.resource import change_of, seen

UNSEEN_BY_SCHEDULER: Final = frozenset({"TopologyAffinityError", "SMTAlignmentError"})
"""Reasons that do not keep the scheduler from placing the next pod on the same node (rules: admission-failures)."""


def rejection_of_pod(observation: Observation, pod: Pod) -> list[Record]:
    status, metadata = pod.status, pod.metadata
    if status.reason not in UNSEEN_BY_SCHEDULER or status.phase != "Failed" or change_of(observation) == "DELETED":
        return []
    times = [c.last_transition_time for c in status.conditions or () if c.last_transition_time]
    owner = next((o for o in metadata.owner_references or () if o.controller), None)
    rejection = RejectionRecord(
        **seen(observation),
        target=pod.spec.node_name,
        namespace=metadata.namespace,
        uid=metadata.uid,
        reason=status.reason,
        message=status.message,
        rejected_at=max(times, default=status.start_time) or observation.ts,
        owner_kind=owner.kind if owner else "",
        owner_name=owner.name if owner else "",
    )
    return [rejection]


def rejection_of_event(observation: Observation, event: Event, node: str) -> list[Record]:
    """Return the rejection that a kubelet's Event reports; it lacks the pod's owner."""
    involved = event.involved
    if event.reason not in UNSEEN_BY_SCHEDULER or not node or change_of(observation) == "DELETED":
        return []
    if involved.kind != "Pod" or not involved.uid:
        return []
    rejection = RejectionRecord(
        **seen(observation),
        target=node,
        namespace=involved.namespace,
        uid=involved.uid,
        reason=event.reason,
        message=event.text,
        rejected_at=event_time(event) or observation.ts,
    )
    return [rejection]
