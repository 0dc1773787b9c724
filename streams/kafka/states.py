"""Keeps the states of a topic's logs in memory and writes them to the changelog that they are recovered from.

A state is a head record that names its pieces; each record's key has the epoch (generation and writer) that wrote it.

1. Write the pieces of the changed states under this epoch. Nothing reads them yet, so a crash leaves only garbage.

2. When all are acknowledged, write the heads. Each is one record, so a state is replaced entirely or not at all.

3. When these are acknowledged, delete the records that they replace, then write the progress: the offset of each
partition before which all is in states. It comes last, so that a changelog does not end with a tombstone.

4. If the changelog has another leader than before, write all states again before the progress. That leader may lack
what the one before it had acknowledged, and progress that relies on that does not count.

5. Between the steps, ask whether the partitions are still ours. If they are not, stop and acknowledge nothing: what
an earlier owner still writes has its own epoch, and recovery takes the furthest head (`streams.kafka.changelog`).
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, starmap
from typing import Final, NamedTuple

import structlog

from common.clock import SYSTEM, Clock
from ingest.kafka.publish import Publisher
from streams.fold.reducer import AnyReducer
from streams.kafka.changelog import Changelog, Epoch, Headers, RecordKey
from streams.kafka.codec import Folded
from streams.kafka.parts import Layout, PartsCodec, Written

MAX_CACHED_LOGS: Final = 10_000
IDLE_SECONDS: Final = 900.0
"""A log without changes for this long is kept encoded, in a tenth of the memory; a live node's log changes within 5
minutes.
"""
MAX_LOG_BYTES: Final = 64 * 1024 * 1024
"""Maximum compressed size of a log's stored state in bytes.

Above it, the oldest entries of mappings in buckets are left out; a state without such a mapping is written whole.
"""
logger = structlog.get_logger(__name__)


class StateKey(NamedTuple):
    partition: int
    """Partition of the source topic, and so of the changelog."""
    key: bytes


class Ownership(NamedTuple):
    """The group's generation under which states are read and written, and whether it still holds."""

    generation: int
    """Generation of the group."""
    is_ours: Callable[[], bool]
    """Returns False if the partitions are known to have gone to another worker."""
    following: Mapping[int, int]
    """The offset after the last folded message of each partition."""


class LeftOut(NamedTuple):
    """Entries that were dropped from a state over its size limit."""

    log: StateKey
    mapping: str
    """Reducer and field that lost entries."""
    entries: int


class _Record(NamedTuple):
    partition: int
    key: bytes
    value: bytes | None
    headers: Headers = ()


class _Cached(NamedTuple):
    """A decoded state, with the layout in which it was written."""

    head: bytes
    folded: Folded
    layout: Layout
    epoch: Epoch | None
    """Epoch of the layout."""
    changed_at: float
    """Time of the last change, by the monotonic clock."""


