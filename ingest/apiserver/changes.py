"""Turns a list or a watch into steps of its stream, and into inventories: the content of a complete list, for each
log that it concerns (delivery.md#watching). A log compares an inventory with its own state, so that no watcher has to
remember what another one published.

No heartbeat of a node and no change of only dropped fields is news. After a new list, missing objects are emitted as
deleted (rules: list-and-watch).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from sys import intern
from typing import Any, Final, NamedTuple, cast, get_args

import msgspec

from common.clock import Clock
from common.text import plain
from ingest.apiserver.watch_events import Oversized, WatchEvent, version_of
from ingest.model.observation import UNDECODABLE, Change, Observation, Origin, if_decodable, observation_of
from ingest.model.records import ObjectChange
from ingest.model.reports import Report, Tally, bookmark_observation, error_observation
from ingest.resources.decoding import identify
from ingest.resources.resource import ApiResource, Metadata, on_cluster


class _Identified(msgspec.Struct, frozen=True, gc=False):
    metadata: Metadata


class Key(NamedTuple):
    namespace: str
    name: str

    @classmethod
    def of(cls, metadata: Metadata) -> "Key":
        return cls(metadata.namespace, metadata.name)


class _Known(NamedTuple):
    uid: str
    compared: bytes
    log: str | None = None
    """The node whose log has the object, empty for the cluster's log; None if that cannot be read."""


class News(NamedTuple):
    change: ObjectChange
    object: bytes
    decoded: Any = None
    """The decoded object; None if it does not fit its resource's schema."""


class Object(NamedTuple):
    """An object from a list or a watch, decoded once."""

    metadata: Metadata
    raw: msgspec.Raw
    decoded: Any
    """The same as `News.decoded`."""


_IDENTIFIED: Final = msgspec.json.Decoder(_Identified)


def metadata_of(raw: bytes | msgspec.Raw) -> Metadata:
    """Return the metadata of an object of any resource; raises UNDECODABLE for other bytes."""
    return _IDENTIFIED.decode(raw).metadata


class Inventory:
    """Remembers the last seen kept fields of each object of one resource."""

    def __init__(self, resource: ApiResource[Any]) -> None:
        self._resource = resource
        self._known: dict[Key, _Known] = {}

    def __len__(self) -> int:
        return len(self._known)

    def read(self, raw: msgspec.Raw) -> Object:
        """Read an object; raises UNDECODABLE if the bytes are not an object of any shape."""
        decoded = if_decodable(self._resource.decode, raw)
        return Object(metadata_of(raw) if decoded is None else identify(decoded), raw, decoded)

    def watched(self, change: ObjectChange, found: Object) -> list[News]:
        """Return the event itself if it is news, else nothing."""
        key = Key.of(found.metadata)
        if change == "DELETED":
            self._known.pop(key, None)
            return [_news(change, found)]
        now = self._known_of(found)
        if self._known.get(key) == now:
            return []
        self._known[key] = now
        return [_news(change, found)]

    def listed(self, found: Object) -> list[News]:
        """Return a listed object if it is news, after the deletion of an object of the same name with another uid."""
        key = Key.of(found.metadata)
        before = self._known.get(key)
        now = self._known_of(found)
        if before == now:
            return []
        self._known[key] = now
        if before is None:
            return [_news("ADDED", found)]
        if before.uid == now.uid:
            return [_news("MODIFIED", found)]
        return [*self._ended(before, found.metadata.resource_version), _news("ADDED", found)]

    def vanished(self, present: Iterable[Key], version: str) -> list[News]:
        """Forget each object that a complete list at `version` lacks, and return its deletion with kept fields."""
        gone = self._known.keys() - set(present)
        ended = [self._known.pop(key) for key in sorted(gone)]
        return [news for known in ended for news in self._ended(known, version)]

    def by_log(self) -> dict[str | None, list[str]]:
        """Return the uids of all objects, by the node whose log has them; None is the key if that cannot be read."""
        uids: dict[str | None, list[str]] = {}
        for known in self._known.values():
            uids.setdefault(known.log, []).append(known.uid)
        return uids

    def _known_of(self, found: Object) -> _Known:
        if found.decoded is not None:
            log = self._resource.log(found.decoded) if self._resource.log else None
            return _Known(found.metadata.uid, self._resource.compared(found.decoded), log and intern(log))
        # a shape that normalisation will dead-letter is news whenever any of it changes
        document: dict[str, Any] = msgspec.json.decode(found.raw)
        for field in ("resourceVersion", "managedFields"):
            document["metadata"].pop(field, None)
        return _Known(found.metadata.uid, msgspec.json.encode(document, order="sorted"))

    def _ended(self, known: _Known, version: str) -> list[News]:
        if not self._resource.deletion_is_news:
            return []
        document: dict[str, Any] = msgspec.json.decode(known.compared)
        document["metadata"]["resourceVersion"] = version
        return [News("DELETED", msgspec.json.encode(document))]


def _news(change: ObjectChange, found: Object) -> News:
    # a copy: the object is a part of a page that may have hundreds of megabytes
    return News(change, bytes(found.raw), found.decoded)


KEYS_OF_A_PAGE: Final = 4000
"""A key has at most 253 characters, so that a page stays below 1 MiB."""


class InventoryPage(NamedTuple):
    node: str
    object: msgspec.Raw
    """The observation's object in a capture (capture-format.md)."""


