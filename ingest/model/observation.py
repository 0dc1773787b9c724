"""Defines the observation: an object, answer or file as it was received, and when (capture-format.md)."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

T = TypeVar("T")
Origin: TypeAlias = Literal["list", "watch", "kubelet", "agent"]
EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)
"""Upper bound of an observation's time, exclusive; the lower bound is inclusive."""
Change: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "SNAPSHOT", "ERROR", "INVENTORY", "BOOKMARK"]


class Observation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A line of a capture; decoding keeps the bytes of `object` unchanged.

    `ts` is an aware UTC time; `node` is empty for observations of the API server, except inventories of nodes' logs.
    """

    ts: datetime
    cluster: str
    source: Origin
    resource: str
    """A name of `ingest.resources.table`; a line of any other is a dead letter."""
    type: Change
    node: str = ""
    object: msgspec.Raw


def observation_of(
    ts: datetime,
    cluster: str,
    source: Origin,
    resource: str,
    body: bytes | msgspec.Raw,
    node: str = "",
    change: Change = "SNAPSHOT",
) -> Observation:
    """Build the observation of an object or answer, which is JSON."""
    return Observation(
        ts=ts, cluster=cluster, source=source, resource=resource, type=change, node=node, object=msgspec.Raw(body)
    )


class Position(NamedTuple):
    """The place where an observation was read, for error messages."""

    source: str
    """A file's path, or a topic's name."""
    place: str
    """A line's number, or partition and offset."""

    def __str__(self) -> str:
        return f"{self.source}:{self.place}"


class Observed(NamedTuple):
    """An observation, where it was read, and the bytes of its line for a dead letter."""

    observation: Observation
    position: Position
    raw: bytes
    decoded: Any = None
    """The decoded object, if it was decoded with the line."""
    fact: int = 0
    """Non-zero if it is from a dump, whose objects were read at one time, not as they changed:

    64 bits that identify it, the same whenever it is read. A fact from a text depends on the rest of the dump, and
    has FROM_TEXT.
    """
    is_implied: bool = False
    """True if it was derived from another observation, and does not count as read."""
    texts: tuple[int, ...] = ()
    """Identifies the texts of a dump, together with FROM_TEXT, in the dump's first fact."""


FROM_TEXT: Final = 1
"""The `fact` of everything from logs and tables."""


class Unreadable(NamedTuple):
    """Bytes of a source that are not an observation; they become a row of `dead_letters`."""

    position: Position
    error_type: str
    """One of a few values: see `ingest.files.envelope`."""
    reason: str
    raw: bytes
    ts: datetime | None = None
    """The time of observation, if it could be read."""
    cluster: str = ""


UNDECODABLE: Final = (RecursionError, UnicodeDecodeError, msgspec.MsgspecError)
"""Errors that msgspec raises for bytes that do not have the expected form."""


def if_decodable(decode: Callable[[Any], T], data: Any) -> T | None:
    """Decode the data; None if it does not have the expected form."""
    try:
        return decode(data)
    except UNDECODABLE:
        return None
