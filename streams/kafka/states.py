"""The states of a topic's logs: in a table that is recovered from its changelog."""

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from ingest.kafka.publish import Publisher
from streams.fold.reducer import AnyReducer
from streams.kafka.codec import Folded, TableCodec

MAX_CACHED_LOGS: Final = 10_000


class Log(NamedTuple):
    partition: int
    """Of the source, and therefore of the changelog."""
    key: bytes


class Table(Protocol):
    """What a state is kept in."""

    def get(self, key: bytes) -> bytes | None: ...

    def put(self, key: bytes, value: bytes) -> None:
        """In memory alone."""
        ...

    def changelog(self) -> str:
        """The topic that the table is recovered from."""
        ...


class LogStates:
    """States as `TableCodec` writes them."""

    def __init__(self, reducers: Sequence[AnyReducer], table: Table, publisher: Publisher) -> None:
        self._codec = TableCodec(reducers)
        self._table = table
        self._publisher = publisher
        self._decoded: dict[bytes, tuple[bytes, Folded]] = {}
        """States as they were last read or written, to save decoding them while no one else writes them."""

    def read(self, key: bytes) -> Folded:
        stored = self._table.get(key)
        cached = self._decoded.get(key)
        if cached is not None and cached[0] is stored:
            return cached[1]
        return self._codec.decode(stored)

    async def keep(self, log: Log, folded: Folded) -> "asyncio.Future[None]":
        """Store a state; done when the changelog has it."""
        key, value = log.key, self._codec.encode(folded)
        self._table.put(key, value)
        if len(self._decoded) >= MAX_CACHED_LOGS and key not in self._decoded:
            self._decoded.pop(next(iter(self._decoded)))
        self._decoded[key] = (value, folded)
        return await self._publisher.send(self._table.changelog(), key, value, partition=log.partition)
