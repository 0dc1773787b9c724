"""Reads lines of a kubelet's log about evictions, image GC and admission (rules: kubelet-log).

A line with the content of an Event becomes an Event with the line's time, so that every analytic knows what the
recorder dropped. `KubeletLine` keeps the line itself. If an Event in the same dump reports the same eviction, refusal
or start (`is_reported`), only the line is kept, because it happened once.
"""

import re
from datetime import datetime
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from ingest.messages.modes import CREDENTIALS, STRICT, Mode
from ingest.model.machine import KubeletLine
from ingest.model.numbers import INT64_MAX
from ingest.model.objects.event import Event, EventMetadata, EventSource, ObjectReference
from ingest.model.observation import Observation
from ingest.model.records import EventRecord, Record
from ingest.resources.decoding import kept, only_read
from ingest.resources.rejections import rejection_of_event
from ingest.resources.resource import NodeResource, node_of, seen

MOST_PODS: Final = 512
_NUMBER: Final = re.compile(r"[0-9]{1,19}")
_OUT_OF: Final = re.compile(r"Node didn't have enough (?:resource|capacity): ([-A-Za-z0-9._/]{1,317})")
_PREDICATE: Final = re.compile(r"Predicate ([A-Za-z0-9]{1,64}) failed")
_CONDITION: Final = re.compile(r"[A-Za-z]{1,64}")
_RUNS: Final = (
    (re.compile(r"invalid capacity 0 on image filesystem"), "InvalidDiskCapacity"),
    (
        re.compile(r"(?i:failed to garbage collect required amount)|Insufficient free disk space"),
        "FreeDiskSpaceFailed",
    ),
)
"""The error of a run of image GC, and the Event with the same text."""


LOW_ON_SOMETHING: Final = "The node was low on compute resources."
"""Text of old kubelets for the eviction of a ranked pod, without a resource; used if the log lacks the rest."""
OWN_LIMIT: Final = "Its kubelet's log does not say which."
"""Leadsman's text for the eviction of a pod for its own limit, which the log lacks."""
SUCCESS: Final = "Eviction manager: pod is evicted successfully"
WAITING: Final = "Eviction manager: pods evicted, waiting for pod to be cleaned up"
"""Follows `SUCCESS`, with all pods that were evicted together."""
TIMED_OUT: Final = "Eviction manager: timed out waiting for pods to be cleaned up"
_OF_OTHERS: Final = frozenset(
    [
        ("Node", "CIDRAssignmentFailed"),
        ("Node", "CIDRNotAvailable"),
        ("Node", "DeletingAllPods"),
        ("Node", "DeletingNode"),
        ("Node", "NodePasswordValidationComplete"),
        ("Node", "RegisteredNode"),
        ("Node", "RemovingNode"),
        ("Node", "Synced"),
        ("Node", "TerminatingEvictedPod"),
        ("Pod", "FailedScheduling"),
        ("Pod", "NodeControllerEviction"),
        ("Pod", "NodeNotReady"),
        ("Pod", "Preempted"),
        ("Pod", "Scheduled"),
        ("Pod", "TaintManagerEviction"),
    ]
)
"""Events of controllers and of the scheduler, which K3s and RKE2 run in the kubelet's process."""


_STATUSES: Final = frozenset(
    [
        "NodeHasDiskPressure",
        "NodeHasInsufficientMemory",
        "NodeHasInsufficientPID",
        "NodeHasNoDiskPressure",
        "NodeHasSufficientMemory",
        "NodeHasSufficientPID",
        "NodeNotReady",
        "NodeNotSchedulable",
        "NodeReady",
        "NodeSchedulable",
    ]
)
"""Changes of its Node that a kubelet logs before it writes the Event."""


class Kind(NamedTuple):
    """The meaning of a text: what it is about, and the Event with the same content, if any."""

    kind: str
    reason: str = ""
    message: str = ""
    """Message with the names of its values in braces."""
    needs: str = ""
    """A value that the Event's message requires."""


