"""The states of a topic's logs: in memory, recovered from the changelog that they are written to."""

import asyncio
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ingest.kafka.publish import Publisher
from streams.fold.reducer import AnyReducer
from streams.kafka.changelog import Changelog, Epoch, RecordKey, encode_progress
from streams.kafka.codec import Folded, TableCodec

MAX_CACHED_LOGS: Final = 10_000


class Log(NamedTuple):
    partition: int
    """Of the source, and therefore of the changelog."""
    key: bytes


class LogStates:
    """States as `TableCodec` writes them. `topic` is the changelog's; what was read of it is in `changelog`."""

    def __init__(
        self, reducers: Sequence[AnyReducer], changelog: Changelog, topic: str, publisher: Publisher
    ) -> None:
        self._codec = TableCodec(reducers)
        self._changelog = changelog
        self._topic = topic
        self._publisher = publisher
        self._writer = secrets.randbits(63)
        self._decoded: dict[bytes, tuple[bytes, Folded]] = {}
        """States as they were last read or written, to save decoding them while no one else writes them."""

    def read(self, key: bytes) -> Folded:
        stored = self._changelog.get(key)
        cached = self._decoded.get(key)
        if cached is not None and cached[0] is stored:
            return cached[1]
        return self._codec.decode(stored)

    async def keep(self, log: Log, folded: Folded, generation: int) -> "asyncio.Future[None]":
        """Store a state, as of a generation of the group; done when the changelog has it."""
        key, value = log.key, self._codec.encode(folded)
        if len(self._decoded) >= MAX_CACHED_LOGS and key not in self._decoded:
            self._decoded.pop(next(iter(self._decoded)))
        self._decoded[key] = (value, folded)
        return await self._write(log.partition, RecordKey(Epoch(generation, self._writer), key).encode(), value)

    async def cover(self, logs: Iterable[Log], following: Mapping[int, int], generation: int) -> None:
        """Return when the changelog has it that the acknowledged states of these logs cover each partition up to the
        offset that follows, and has no older record of them. Progress is written last, so that a changelog never ends
        with a record that compaction removes.
        """
        epoch = Epoch(generation, self._writer)
        records: list[tuple[int, bytes, bytes | None]] = []
        for log in logs:
            records += [(log.partition, old, None) for old in self._changelog.superseded(log.key, epoch)]
        for partition, offset in following.items():
            records += [(partition, old, None) for old in self._changelog.superseded_progress(partition, epoch)]
            records.append((partition, RecordKey(epoch, None).encode(), encode_progress(offset)))
        await asyncio.gather(*[await self._write(*each) for each in records])

    async def forget(self, log: Log) -> None:
        """Delete all records of a log whose last state, which is acknowledged, is that no reducer has one."""
        self._decoded.pop(log.key, None)
        await asyncio.gather(
            *[await self._write(log.partition, key, None) for key in self._changelog.records(log.key)]
        )

    async def _write(self, partition: int, key: bytes, value: bytes | None) -> "asyncio.Future[None]":
        self._changelog.apply(partition, key, value)
        return await self._publisher.send(self._topic, key, value, partition=partition)
