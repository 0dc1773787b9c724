"""Decides when facts of a dump hold that have no time: settings, topologies, and what a Node is.

A kubelet finds its version, its settings and its machine when it starts. So what was read of it holds for all
of the dump before, unless something else was read earlier: then since its last start between both.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from ingest.files.recognize import Thing
from ingest.messages.prefixes import is_kubelet_start
from ingest.model.objects.base import in_utc
from ingest.model.objects.event import Event, event_time
from ingest.model.objects.node import Node, NodeStatus
from ingest.model.observation import UNDECODABLE
from ingest.resources.events import EVENTS
from ingest.resources.nodes import NODES

_NODE: Final = msgspec.json.Decoder(Node)
_EVENT: Final = msgspec.json.Decoder(Event)
_STARTS: Final = b"Starting kubelet."


class Version(NamedTuple):
    """A Node as it was read at a time."""

    thing: Thing
    read_at: datetime


class Known(NamedTuple):
    """The facts of a Node, as an observation of type SNAPSHOT, and since when they hold."""

    thing: Thing
    since: datetime
    of: int
    """The version of the Node that they are from, by its place."""


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


def known_nodes(versions: Sequence[Version], begin: datetime, starts: Starts) -> list[Known]:
    """Return the facts of a Node before each of its versions was read, in order of time.

    The first version's hold since `begin`, or since the Node was made. A Node that cannot be decoded has none.
    """
    found: list[Known] = []
    before: tuple[Node, datetime] | None = None
    for number, version in enumerate(versions):
        node = _facts(version)
        if node is None:
            continue
        if before is None:
            since = max(begin, node.metadata.creation_timestamp or begin)
        elif before[0] != node:
            since = changed_at(before[1], version.read_at, starts.of(node.metadata.name))
        else:
            since = version.read_at
        if since < version.read_at:
            raw = msgspec.json.encode(node)
            thing = Thing("list", NODES.name, "SNAPSHOT", raw, identity=version.thing.identity)
            found.append(Known(thing, since, number))
        before = node, version.read_at
    return found


def _facts(version: Version) -> Node | None:
    """Return the facts of a Node that have no time. One made after it was read has no making."""
    try:
        node = _NODE.decode(version.thing.raw)
        made_at = in_utc(node.metadata.creation_timestamp)
        made_at = made_at if made_at is not None and made_at <= version.read_at else None
        metadata = msgspec.structs.replace(node.metadata, resource_version="", creation_timestamp=made_at)
        status = node.status
        kept = NodeStatus(capacity=status.capacity, allocatable=status.allocatable, node_info=status.node_info)
        return Node(metadata=metadata, status=kept)
    except UNDECODABLE:
        return None