SAID: Final = {
    "Starting kubelet main sync loop": Kind("kubelet_start", "Starting", "Starting kubelet."),
    "Eviction manager: attempting to reclaim": Kind(
        "threshold_met", "EvictionThresholdMet", "Attempting to reclaim {resourceName}", "resourceName"
    ),
    "Eviction manager: able to reduce resource pressure without evicting pods.": Kind("reclaimed"),
    "Eviction manager: must evict pod(s) to reclaim": Kind("must_evict"),
    "Eviction manager: pods ranked for eviction": Kind("ranked"),
    "Eviction manager: eviction criteria not yet met": Kind("in_grace"),
    "Evicting pod": Kind("evicted", "Evicted", "{message}", "message"),
    SUCCESS: Kind("evicted", "Evicted", "The node was low on resource: {resourceName}. ", "resourceName"),
    WAITING: Kind("evicted", "Evicted", "{message}", "message"),
    "Eviction manager: cannot evict a critical pod": Kind("spared"),
    "Eviction manager: unable to evict any pods from the node": Kind("none_evicted"),
    "Eviction manager: eviction thresholds have been met, but no pods are active to evict": Kind("none_evicted"),
    TIMED_OUT: Kind("not_cleaned_up"),
    "Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold": Kind(
        "image_gc"
    ),
    "Removing image to free bytes": Kind("image_removed"),
    "Image garbage collection failed once. Stats initialization may not have completed yet": Kind(
        "image_gc_failed", "", "{err}", "err"
    ),
    "Image garbage collection failed multiple times in a row": Kind(
        "image_gc_failed", "ImageGCFailed", "{err}", "err"
    ),
    "Failed to admit pod to node": Kind(
        "refused", "Evicted", "The node had condition: {nodeCondition}. ", "nodeCondition"
    ),
    "Predicate failed on Pod": Kind("refused", "", "{err}", "err"),
    "Pod admission denied": Kind("refused", "{reason}", "{message}", "message"),
    "Unable to allocate CPUs": Kind("not_allocated"),
    "Unable to allocate CPUs for pod": Kind("not_allocated"),
    "Allocate error": Kind("not_allocated"),
    "Unable to generate topology hints: requested number of devices unavailable": Kind("not_allocated"),
    "Pod evicted successfully": Kind("preempted", "Preempting", "Preempted in order to admit critical pod"),
    "Recording event message for node": Kind("node_status", "{event}", "Node {node} status is now: {event}", "event"),
    "Node became not ready": Kind("not_ready"),
    "Event occurred": Kind("event", "{reason}", "{message}", "reason"),
}
"""Texts of the kubelet's log that are read, with all their words; other lines are dropped."""
VALUES: Final = frozenset(
    [
        "amountToFree",
        "available",
        "condition",
        "err",
        "event",
        "highThreshold",
        "imageID",
        "kind",
        "lowThreshold",
        "message",
        "nodeCondition",
        "numCPUs",
        "object",
        "operation",
        "pod",
        "podUID",
        "pods",
        "reason",
        "request",
        "requested",
        "resource",
        "resourceName",
        "size",
        "threshold",
        "duration",
        "type",
        "usage",
    ]
)
"""Values that are kept."""
_MESSAGE: Final = re.compile(r'"message":"((?:[^"\\]|\\.){1,1000})"')
"""Finds the message in a condition that a line contains as JSON."""
_AMOUNTS: Final = ("amountToFree", "size")


class Line(msgspec.Struct, frozen=True):
    """The captured form of a line: `values` have klog's names, and a pod is `namespace/name`."""

    said: str
    values: dict[str, str | list[str]] = {}
    at: datetime | None = None
    """Its time, because two lines may be equal otherwise."""
    uid: str = ""
    """The pod's UID, if the log or the dump has it; else `namespace/name`."""
    earliest: datetime | None = None
    latest: datetime | None = None
    """Bounds of its time, if neither log nor dump has the year and the zone."""
    is_reported: bool = msgspec.field(name="told", default=False)
    """True if an Event of the same dump reports it."""


