"""Events of core/v1 and of events.k8s.io: every version is news; the deletion after an hour is not."""

import re
from functools import partial
from typing import Final

from msgspec.structs import replace

from ingest.messages.modes import CREDENTIALS, STRICT, Mode
from ingest.model.objects.event import Event, EventAnnotations
from ingest.model.observation import Observation
from ingest.model.records import EventRecord, Record
from ingest.resources.decoding import kept, names_of, only_read
from ingest.resources.rejections import rejection_of_event
from ingest.resources.resource import ApiResource, change_of, seen

_PREEMPTED: Final = re.compile(r"(?:Preempted )?by [^\n]{1,600} on node ([a-z0-9][-a-z0-9.]{0,252})")
"""A scheduler's text, which by version names the pod that needs the room, only its UID, or neither."""


def event_node(event: Event) -> str:
    """Return the node that an event concerns, or "" (rules: event-fields): the node it is about, the node of the
    reporting kubelet, or the node from which a scheduler preempted a pod.
    """
    involved = event.involved
    if involved.kind == "Node":
        return involved.name
    if event.emitter.host:
        return event.emitter.host
    if "kubelet" in (event.reporting_component, event.reporting_controller):
        return event.reporting_instance
    preempted = _PREEMPTED.fullmatch(event.text) if event.reason == "Preempted" else None
    return preempted[1] if preempted else ""


def _passing(event: Event, mode: Mode) -> Event:
    texts = event.reason, event.message, event.note
    passing = mode.reason(event.reason), *(text and mode.message(event.reason, text) for text in texts[1:])
    return event if passing == texts else replace(event, reason=passing[0], message=passing[1], note=passing[2])


def _records(observation: Observation, event: Event) -> list[Record]:
    node, change = event_node(event), change_of(observation)
    record = EventRecord(**seen(observation), node=node, change=change, object=event)
    return [record, *rejection_of_event(observation, event, node)]


EVENTS: Final = ApiResource(
    name="events",
    decode=kept(Event, partial(_passing, mode=CREDENTIALS)),
    strict=partial(_passing, mode=STRICT),
    records=_records,
    reads=only_read(Event),
    annotations=names_of(EventAnnotations),
    word="event",
    kinds={"Event": r"v1|events\.k8s\.io/\w+"},
    paths=("/api/v1/events",),
    compared=lambda event: event.metadata.resource_version.encode(),
    bookmarks=False,
    deletion_is_news=False,
    namespaced=True,
)
