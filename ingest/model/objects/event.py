"""An Event of either API, with the fields that are kept."""

from datetime import datetime
from typing import Final

from ingest.model.numbers import Int32
from ingest.model.objects.base import KeptObject, in_utc

AUTOSCALERS: Final = ("karpenter", "eks-auto-mode/compute", "cluster-autoscaler")
"""Components that add nodes for pods without one. They write Events with the scheduler's reasons."""


class ObjectReference(KeptObject, frozen=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSource(KeptObject, frozen=True):
    component: str = ""
    host: str = ""


class EventSeries(KeptObject, frozen=True):
    count: Int32 = 0
    last_observed_time: datetime | None = None


class EventAnnotations(KeptObject, frozen=True, rename=None):
    offending_containers: str = ""
    offending_containers_usage: str = ""
    offending_pod: str = ""
    offending_pod_usage: str = ""
    starved_resource: str = ""


class EventMetadata(KeptObject, frozen=True):
    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    annotations: EventAnnotations | None = None


class Event(KeptObject, frozen=True):
    """An Event of core/v1 or events.k8s.io/v1, with each API's names for the same fields (rules: event-fields)."""

    metadata: EventMetadata
    type: str = ""
    reason: str = ""
    event_time: datetime | None = None
    series: EventSeries | None = None
    reporting_instance: str = ""
    involved_object: ObjectReference | None = None
    message: str | None = None
    source: EventSource | None = None
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    count: Int32 | None = None
    reporting_component: str = ""
    regarding: ObjectReference | None = None
    note: str | None = None
    reporting_controller: str = ""
    deprecated_source: EventSource | None = None
    deprecated_first_timestamp: datetime | None = None
    deprecated_last_timestamp: datetime | None = None
    deprecated_count: Int32 | None = None
    earliest: datetime | None = None
    """Bounds of its last occurrence, if a text has only its age; no API server writes them."""
    latest: datetime | None = None

    @property
    def involved(self) -> ObjectReference:
        """Return the object that it is about; one without a kind if it names none."""
        return self.involved_object or self.regarding or ObjectReference()

    @property
    def text(self) -> str:
        return self.message or self.note or ""

    @property
    def emitter(self) -> EventSource:
        return self.source or self.deprecated_source or EventSource()

    @property
    def component(self) -> str:
        """Return the component that emitted it (rules: event-fields)."""
        return self.emitter.component or self.reporting_component or self.reporting_controller


class EventAbout(KeptObject, frozen=True):
    """The object that an Event is about, under either API's field name."""

    involved_object: ObjectReference | None = None
    regarding: ObjectReference | None = None


class _Created(KeptObject, frozen=True):
    creation_timestamp: datetime | None = None


class EventTimes(KeptObject, frozen=True):
    """All times of an Event of either API."""

    metadata: _Created = _Created()
    event_time: datetime | None = None
    series: EventSeries | None = None
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    deprecated_first_timestamp: datetime | None = None
    deprecated_last_timestamp: datetime | None = None


def event_time(event: Event | EventTimes) -> datetime | None:
    """Return when it last occurred: the first of its times that is set (rules: event-fields)."""
    series = event.series.last_observed_time if event.series else None
    return in_utc(
        series
        or event.last_timestamp
        or event.deprecated_last_timestamp
        or event.event_time
        or event.first_timestamp
        or event.deprecated_first_timestamp
        or event.metadata.creation_timestamp
    )