def event_of(line: Line, node: str, at: datetime) -> Event | None:
    """Return the Event with the content of a line; None if no Event has it."""
    known = SAID.get(line.said)
    if known is not None and known.kind == "evicted" and "message" in line.values:
        known = known._replace(message="{message}", needs="")
    if known is None or (known.needs and not line.values.get(known.needs)):
        return None
    values = {name: _text(line.values.get(name)) for name in VALUES}
    values["node"] = node
    values["nodeCondition"] = f"[{' '.join(_CONDITION.findall(values['nodeCondition']))}]"
    message, reason = _filled(known.message, values), _filled(known.reason, values) or _reason_of(values["err"])
    kind = values["kind"] if known.kind == "event" else "Pod" if values["pod"] else "Node"
    if not reason or kind not in {"Pod", "Node"} or values["operation"] == "resize":
        return None
    if known.kind == "node_status" and reason not in _STATUSES:
        return None
    if known.kind == "event" and ((kind == "Node" and values["object"] != node) or (kind, reason) in _OF_OTHERS):
        return None
    namespace, _, name = (values["object"] if known.kind == "event" else values["pod"]).rpartition("/")
    about = ObjectReference(kind, namespace, name, line.uid) if kind == "Pod" else ObjectReference(kind, name=node)
    return Event(
        metadata=EventMetadata("kubelet-log", namespace or "default"),
        type=values["type"] or ("Normal" if known.kind in {"kubelet_start", "node_status"} else "Warning"),
        reason=reason,
        message=message,
        involved_object=about,
        source=EventSource("kubelet", node),
        first_timestamp=at,
        last_timestamp=at,
        count=1,
        earliest=line.earliest,
        latest=line.latest,
    )


def _reason_of(error: str) -> str:
    """Return the reason of a kubelet's error: of image GC, or of a refusal."""
    if found := _OUT_OF.match(error):
        return f"OutOf{found[1]}"
    if found := _PREDICATE.match(error):
        return found[1]
    return next((reason for pattern, reason in _RUNS if pattern.search(error)), "")


def _filled(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], text)


def _text(value: str | list[str] | None) -> str:
    return " ".join(value) if isinstance(value, list) else value or ""


def _records(observation: Observation, line: Line) -> list[Record]:
    known, node = SAID.get(line.said), node_of(observation)
    if known is None:
        return []  # from another version of Leadsman, which knows more texts
    event = event_of(line, node, observation.ts)
    values = line.values
    pods = values.get("pods") or []
    amount = next((found for name in _AMOUNTS if (found := _number(_text(values.get(name)))) is not None), None)
    kept_line = KubeletLine(
        said=known.kind,
        pod=_text(values.get("pod")),
        uid=line.uid,
        resource=_text(values.get("resourceName")) or _text(values.get("resource")),
        pods=tuple(pods[:MOST_PODS]) if isinstance(pods, list) else (),
        image=_text(values.get("imageID")),
        amount_bytes=amount,
        message=(event.message or "")
        if event is not None
        else _text(values.get("err"))
        or _text(values.get("threshold"))
        or _message_in(_text(values.get("condition"))),
        earliest=line.earliest,
        latest=line.latest,
    )
    if event is None or line.is_reported:
        event = Event(metadata=EventMetadata("kubelet-log"))
    record = EventRecord(**seen(observation), node=node, change="ADDED", object=event, line=kept_line)
    return [record, *rejection_of_event(observation, event, node)]


def _message_in(condition: str) -> str:
    found = _MESSAGE.search(condition)
    return found[1] if found else ""


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) and int(text) <= INT64_MAX else None


def _passing(line: Line, mode: Mode) -> Line:
    """Return the line with only the kept parts of its free texts."""
    known = SAID.get(line.said)
    reason = _text(line.values.get("reason")) or (known.reason if known is not None else "")
    texts = {name: mode.message(reason, each) for name, each in line.values.items() if isinstance(each, str)}
    free = {name: texts[name] for name in ("condition", "err", "message") if name in texts}
    return replace(line, values={**line.values, **free})


KUBELET_LOG: Final = NodeResource(
    name="kubelet_log",
    decode=kept(Line, lambda line: _passing(line, CREDENTIALS)),
    strict=lambda line: _passing(line, STRICT),
    records=_records,
    reads=only_read(Line),
    fields=lambda fields: "said" in fields and "values" in fields,
    dated=True,
)
