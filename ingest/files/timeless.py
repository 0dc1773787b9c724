"""Dates the facts of a dump that have no time: settings, topologies, and facts of Nodes and Pods.

A kubelet determines its version, its settings and its machine when it starts. So a reading also holds for all of the
dump before it. If an earlier reading differs, the later one holds from the kubelet's last start between the two.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from ingest.files.recognize import Thing
from ingest.messages.reasons import STARTS, is_kubelet_start
from ingest.model.objects.base import in_utc
from ingest.model.objects.event import Event, EventAbout, event_time
from ingest.model.objects.node import Node, NodeStatus
from ingest.model.objects.pod import Pod, PodStatus
from ingest.model.observation import UNDECODABLE, if_decodable
from ingest.resources.events import EVENTS
from ingest.resources.pods import PODS

_NODE: Final = msgspec.json.Decoder(Node)
_POD: Final = msgspec.json.Decoder(Pod)
_EVENT: Final = msgspec.json.Decoder(Event)
_EVENT_ABOUT: Final = msgspec.json.Decoder(EventAbout)
_STARTS: Final = STARTS[0].encode()


class Version(NamedTuple):
    """A Node or a Pod as read at one time."""

    thing: Thing
    read_at: datetime


class TimelessFacts(NamedTuple):
    """The facts of a Node or a Pod, as an observation of type SNAPSHOT, and since when they hold."""

    thing: Thing
    since: datetime
    number: int
    """Index of the version that has these facts."""


class Starts:
    """Finds starts of kubelets in the Events of a dump, which are decoded only if two versions of a Node differ."""

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
        if (event := if_decodable(_EVENT.decode, thing.raw)) is None:
            continue
        about, at = event.involved_object or event.regarding, event_time(event)
        text = event.message or event.note or ""
        if about is not None and about.kind == "Node" and at is not None and is_kubelet_start(event.reason, text):
            starts[about.name].append(at)
    return starts


def changed_at(earlier_at: datetime, read_at: datetime, starts: Iterable[datetime]) -> datetime:
    """Return when the facts read at `read_at` replaced others, which were read at `earlier_at`.

    It is the kubelet's last start between the two readings, or halfway if none is known.
    """
    between = [at for at in starts if earlier_at < at <= read_at]
    return max(between) if between else earlier_at + (read_at - earlier_at) / 2


class NeededPods(NamedTuple):
    """Selects the Pods of older Events and summaries, because facts of other Pods are not needed."""

    nodes: frozenset[str]
    """Nodes with a summary."""
    uids: frozenset[str]
    """UIDs of Pods that an Event is about."""

    def may_have(self, thing: Thing) -> bool:
        """Return False, without decoding, only for a Pod that is not needed; a mirror pod's UID is in an
        annotation.
        """
        return bool(self.nodes) or (
            bool(self.uids)
            and (not self.uids.isdisjoint(thing.identity) or b"mirror" in thing.raw or b"\\u" in thing.raw)
        )

    def has(self, pod: Pod) -> bool:
        uid, annotations = pod.metadata.uid, pod.metadata.annotations
        mirrored = annotations.config_mirror if annotations else ""
        return pod.spec.node_name in self.nodes or uid in self.uids or mirrored in self.uids


def timeless_facts(
    versions: Sequence[Version], earliest: datetime, starts: Starts, needed: NeededPods
) -> list[TimelessFacts]:
    """Return the facts of the first version of an object, and of each version that differs from the one before.

    `versions` have one UID, in order of time. The first holds since `earliest`, or since the object was created or
    the Pod started, if that is later. Versions that cannot be decoded, and Pods that are not needed, yield nothing.
    """
    found: list[TimelessFacts] = []
    before: tuple[Node | Pod, datetime] | None = None
    for number, version in enumerate(versions):
        facts = _pod(version, needed) if version.thing.resource == PODS.name else _node(version)
        if facts is None:
            continue
        began_at = facts.status.start_time if isinstance(facts, Pod) else None
        if before is None:
            since = max(earliest, began_at or facts.metadata.creation_timestamp or earliest)
        elif before[0] != facts:
            kubelet_starts = starts.of(facts.metadata.name) if isinstance(facts, Node) else ()
            since = changed_at(before[1], version.read_at, kubelet_starts)
        else:
            since = version.read_at
        if since < version.read_at:
            thing = version.thing
            raw = msgspec.json.encode(facts)
            found.append(
                TimelessFacts(Thing("list", thing.resource, "SNAPSHOT", raw, identity=thing.identity), since, number)
            )
        before = facts, version.read_at
    return found


def _node(version: Version) -> Node | None:
    """Return a Node with only its timeless facts.

    A creation after the reading is left out, because the clocks disagree.
    """
    try:
        node = _NODE.decode(version.thing.raw)
        made_at = _not_after(node.metadata.creation_timestamp, version.read_at)
        metadata = msgspec.structs.replace(node.metadata, resource_version="", creation_timestamp=made_at)
        status = node.status
        kept = NodeStatus(capacity=status.capacity, allocatable=status.allocatable, node_info=status.node_info)
        return Node(metadata=metadata, status=kept)
    except UNDECODABLE:
        return None


def _pod(version: Version, needed: NeededPods) -> Pod | None:
    """Return the timeless facts of a Pod on a node, if they are needed."""
    if not needed.may_have(version.thing):
        return None
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
    events = (if_decodable(_EVENT_ABOUT.decode, thing.raw) for thing in things)
    about = (event.involved_object or event.regarding for event in events if event)
    return frozenset(each.uid for each in about if each and each.kind == "Pod" and each.uid)
