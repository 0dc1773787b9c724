"""Decides when facts of a dump hold that have no time: settings, topologies, and what a Node or a Pod is.

A kubelet finds its version, its settings and its machine when it starts. So what was read of it holds for all
of the dump before, unless something else was read earlier: then since its last start between both.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from ingest.files.recognize import Thing
from ingest.messages.reasons import is_kubelet_start
from ingest.model.objects.base import in_utc
from ingest.model.objects.event import Event, EventAbout, ObjectReference, event_time
from ingest.model.objects.node import Node, NodeStatus
from ingest.model.objects.pod import Pod, PodStatus
from ingest.model.observation import UNDECODABLE
from ingest.resources.events import EVENTS
from ingest.resources.pods import PODS

_NODE: Final = msgspec.json.Decoder(Node)
_POD: Final = msgspec.json.Decoder(Pod)
_EVENT: Final = msgspec.json.Decoder(Event)
_EVENT_ABOUT: Final = msgspec.json.Decoder(EventAbout)
_STARTS: Final = b"Starting kubelet."


class Version(NamedTuple):
    """A Node or a Pod as it was read at a time."""

    thing: Thing
    read_at: datetime


class Known(NamedTuple):
    """The facts of a Node or a Pod, as an observation of type SNAPSHOT, and since when they hold."""

    thing: Thing
    since: datetime
    of: int
    """The version of the object that they are from, by its place."""


class Starts:
    """When kubelets started, by the Events of a dump; they are only read if two readings differ."""

    def __init__(self, things: Iterable[Thing]) -> None:
        self._things = things
        self._by_node: dict[str, list[datetime]] | None = None

    def of(self, node: str) -> Sequence[datetime]:
        """Return the starts of the kubelet of a node."""
        if self._by_node is None:
            self._by_node = _starts(self._things)
        return self._by_node.get(node, [])


def _starts(things: Iterable[Thing]) -> dict[str, list[datetime]]:
    starts: defaultdict[str, list[datetime]] = defaultdict(list)
    for thing in things:
        if thing.resource != EVENTS.name or _STARTS not in thing.raw:
            continue
        try:
            event = _EVENT.decode(thing.raw)
        except UNDECODABLE:
            continue
        about, at = event.involved_object or event.regarding, event_time(event)
        text = event.message or event.note or ""
        if about is not None and about.kind == "Node" and at is not None and is_kubelet_start(event.reason, text):
            starts[about.name].append(at)
    return starts


def changed_at(before: datetime, read_at: datetime, starts: Iterable[datetime]) -> datetime:
    """Return when what was read at `read_at` began to hold, where something else was read `before` it.

    Without a start of the kubelet between them, everything else belongs to the nearer reading.
    """
    between = [at for at in starts if before < at <= read_at]
    return max(between) if between else before + (read_at - before) / 2


class Needed(NamedTuple):
    """The Pods whose facts something older in the dump can need; each other one costs nothing."""

    nodes: frozenset[str]
    """Nodes with a summary."""
    uids: frozenset[str]
    """UIDs of Pods that an Event is about."""

    def has(self, pod: Pod) -> bool:
        uid, annotations = pod.metadata.uid, pod.metadata.annotations
        mirrored = annotations.config_mirror if annotations else ""
        return pod.spec.node_name in self.nodes or uid in self.uids or mirrored in self.uids


def known(versions: Sequence[Version], begin: datetime, starts: Starts, needed: Needed) -> list[Known]:
    """Return the facts of a Node or a Pod before each of its versions was read, in order of time.

    The first version's hold since `begin`, or since it was made; of a Pod since its kubelet began with it. One that
    cannot be decoded has none. A Pod of the same name with another UID is another Pod.
    """
    found: list[Known] = []
    before: tuple[Node | Pod, datetime] | None = None
    for number, version in enumerate(versions):
        facts = _pod(version, needed) if version.thing.resource == PODS.name else _node(version)
        if facts is None:
            continue
        made_at = facts.status.start_time if isinstance(facts, Pod) else None
        if before is None:
            since = max(begin, made_at or facts.metadata.creation_timestamp or begin)
        elif before[0] != facts:
            between = starts.of(facts.metadata.name) if isinstance(facts, Node) else ()
            since = changed_at(before[1], version.read_at, between)
        else:
            since = version.read_at
        if since < version.read_at:
            thing = version.thing
            raw = msgspec.json.encode(facts)
            found.append(
                Known(Thing("list", thing.resource, "SNAPSHOT", raw, identity=thing.identity), since, number)
            )
        before = facts, version.read_at
    return found


def _node(version: Version) -> Node | None:
    """Return the facts of a Node that have no time. One made after it was read has no making."""
    try:
        node = _NODE.decode(version.thing.raw)
        made_at = _not_after(node.metadata.creation_timestamp, version.read_at)
        metadata = msgspec.structs.replace(node.metadata, resource_version="", creation_timestamp=made_at)
        status = node.status
        kept = NodeStatus(capacity=status.capacity, allocatable=status.allocatable, node_info=status.node_info)
        return Node(metadata=metadata, status=kept)
    except UNDECODABLE:
        return None


def _pod(version: Version, needed: Needed) -> Pod | None:
    """Return the facts of a Pod on a node that have no time, if they are needed."""
    try:
        pod = _POD.decode(version.thing.raw)
        if not pod.spec.node_name or not needed.has(pod):
            return None
        made_at, began_at = (
            _not_after(each, version.read_at) for each in (pod.metadata.creation_timestamp, pod.status.start_time)
        )
        metadata = msgspec.structs.replace(
            pod.metadata,
            resource_version="",
            creation_timestamp=made_at,
            deletion_timestamp=None,
            deletion_grace_period_seconds=None,
        )
        status = PodStatus(start_time=began_at, qos_class=pod.status.qos_class)
        return Pod(metadata=metadata, spec=pod.spec, status=status)
    except UNDECODABLE:
        return None


def _not_after(at: datetime | None, read_at: datetime) -> datetime | None:
    at = in_utc(at)
    return at if at is not None and at <= read_at else None


def pods_of_events(things: Iterable[Thing]) -> frozenset[str]:
    """Return the UIDs of pods that Events are about."""
    return frozenset(about.uid for thing in things if (about := _about(thing)) and about.kind == "Pod" and about.uid)


def _about(thing: Thing) -> ObjectReference | None:
    try:
        event = _EVENT_ABOUT.decode(thing.raw)
    except UNDECODABLE:
        return None
    return event.involved_object or event.regarding
