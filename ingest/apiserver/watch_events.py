"""The lines of a watch's body (rules: list-and-watch)."""

import re
from typing import Final, NamedTuple

import msgspec

from common.text import plain
from ingest.apiserver.requests import ApiError, Status
from ingest.model.observation import UNDECODABLE

LINE_LIMIT_BYTES: Final = 16 * 1024 * 1024 - 4096
"""So that the line of a capture around such an object stays within 16 MiB."""
HEAD_BYTES: Final = 64 * 1024
"""Bytes that are kept of a longer line: enough for its type and, in a built-in kind, its name and version."""


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    type: str
    """ADDED, MODIFIED, DELETED, BOOKMARK, ERROR, or what a later version may add."""
    object: msgspec.Raw


class _VersionOnly(msgspec.Struct, frozen=True, rename="camel", gc=False):
    resource_version: str = ""


class _Versioned(msgspec.Struct, frozen=True, gc=False):
    metadata: _VersionOnly = _VersionOnly()


class Oversized(NamedTuple):
    """The known parts of an object that was too large to be read."""

    text: str
    version: str
    """Empty where it is unknown."""


class StreamError(Exception):
    """The server reported within a watch that it cannot go on."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(str(error))
        self.error = error


_EVENT: Final = msgspec.json.Decoder(WatchEvent)
_VERSIONED: Final = msgspec.json.Decoder(_Versioned)
_STATUS: Final = msgspec.json.Decoder(Status)
# the built-in kinds print these before anything that a user wrote; custom resources do not and give no match
_HEAD: Final = re.compile(
    rb'\{"type":"(?P<type>[A-Z]+)","object":\{"kind":"[A-Za-z]+","apiVersion":"[a-z0-9./]+","metadata":\{'
    rb'"name":"(?P<name>[^"\\]+)",(?:"generateName":"[^"\\]*",)?(?:"namespace":"(?P<namespace>[^"\\]*)",)?'
    rb'(?:"selfLink":"[^"\\]*",)?"uid":"[^"\\]*","resourceVersion":"(?P<version>[^"\\]+)"'
)


def read_event(line: bytes) -> WatchEvent:
    """Decode a line; raises StreamError for an event of type ERROR, UNDECODABLE for no event at all."""
    event = _EVENT.decode(line)
    if event.type == "ERROR":
        raise StreamError(ApiError(_STATUS.decode(event.object)))
    return event


def version_of(event: WatchEvent) -> str:
    """The version that the watch has reached with this event; empty where it has none."""
    try:
        return _VERSIONED.decode(event.object).metadata.resource_version
    except UNDECODABLE:
        return ""


def read_oversized(head: bytes, size_bytes: int) -> Oversized:
    """Read the beginning of a dropped line."""
    found = _HEAD.match(head)
    size = f"an object of {size_bytes} bytes is too large to be read"
    if found is None:
        return Oversized(size, "")
    fields = {name: (value or b"").decode(errors="replace") for name, value in found.groupdict().items()}
    name = "/".join(part for part in (fields["namespace"], fields["name"]) if part)
    return Oversized(f"{size}: {fields['type']} {plain(name)}, version {plain(fields['version'])}", fields["version"])