def inventories(resource: ApiResource[Any], uids: Mapping[str | None, Iterable[str]]) -> Iterator[InventoryPage]:
    """Yield a resource's inventories, from its uids by the node whose log has them; nothing if no log is reconciled.

    An object without a known node is in the inventory of every log, because it exists.
    """
    if resource.log is None:
        return
    elsewhere = set(uids.get(None, ()))
    nodes = sorted(node for node in uids if node)
    for node in ("", *nodes):
        yield from _split(node, {*uids.get(node, ()), *elsewhere}, of_logs=False)
    if resource.log is not on_cluster and not elsewhere:
        yield from _split("", nodes, of_logs=True)


def _split(node: str, keys: Iterable[str], *, of_logs: bool) -> Iterator[InventoryPage]:
    """Split sorted keys into pages. Each page has the bounds between which it is complete."""
    ordered = sorted(keys)
    for first in range(0, len(ordered) or 1, KEYS_OF_A_PAGE):
        page = ordered[first : first + KEYS_OF_A_PAGE]
        content: dict[str, Any] = {"keys": page}
        if of_logs:
            content["ofLogs"] = True
        if first:
            content["after"] = ordered[first - 1]
        if first + KEYS_OF_A_PAGE < len(ordered):
            content["until"] = page[-1]
        yield InventoryPage(node, msgspec.Raw(msgspec.json.encode(content)))


_CHANGES: Final = frozenset(get_args(ObjectChange))


class Step(NamedTuple):
    stream: str
    version: str
    """Version from which the stream resumes once all steps up to this one are acknowledged; empty in an incomplete
    list.
    """
    observation: Observation | None
    """The observation; None if a step has no news: a bookmark, a heartbeat, the end of a list."""
    decoded: Any = None
    """The decoded object, if it was decoded before."""


class Changes:
    """Turns objects of one resource into steps. Remembers the known objects, and counts those that are not emitted.

    `glance` is called with the name and the text of each existing object, before it is decided whether it is news.
    """

    def __init__(
        self,
        resource: ApiResource[Any],
        cluster: str,
        clock: Clock,
        tally: Tally,
        glance: Callable[[str, msgspec.Raw], None],
    ) -> None:
        self._resource = resource
        self._cluster = cluster
        self._clock = clock
        self._tally = tally
        self._glance = glance
        self._inventory = Inventory(resource)

    @property
    def known(self) -> int:
        return len(self._inventory)

    def forget(self) -> None:
        self._inventory = Inventory(self._resource)

    def listed(self, data: msgspec.Raw) -> tuple[Key | None, list[Step]]:
        """Return an object's key and the news about it in a list; the key is None if the object cannot be read."""
        try:
            found = self._inventory.read(data)
            news = self._inventory.listed(found)
        except UNDECODABLE as problem:
            return None, [self._unreadable(problem)]
        self._glance(found.metadata.name, data)
        return Key.of(found.metadata), [self._step(thing, "list") for thing in news]

    def vanished(self, present: Iterable[Key | None], version: str) -> Iterator[Step]:
        """Yield a deletion for each known object that a complete list at `version` lacks.

        Each has the time at which it is yielded. Thousands wait for a queue, and other steps are queued between them.
        """
        for thing in self._inventory.vanished(filter(None, present), version):
            yield self._step(thing, "list")

    def watched(self, event: WatchEvent, version: str) -> list[Step]:
        """Return the steps of a watch event at `version`; the last one carries the version that the event reaches."""
        if event.type not in _CHANGES:
            self.count("bookmark" if event.type == "BOOKMARK" else "unknown_type")
            return [self.reached(version_of(event) or version)]
        change = cast("ObjectChange", event.type)
        try:
            found = self._inventory.read(event.object)
            news = self._inventory.watched(change, found)
        except UNDECODABLE as problem:
            return [self._unreadable(problem)._replace(version=version_of(event) or version)]
        version = found.metadata.resource_version or version
        if change != "DELETED":
            self._glance(found.metadata.name, event.object)
        if not news:
            self.count("unchanged")
            return [self.reached(version)]
        return [self._step(thing, "watch")._replace(version=version) for thing in news]

    def oversized(self, found: Oversized, version: str) -> list[Step]:
        self.count("oversized")
        return [self.error(f"{self._resource.name}: {found.text}")._replace(version=version)]

    def reached(self, version: str) -> Step:
        return Step(self._resource.name, version, None)

    def inventory(self) -> Iterator[Step]:
        """Yield the inventories for all logs, from the list that just ended."""
        for page in inventories(self._resource, self._inventory.by_log()):
            yield self._seen("list", page.object, "INVENTORY", page.node)

    def began(self, since: datetime) -> Step:
        """Return a bookmark: the stream began with the list that just ended and was requested at `since`."""
        bookmark = bookmark_observation(self._clock.now(), self._cluster, self._resource.name, since=since)
        return Step(self._resource.name, "", bookmark)

    def error(self, text: str) -> Step:
        return self._report(Report(text))

    def gap(self, text: str, since: datetime | None) -> Step:
        return self._report(Report(text, "gap", since))

    def _report(self, report: Report) -> Step:
        observation = error_observation(self._clock, self._cluster, "watch", self._resource.name, report)
        return Step(self._resource.name, "", observation)

    def count(self, happening: str) -> None:
        self._tally[self._resource.name, happening] += 1

    def _unreadable(self, problem: Exception) -> Step:
        self.count("undecodable")
        return self.error(f"{self._resource.name}: an object cannot be read: {plain(problem)}")

    def _step(self, news: News, source: Origin) -> Step:
        return self._seen(source, news.object, news.change, decoded=news.decoded)

    def _seen(
        self, source: Origin, body: bytes | msgspec.Raw, change: Change, node: str = "", decoded: Any = None
    ) -> Step:
        name = self._resource.name
        return Step(
            name, "", observation_of(self._clock.now(), self._cluster, source, name, body, node, change), decoded
        )
