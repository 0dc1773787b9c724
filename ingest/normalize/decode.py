"""Identifies and decodes the items of a source, with everything that a replay needs."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final, NamedTuple, cast

import msgspec
import xxhash

from common.errors import BadRecord
from ingest.model.observation import Observation, Observed, Position, Unreadable
from ingest.model.records import AnyRecord, Record, SampleRecord, SummaryRecord
from ingest.model.samples import Packed, PodColumns, pack, unpack
from ingest.normalize.normalize import normalize_with_warning

_HOURS: Final = 4
_SECONDS_PER_HOUR: Final = 3600


def digest(item: Observation | Unreadable) -> int:
    """Return 64 bits that identify an observation within its cluster."""
    if isinstance(item, Unreadable):
        return xxhash.xxh3_64_intdigest(item.raw, seed=1)
    envelope = f"{item.ts.isoformat()}\0{item.source}\0{item.resource}\0{item.type}\0{item.node}"
    return xxhash.xxh3_64_intdigest(memoryview(item.object), seed=xxhash.xxh3_64_intdigest(envelope.encode()))


def hour_of(ts: datetime | None) -> str:
    """Return the hour of the observation time by which digests are stored; empty without a time."""
    return str(int(ts.timestamp()) // _SECONDS_PER_HOUR) if ts else ""


class Digests:
    """Digests of known items, by cluster and hour; `load` returns those of an hour that is not in memory."""

    def __init__(self, load: Callable[[str, str], Iterable[int]] = lambda _cluster, _hour: ()) -> None:
        self._load = load
        self._hours: OrderedDict[tuple[str, str], set[int]] = OrderedDict()

    def add(self, cluster: str, ts: datetime | None, value: int) -> bool:
        """Remember a digest; return False if it was already known."""
        known = self.of(cluster, hour_of(ts))
        if value in known:
            return False
        known.add(value)
        return True

    def of(self, cluster: str, hour: str) -> set[int]:
        key = (cluster, hour)
        if key not in self._hours:
            self._hours[key] = set(self._load(cluster, hour))
        elif len(self._hours) > 1:
            self._hours.move_to_end(key)
        return self._hours[key]

    def evict_old_hours(self) -> None:
        """Keep only the most recently used hours in memory."""
        while len(self._hours) > _HOURS:
            self._hours.popitem(last=False)


class Bad(NamedTuple):
    """The reason why an item, or its content, becomes a dead letter, and the bytes."""

    error_type: str
    reason: str
    raw: bytes


class Decoded(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """An item of a source: its records, at most one of a kind for each log, and its fault, if it has one. Impossible
    statistics give both. `digest` identifies it in its cluster.
    """

    position: Position
    cluster: str
    ts: datetime | None
    """When it was observed, aware; None for unreadable input without a known time."""
    digest: int = 0
    records: list[AnyRecord] = []
    numbers: Packed | None = None
    """Numbers of a sample's pods, in the form in which they land."""
    bad: Bad | None = None
    observed: bool = True
    """True if its envelope could be read, so that it is an observation."""
    fact: int = 0
    """Non-zero for an object of a dump, as in `Observed`. Folding it again is harmless, and facts of the same dump
    need it.
    """
    outside: bool = False
    """True if it is outside `since` and `until`; it then has only position, cluster, `ts` and `is_implied`."""
    is_implied: bool = False
    """True if it was derived from another one, and does not count as read."""
    texts: tuple[int, ...] = ()
    """Hashes that identify the texts of a dump, as in `Observed`."""

    def published(self, record: Record) -> Record:
        """Return one of `records`, or a record derived from one, in the form in which it is published."""
        if self.numbers is None or not isinstance(record, SampleRecord):
            return record
        pods, columns = record.pods, unpack(self.numbers)
        texts = {"namespace": pods.namespace, "pod": pods.pod, "uid": pods.uid, "volumes": pods.volumes}
        whole = PodColumns(**texts, **columns)  # type: ignore[arg-type]
        return SummaryRecord(ts=record.ts, cluster=record.cluster, node=record.node, sample=record.sample, pods=whole)


def decode(item: Observed | Unreadable, *, since: datetime | None = None, until: datetime | None = None) -> Decoded:
    """Decode an item; `since` is inclusive, `until` exclusive. Neither applies to an unreadable item."""
    if isinstance(item, Unreadable):
        unreadable = Bad(item.error_type, item.reason, item.raw)
        return Decoded(item.position, item.cluster, item.ts, digest(item), bad=unreadable, observed=False)
    observation = item.observation
    ts, cluster = observation.ts, observation.cluster
    if (since and ts < since) or (until and ts >= until):
        return Decoded(item.position, cluster, ts, outside=True, is_implied=item.is_implied)
    bad: Bad | None = None
    try:
        records, complaint = normalize_with_warning(observation, item.decoded)
        if complaint is not None:
            bad = Bad(complaint.error_type, str(complaint), item.raw)
    except BadRecord as error:
        bad = Bad(error.error_type, str(error), item.raw)
        records = []
    numbers = None
    if records and isinstance(records[0], SummaryRecord):
        numbers = pack(records[0].pods)
    folded = cast("list[AnyRecord]", [record.folded() for record in records])
    return Decoded(
        item.position,
        cluster,
        ts,
        digest(observation),
        folded,
        numbers,
        bad,
        fact=item.fact,
        is_implied=item.is_implied,
        texts=item.texts,
    )
