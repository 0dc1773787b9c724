"""Decides which changes of an object are emitted: no heartbeat of a node, and no change of only dropped fields.

It also remembers objects, so that after a new list, missing ones are emitted as deleted (rules: list-and-watch).
"""

from collections.abc import Iterable
from sys import intern
from typing import Any, Final, NamedTuple

import msgspec

from ingest.model.observation import if_decodable
from ingest.model.records import ObjectChange
from ingest.resources.decoding import identify
from ingest.resources.resource import ApiResource, Metadata


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
    """The node whose log has the object; empty for the cluster's log, None if that cannot be read."""


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
        """Forget each object that a complete list at `version` lacks, and return its deletion with the kept
        fields.
        """
        gone = self._known.keys() - set(present)
        ended = [self._known.pop(key) for key in sorted(gone)]
        return [news for known in ended for news in self._ended(known, version)]

    def by_log(self) -> dict[str | None, list[str]]:
        """Return the uids of all objects, by the node whose log has them; by None if that cannot be read."""
        uids: dict[str | None, list[str]] = {}
        for known in self._known.values():
            uids.setdefault(known.log, []).append(known.uid)
        return uids

    def _known_of(self, found: Object) -> _Known:
        if found.decoded is not None:
            log = self._resource.log(found.decoded) if self._resource.log else None
            return _Known(found.metadata.uid, self._resource.compared(found.decoded), log and intern(log))
        # an object that normalisation will dead-letter is news at any change
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
    # a copy, because the object is part of a page of up to hundreds of megabytes
    return News(change, bytes(found.raw), found.decoded)
