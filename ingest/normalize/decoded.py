"""Items of a source with what is in them decoded: all that a replay takes from one."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

import msgspec
from msgspec.structs import replace

from common.errors import BadRecord
from ingest.model.columns import TYPE_CODES, Packed, pack, unpack
from ingest.model.observation import Observed, Position, Unreadable
from ingest.model.records import USAGES, AnyRecord, Record, SummaryRecord
from ingest.normalize.identity import digest
from ingest.normalize.normalize import normalize


class Bad(NamedTuple):
    """Why an item, or what is in it, becomes a dead letter, and the bytes that it was."""

    error_type: str
    reason: str
    raw: bytes


class Decoded(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An item of a source: its records, at most one for each log, or what is bad about it.

    `digest` is 64 bits that tell it from every other of its cluster.
    """

    position: Position
    cluster: str
    ts: datetime | None
    """When it was observed, aware; of an unreadable one None where that could not be read."""
    digest: int = 0
    records: list[AnyRecord] = []
    numbers: Packed | None = None
    """The numbers of a summary's pods, which its record has no longer but for USAGES, as `pack` makes them."""
    bad: Bad | None = None
    observed: bool = True
    """It is an observation: its envelope could be read."""
    outside: bool = False
    """Not between `since` and `until`; nothing else is told of it."""

    def whole(self, record: Record) -> Record:
        """One of `records`, or one that came of it, with all that it had when it was decoded."""
        if self.numbers is not None and isinstance(record, SummaryRecord):
            return replace(record, pods=replace(record.pods, **unpack(self.numbers)))
        return record


_PACKED: Final[Mapping[str, list[Any]]] = {name: [] for name in TYPE_CODES.keys() - USAGES}


def decode(item: Observed | Unreadable, *, since: datetime | None = None, until: datetime | None = None) -> Decoded:
    """What is in an item; `since` is inclusive, `until` exclusive, and neither is asked of an unreadable one."""
    if isinstance(item, Unreadable):
        bad = Bad(item.error_type, item.reason, item.raw)
        return Decoded(item.position, item.cluster, item.ts, digest(item), bad=bad, observed=False)
    observation = item.observation
    ts, cluster = observation.ts, observation.cluster
    if (since and ts < since) or (until and ts >= until):
        return Decoded(item.position, cluster, ts, outside=True)
    try:
        records = cast("list[AnyRecord]", normalize(observation))
    except BadRecord as error:
        bad = Bad(error.error_type, str(error), item.raw)
        return Decoded(item.position, cluster, ts, digest(observation), bad=bad)
    numbers = None
    if records and isinstance(records[0], SummaryRecord):
        numbers = pack(records[0].pods)
        records = [replace(records[0], pods=replace(records[0].pods, **_PACKED))]
    return Decoded(item.position, cluster, ts, digest(observation), records, numbers)
