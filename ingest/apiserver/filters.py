"""What is news about an object: a node's heartbeat is none, nor is a change of a field that nobody reads.

Also what was there before: after a list that starts anew, what vanished must be told (F4).
"""

from collections.abc import Iterable
from typing import Any, Final, Literal, NamedTuple

import msgspec

from ingest.model.objects import Node, Pod
from ingest.model.observation import UNDECODABLE
from ingest.model.resources import Resource

ObjectChange = Literal["ADDED", "MODIFIED", "DELETED"]


class Metadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class Identified(msgspec.Struct, frozen=True, gc=False):
    """The part of an object that says which one it is, and which version."""

    metadata: Metadata


class Key(NamedTuple):
    namespace: str
    name: str


class _Known(NamedTuple):
    uid: str
    kept: bytes


class News(NamedTuple):
    change: ObjectChange
    object: bytes


_IDENTIFIED: Final = msgspec.json.Decoder(Identified)
_NODE: Final = msgspec.json.Decoder(Node)
_POD: Final = msgspec.json.Decoder(Pod)


def identify(data: bytes | msgspec.Raw) -> Metadata:
    """Which object this is; raises UNDECODABLE where it is no object."""
    return _IDENTIFIED.decode(data).metadata


def kept(resource: str, data: bytes | msgspec.Raw, metadata: Metadata) -> bytes:
    """What is kept of an object, without its version: equal bytes are no news.

    The types of `ingest.model.objects` have no heartbeat times. Every version of an Event is news.
    """
    if resource == "events":
        return metadata.resource_version.encode()
    try:
        if resource == "nodes":
            return _without_version(_NODE.decode(data))
        if resource == "pods":
            return _without_version(_POD.decode(data))
    except UNDECODABLE:
        # a shape that normalisation will dead-letter is news whenever any of it changes
        return _generic(data)
    return _generic(data)


def _without_version(thing: Node | Pod) -> bytes:
    metadata = msgspec.structs.replace(thing.metadata, resource_version="")
    return msgspec.json.encode(msgspec.structs.replace(thing, metadata=metadata))


def _generic(data: bytes | msgspec.Raw) -> bytes:
    document: dict[str, Any] = msgspec.json.decode(data)
    for field in ("resourceVersion", "managedFields"):
        document["metadata"].pop(field, None)
    return msgspec.json.encode(document, order="sorted")


def _deleted(known: _Known, version: str) -> News:
    document: dict[str, Any] = msgspec.json.decode(known.kept)
    document["metadata"]["resourceVersion"] = version
    return News("DELETED", msgspec.json.encode(document))


class Inventory:
    """The objects of one resource as they were last seen, as far as they are kept."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._known: dict[Key, _Known] = {}

    def __len__(self) -> int:
        return len(self._known)

    def watched(self, change: ObjectChange, data: bytes | msgspec.Raw) -> list[News]:
        """What an event of a watch tells: itself, or nothing. Raises UNDECODABLE for no object."""
        metadata = identify(data)
        key = Key(metadata.namespace, metadata.name)
        if change == "DELETED":
            self._known.pop(key, None)
            return [News(change, bytes(data))]
        now = _Known(metadata.uid, kept(self._resource.name, data, metadata))
        if self._known.get(key) == now:
            return []
        self._known[key] = now
        return [News(change, bytes(data))]

    def listed(self, data: bytes | msgspec.Raw) -> tuple[Key, list[News]]:
        """What an object of a list tells beside what is known; raises UNDECODABLE for no object.

        The same name with another uid is another object: the old one is told as deleted.
        """
        metadata = identify(data)
        key = Key(metadata.namespace, metadata.name)
        before = self._known.get(key)
        now = _Known(metadata.uid, kept(self._resource.name, data, metadata))
        if before == now:
            return key, []
        self._known[key] = now
        if before is None:
            return key, [News("ADDED", bytes(data))]
        if before.uid == now.uid:
            return key, [News("MODIFIED", bytes(data))]
        ended = [_deleted(before, metadata.resource_version)] if self._resource.deletion_is_news else []
        return key, [*ended, News("ADDED", bytes(data))]

    def vanished(self, present: Iterable[Key | None], version: str) -> list[News]:
        """Forget what a complete list at `version` does not have, and tell it as deleted with what was kept of it."""
        gone = self._known.keys() - set(present)
        ended = [self._known.pop(key) for key in sorted(gone)]
        return [_deleted(known, version) for known in ended] if self._resource.deletion_is_news else []
