"""A pod and an event as witnesses of a failure to find a node (rules: blind-spots, event-counts)."""

from datetime import datetime
from typing import Final

from ingest.model.objects.event import Event
from ingest.model.objects.pod import Pod

UNSCHEDULABLE: Final = "Unschedulable"
FAILED_SCHEDULING: Final = "FailedScheduling"


def condition_text(pod: Pod) -> str:
    """The text of the condition PodScheduled while no node was found; else the empty text."""
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled":
            failed = condition.status == "False" and condition.reason == UNSCHEDULABLE
            return condition.message if failed else ""
    return ""


def text_time(event: Event) -> datetime | None:
    """When the text of an event was written: in a series the note stays that of the first occurrence
    (rules: event-counts).
    """
    last = event.last_timestamp or event.deprecated_last_timestamp
    return (None if event.series else last) or event.event_time or last or event.metadata.creation_timestamp


def pinned_node(pod: Pod) -> str:
    """The only node that a pod may go to by the field metadata.name (rules: blind-spots); empty where there are
    others.
    """
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    terms = affinity.required.node_selector_terms if affinity and affinity.required else None
    names: set[str] = set()
    for term in terms or ():
        values = [
            expression.values or []
            for expression in term.match_fields or ()
            if expression.key == "metadata.name" and expression.operator == "In"
        ]
        if len(values) != 1 or len(values[0]) != 1:
            return ""
        names.add(values[0][0])
    return names.pop() if len(names) == 1 else ""


def is_of_daemon_set(pod: Pod) -> bool:
    """Tell whether a DaemonSet made it, which makes pods only for nodes that its pods match."""
    return any(owner.kind == "DaemonSet" for owner in pod.metadata.owner_references or ())
