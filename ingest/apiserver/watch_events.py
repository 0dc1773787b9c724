"""Reads a list page by page, and the lines of a watch's body (rules: list-and-watch)."""

import re
from collections.abc import AsyncGenerator
from typing import Final, NamedTuple

import aiohttp
import msgspec
from kubernetes_asyncio.client.api_client import ApiClient

from common.amounts import size
from common.text import plain
from ingest.apiserver.requests import ApiError, decode_status, get, read_body
from ingest.model.observation import if_decodable

LINE_LIMIT_BYTES: Final = 16 * 1024 * 1024 - 4096
"""Maximum size of an object: with it, the line of a capture stays within 16 MiB."""
HEAD_BYTES: Final = 64 * 1024
"""Bytes that are kept of a longer line: enough for its type and, for a built-in kind, its name and version."""


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
    """Empty if unknown."""


class StreamError(Exception):
    """The server reported within a watch that it cannot continue."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(str(error))
        self.error = error


_EVENT: Final = msgspec.json.Decoder(WatchEvent)
_VERSIONED: Final = msgspec.json.Decoder(_Versioned)
# the built-in kinds print these before anything that a user wrote; custom resources do not, and do not match
_HEAD: Final = re.compile(
    rb'\{"type":"(?P<type>[A-Z]+)","object":\{"kind":"[A-Za-z]+","apiVersion":"[a-z0-9./]+","metadata":\{'
    rb'"name":"(?P<name>[^"\\]+)",(?:"generateName":"[^"\\]*",)?(?:"namespace":"(?P<namespace>[^"\\]*)",)?'
    rb'(?:"selfLink":"[^"\\]*",)?"uid":"[^"\\]*","resourceVersion":"(?P<version>[^"\\]+)"'
)


def read_event(line: bytes) -> WatchEvent:
    """Decode a line; raises StreamError for an event of type ERROR, UNDECODABLE for anything but an event."""
    event = _EVENT.decode(line)
    if event.type == "ERROR":
        raise StreamError(ApiError(decode_status(event.object)))
    return event


def version_of(event: WatchEvent) -> str:
    """Return the version that the watch has reached with this event; empty if the event has none."""
    found = if_decodable(_VERSIONED.decode, event.object)
    return found.metadata.resource_version if found else ""


def read_oversized(head: bytes, size_bytes: int) -> Oversized:
    """Read the known parts at the beginning of a dropped line."""
    found = _HEAD.match(head)
    text = f"an object of {size(size_bytes)} is too large to be read"
    if found is None:
        return Oversized(text, "")
    fields = {name: (value or b"").decode(errors="replace") for name, value in found.groupdict().items()}
    name = "/".join(part for part in (fields["namespace"], fields["name"]) if part)
    return Oversized(f"{text}: {fields['type']} {plain(name)}, version {plain(fields['version'])}", fields["version"])


PAGE_OBJECTS: Final = 500
LIST_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=15, sock_read=60)


class _ListMetadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")


class List(msgspec.Struct, frozen=True):
    """Objects of one kind, not decoded."""

    metadata: _ListMetadata = _ListMetadata()
    items: list[msgspec.Raw] | None = None


class Page(NamedTuple):
    version: str
    objects: list[msgspec.Raw]
    last: bool


decode_list: Final = msgspec.json.Decoder(List).decode


async def pages(client: ApiClient, path: str, version: str, match: str = "") -> AsyncGenerator[Page, None]:
    """Yield the list of a resource at a version in pages of 500, with client-go's rules (delivery.md#watching).

    `version` is "" (most recent), "0" (any cached one) or a version; `match` is resourceVersionMatch. If the rest of
    a list has expired, the whole list is requested at once, so an object may appear twice. Raises ApiError,
    TooLargeError, msgspec.MsgspecError for an answer that is not a list, and transport errors.
    """
    given = {"resourceVersion": version, "resourceVersionMatch": match}
    whole = {name: value for name, value in given.items() if value}
    query = {**whole, "limit": str(PAGE_OBJECTS)}
    while True:
        try:
            async with get(client, path, query, LIST_TIMEOUT) as response:
                page = decode_list(await read_body(response))
        except ApiError as error:
            if not error.expired or "continue" not in query:
                raise
            query = whole
            continue
        token = page.metadata.continue_token
        yield Page(page.metadata.resource_version, page.items or [], last=not token)
        if not token:
            return
        query = {"limit": str(PAGE_OBJECTS), "continue": token}