class LogStates:
    """Holds the states of one topic's logs, as `changelog` read them; `write` sends what `keep` collected."""

    def __init__(
        self,
        reducers: Sequence[AnyReducer],
        changelog: Changelog,
        topic: str,
        publisher: Publisher,
        max_log_bytes: int = MAX_LOG_BYTES,
        clock: Clock = SYSTEM,
        connection: Callable[[int], object] = lambda _: True,
    ) -> None:
        """`connection` identifies the one over which a partition of the changelog is written, None without one."""
        self._codec = PartsCodec(reducers)
        self._changelog = changelog
        self._topic = topic
        self._publisher = publisher
        self._max_log_bytes = max_log_bytes
        self._clock = clock
        self._writer = secrets.randbits(63)
        self._connection = connection
        self._connections: dict[int, object] = {}
        """Connections over which each partition of the changelog was written so far."""
        self._cached: dict[bytes, _Cached] = {}
        self._unwritten: dict[StateKey, Folded] = {}
        self.written_bytes = 0
        """Bytes of record values that were sent, without keys."""
        self.left_out = 0
        """Number of dropped entries so far."""

    def read(self, log: StateKey) -> Folded:
        """Return a log's state with everything folded, written or not."""
        folded = self._unwritten.get(log)
        if folded is not None:
            return folded
        stored, cached = self._changelog.get(log.key), self._cached.get(log.key)
        if stored is not None and cached is not None and cached.head is stored.head:
            return cached.folded
        folded = self._codec.decode(stored)
        if stored is not None:
            self._cache(log.key, _Cached(stored.head, folded, Layout(), None, self._clock.monotonic()))
        return folded

    def keep(self, log: StateKey, before: Folded, after: Folded, generation: int) -> None:
        """Collect a state for `write` if its offset moved, or if its record is of an earlier generation.

        The owner of that generation may still delete it.
        """
        if after.offset != before.offset or not self._changelog.has_epoch(log.key, Epoch(generation, self._writer)):
            self._unwritten[log] = after

    def abandon(self) -> None:
        """Drop the states that are not written, and return to those of the changelog."""
        self._unwritten.clear()

    async def write(self, ownership: Ownership, report: Callable[[LeftOut], Awaitable[None]]) -> bool:
        """Return when the changelog has the changed states and the progress, and earlier generations' records of both
        are deleted. False if the partitions went to another worker meanwhile: nothing may be acknowledged then.

        It reports left-out entries before any head has a state without them. The next worker finds nothing to leave
        out in such a state, so after a death in between the entries would be missing without a report.
        """
        unwritten, self._unwritten = self._unwritten, {}
        forgotten = [
            log
            for log in starmap(StateKey, self._changelog.logs_without_state(ownership.following))
            if log not in unwritten
        ]
        if not ownership.is_ours():
            return False
        heads, left_out = await self.write_pieces(unwritten, Epoch(ownership.generation, self._writer))
        for each in left_out:
            await report(each)
        if not ownership.is_ours():
            return False
        await self.write_heads(heads)
        await self._repeat_for_new_leaders(ownership.following)
        if not ownership.is_ours():
            return False
        await self.write_progress(ownership, unwritten, forgotten)
        while await self._repeat_for_new_leaders(ownership.following):
            await self.write_progress(ownership, (), ())
        idle_at = self._clock.monotonic() - IDLE_SECONDS
        for key in [key for key, each in self._cached.items() if each.changed_at <= idle_at]:
            del self._cached[key]
        return True

    async def write_pieces(
        self, unwritten: Mapping[StateKey, Folded], epoch: Epoch
    ) -> tuple[Sequence[_Record], Sequence[LeftOut]]:
        """Write the pieces that the heads of these states need; return the heads."""
        heads: list[_Record] = []
        left_out: list[LeftOut] = []
        sent: list[asyncio.Future[None]] = []
        for log, folded in unwritten.items():
            await asyncio.sleep(0)  # encoding thousands of states takes seconds
            written = self._encode(log, folded, epoch, left_out)
            for number, piece in written.pieces.items():
                key = RecordKey(epoch, log.key, number).encode()
                sent.append(await self._send(_Record(log.partition, key, piece)))
            heads.append(_Record(log.partition, RecordKey(epoch, log.key).encode(), written.head))
        await asyncio.gather(*sent)
        return heads, left_out

    async def write_heads(self, heads: Iterable[_Record]) -> None:
        """Send the heads of states whose pieces are acknowledged."""
        await self._send_all(heads)

    async def write_progress(
        self, ownership: Ownership, written: Iterable[StateKey], forgotten: Iterable[StateKey]
    ) -> None:
        """Delete the records that acknowledged heads replace, then write progress.

        If an earlier owner's progress is deleted, ours is also written before that, so that there is always one.
        """
        epoch = Epoch(ownership.generation, self._writer)

        def progress() -> Iterator[_Record]:
            for partition, offset in ownership.following.items():
                yield _Record(partition, *self._changelog.progress(partition, epoch, offset))

        records: list[_Record] = []
        for log in written:
            records += [_Record(log.partition, old, None) for old in self._changelog.superseded(log.key, epoch)]
        for log in forgotten:
            self._cached.pop(log.key, None)
            records += [_Record(log.partition, old, None) for old in self._changelog.records(log.key)]
        earlier = [
            _Record(partition, old, None)
            for partition in ownership.following
            for old in self._changelog.superseded_progress(partition, epoch)
        ]
        if earlier:
            await self._send_all(progress())
        await self._send_all(chain(records, earlier, progress()))  # progress relies on the records that remain

    async def _repeat_for_new_leaders(self, partitions: Iterable[int]) -> bool:
        """Write all states of partitions again whose leader is reached over another connection than before.

        Return True if there were any: progress from before that does not count.
        """
        is_repeated = False
        for partition in partitions:
            before, connection = self._connections.get(partition), self._connection(partition)
            while before is not None and connection is not before:
                logger.warning("states are written again: the changelog may have a leader without them", at=partition)
                await self._send_all([_Record(partition, *each) for each in self._changelog.states(partition)])
                before, connection, is_repeated = connection, self._connection(partition), True
            self._connections[partition] = connection
        return is_repeated

    def _encode(self, log: StateKey, folded: Folded, epoch: Epoch, left_out: list[LeftOut]) -> Written:
        cached, stored = self._cached.get(log.key), self._changelog.get(log.key)
        is_known = cached is not None and stored is not None and cached.head is stored.head and cached.epoch == epoch
        layout = cached.layout if cached is not None and is_known else Layout()
        written = self._codec.encode(folded, layout)
        while written.size > self._max_log_bytes:
            smaller, mapping, entries = self._codec.cut(folded, written.size, self._max_log_bytes)
            if not entries:
                break
            left_out.append(LeftOut(log, mapping, entries))
            self.left_out += entries
            folded, layout = smaller, Layout()
            written = self._codec.encode(folded, layout)
        self._cache(log.key, _Cached(written.head, folded, layout, epoch, self._clock.monotonic()))
        return written

    def _cache(self, key: bytes, cached: _Cached) -> None:
        if len(self._cached) >= MAX_CACHED_LOGS and key not in self._cached:
            self._cached.pop(next(iter(self._cached)))
        self._cached[key] = cached

    async def _send_all(self, records: Iterable[_Record]) -> None:
        await asyncio.gather(*[await self._send(each) for each in records])

    async def _send(self, record: _Record) -> "asyncio.Future[None]":
        self._changelog.apply(*record)
        self.written_bytes += len(record.value or b"")
        return await self._publisher.send(self._topic, record.key, record.value, record.headers, record.partition)
