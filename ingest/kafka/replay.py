"""A capture into Kafka, as the live sources would have sent it: as fast as it goes, or at a multiple of real time."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, TypeAlias

from common.clock import SYSTEM, Clock
from common.errors import BadRecord
from ingest.kafka.dead_letters import bury
from ingest.kafka.metrics import RECORDS
from ingest.kafka.publish import Publisher
from ingest.model.observation import Observation, Observed, Position, Unreadable
from ingest.model.records import Record
from ingest.model.topics import MAX_MESSAGE_BYTES, Topics, encode_record, headers_of, key_of, kind_of
from ingest.normalize.dead_letters import PAYLOAD_BYTES, Buried, kept
from ingest.normalize.identity import Repeated, digest
from ingest.normalize.normalize import normalize

LONGEST_SLEEP_SECONDS: Final = 3600.0

Publish: TypeAlias = Callable[[Observation], Awaitable[Sequence["asyncio.Future[None]"]]]
"""Hands the messages of an observation over, in order; a future is done once Kafka has its message."""


@dataclass(slots=True)
class Published:
    """What a replay put into Kafka."""

    read: int = 0
    outside: int = 0
    """Not between `since` and `until`."""
    repeated: int = 0
    records: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)


class Feed:
    """Observations into the topics: normalised, keyed, and with dead letters for what cannot be used.

    The live sources and a replay send through it alike.
    """

    def __init__(self, publisher: Publisher, topics: Topics) -> None:
        self.published = Published()
        self._publisher = publisher
        self._topics = topics

    async def send(self, item: Observed | Unreadable) -> list["asyncio.Future[None]"]:
        """Send what an item holds; the futures are done when Kafka has all of it."""
        self.published.read += 1
        if isinstance(item, Unreadable):
            error = BadRecord(item.error_type, item.reason)
            return await self._bury(Buried.of(item.cluster, item.ts, item.position, error, kept(item.raw)))
        try:
            records = normalize(item.observation)
        except BadRecord as error:
            return await self._bury_observed(item, error)
        return [
            each for number, record in enumerate(records) for each in await self._send_record(record, number, item)
        ]

    async def _send_record(self, record: Record, number: int, item: Observed) -> list["asyncio.Future[None]"]:
        value = encode_record(record)
        if len(value) > MAX_MESSAGE_BYTES - PAYLOAD_BYTES:
            return await self._bury_observed(item, BadRecord("too_long", f"the record has {len(value)} bytes"))
        self.published.records[type(record).__name__] += 1
        RECORDS.labels(kind_of(record)).inc()
        key, headers = key_of(record.cluster, record.node), headers_of(record, f"{item.position}#{number}")
        return [await self._publisher.send(self._topics.of(record).name, key, value, headers)]

    async def _bury_observed(self, item: Observed, error: BadRecord) -> list["asyncio.Future[None]"]:
        observation = item.observation
        letter = Buried.of(observation.cluster, observation.ts, item.position, error, kept(item.raw))
        return await self._bury(letter)

    async def _bury(self, letter: Buried) -> list["asyncio.Future[None]"]:
        sent = []
        self.published.dead_letters[letter.error_type] += 1
        if (told := letter.record()) is not None:
            headers = headers_of(told, f"{letter.position}#dead_letter")
            topic = self._topics.of(told).name
            sent.append(await self._publisher.send(topic, key_of(told.cluster, ""), encode_record(told), headers))
        return [*sent, await bury(self._publisher, self._topics, letter)]


def publish_with(feed: Feed) -> Publish:
    """Observations through the feed, each placed by a digest: sent again after a restart, it is the same message."""

    async def publish(observation: Observation) -> Sequence["asyncio.Future[None]"]:
        position = Position(f"live/{observation.resource}", f"{digest(observation):016x}")
        return await feed.send(Observed(observation, position, bytes(observation.object)))

    return publish


async def replay_into_kafka(
    items: Iterable[Observed | Unreadable],
    publisher: Publisher,
    topics: Topics,
    *,
    speed: float | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    clock: Clock = SYSTEM,
) -> Published:
    """Publish all observations in their order; returns when Kafka has acknowledged everything.

    `speed` is how many seconds of event time pass in one second; None does not wait. `since` is inclusive, `until`
    exclusive. A run that is repeated puts everything into the topics again.
    """
    feed = Feed(publisher, topics)
    pace = _Pace(speed, clock)
    repeated = Repeated()
    for item in items:
        ts = item.ts if isinstance(item, Unreadable) else item.observation.ts
        if isinstance(item, Observed) and ts and ((since and ts < since) or (until and ts >= until)):
            feed.published.outside += 1
            continue
        if repeated(item):
            feed.published.repeated += 1
            continue
        await pace.wait_for(ts)
        await feed.send(item)
    await publisher.flush()
    return feed.published


class _Pace:
    """When an observation's turn has come."""

    def __init__(self, speed: float | None, clock: Clock) -> None:
        self._speed = speed
        self._clock = clock
        self._first: tuple[datetime, datetime] | None = None

    async def wait_for(self, ts: datetime | None) -> None:
        if self._speed is None or ts is None:
            return
        now = self._clock.now()
        if self._first is None:
            self._first = (ts, now)
        first_ts, began = self._first
        due_seconds = (ts - first_ts).total_seconds() / self._speed - (now - began).total_seconds()
        if due_seconds > 0:
            await self._clock.sleep(min(due_seconds, LONGEST_SLEEP_SECONDS))
