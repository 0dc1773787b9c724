"""Publishes a capture to Kafka as the live sources would have: at maximum speed, or at a multiple of real time."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

import xxhash

from common.amounts import size
from common.clock import SYSTEM, Clock
from common.errors import BadRecord
from ingest.kafka.publish import RECORDS, Publisher, publish_dead_letter
from ingest.model.observation import Observed, Position, Unreadable
from ingest.model.records import Record
from ingest.model.topics import MAX_MESSAGE_BYTES, Topics, encode_record, headers_of, key_of, kind_of
from ingest.normalize.dead_letters import PAYLOAD_BYTES, Letter
from ingest.normalize.decode import Digests, digest
from ingest.normalize.normalize import normalize_with_warning
from ingest.normalize.redact import Received, kept

LONGEST_SLEEP_SECONDS: Final = 3600.0

Acknowledgements: TypeAlias = Sequence["asyncio.Future[None]"]
"""Acknowledgements of queued messages, in order; each is done once Kafka has its message."""
Publish: TypeAlias = Callable[[Received], Awaitable[Acknowledgements]]


@dataclass(slots=True)
class Published:
    read: int = 0
    outside: int = 0
    """Number of observations outside `since` and `until`."""
    repeated: int = 0
    records: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)


class _Message(NamedTuple):
    record: Record
    value: bytes


class Feed:
    """Puts observations into the topics: normalised and keyed, with dead letters. Live sources and replays use it."""

    def __init__(self, publisher: Publisher, topics: Topics, *, strict: bool = False) -> None:
        """If `strict`, texts that no component is known to write stay out of the topics."""
        self.published = Published()
        self._strict = strict
        self._publisher = publisher
        self._topics = topics

    async def send(self, item: Observed | Unreadable) -> Acknowledgements:
        """Send the content of an item; the futures are done when Kafka has all of it."""
        self.published.read += not (isinstance(item, Observed) and item.is_implied)
        if isinstance(item, Unreadable):
            error = BadRecord(item.error_type, item.reason)
            return await self._dead_letter(
                Letter.of(item.cluster, item.ts, item.position, error, kept(item.raw, strict=self._strict))
            )
        observation, position = item.observation, item.position
        messages, complaint = _messages(lambda: normalize_with_warning(observation, strict=self._strict))
        sent = await self._send(messages, position)
        if complaint is None:
            return sent
        raw = kept(item.raw, strict=self._strict)
        return [
            *sent,
            *await self._dead_letter(Letter.of(observation.cluster, observation.ts, position, complaint, raw)),
        ]

    async def publish(self, received: Received) -> Acknowledgements:
        """Publish an observation of a live source. Its digest identifies it, so it is the same after a restart."""
        self.published.read += 1
        source = f"live/{received.resource}"
        messages, complaint = _messages(lambda: received.normalize_with_warning(strict=self._strict))
        place = xxhash.xxh3_64_intdigest(b"".join(each.value for each in messages))
        sent = await self._send(messages, Position(source, f"{place:016x}"))
        if complaint is None:
            return sent
        observation = received.redacted(strict=self._strict)
        position = Position(source, f"{digest(observation):016x}")
        raw = kept(bytes(observation.object), strict=self._strict)
        return [
            *sent,
            *await self._dead_letter(Letter.of(observation.cluster, observation.ts, position, complaint, raw)),
        ]

    async def _send(self, messages: Sequence[_Message], position: Position) -> Acknowledgements:
        """Send messages. Messages for a cluster's log wait until Kafka has all earlier messages for nodes' logs.

        So facts in the cluster's log, for example that a pod was bound, are never missing on a node's log, even if
        this process dies in between. And a list that a worker passes on to nodes' logs overtakes no object.
        """
        sent = []
        for number, (record, value) in enumerate(messages):
            self.published.records[type(record).__name__] += 1
            RECORDS.labels(kind_of(record)).inc()
            key, headers = key_of(record.cluster, record.node), headers_of(record, f"{position}#{number}")
            topic = self._topics.of(record).name
            sent.append(await self._publisher.send(topic, key, value, headers, follows=not record.node))
        return sent

    async def _dead_letter(self, letter: Letter) -> Acknowledgements:
        sent = []
        self.published.dead_letters[letter.error_type] += 1
        self._publisher.dead_letters[letter.error_type] += 1
        if (record := letter.record()) is not None:
            headers = headers_of(record, f"{letter.position}#dead_letter")
            topic, key = self._topics.of(record).name, key_of(record.cluster, "")
            sent.append(await self._publisher.send(topic, key, encode_record(record), headers, follows=True))
        return [*sent, await publish_dead_letter(self._publisher, self._topics, letter)]


def _messages(
    normalize: Callable[[], tuple[list[Record], BadRecord | None]],
) -> tuple[list[_Message], BadRecord | None]:
    """Return the records with their messages' values, or none if one is too long for Kafka; and the faults."""
    try:
        records, complaint = normalize()
    except BadRecord as error:
        return [], error
    messages = [_Message(record, encode_record(record)) for record in records]
    longest = max((len(message.value) for message in messages), default=0)
    if longest > MAX_MESSAGE_BYTES - PAYLOAD_BYTES:
        return [], BadRecord("too_long", f"the record has {size(longest)}")
    return messages, complaint


async def replay_into_kafka(
    items: Iterable[Observed | Unreadable],
    publisher: Publisher,
    topics: Topics,
    *,
    speed: float | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    strict: bool = False,
    clock: Clock = SYSTEM,
) -> Published:
    """Publish all observations in their order; return when Kafka has acknowledged everything.

    `speed` is the number of seconds of event time for each second; None does not wait. `since` is inclusive, `until`
    exclusive. Repeating a run publishes everything again: the publisher's name shows that it is the same.
    """
    feed = Feed(publisher, topics, strict=strict)
    pace = _Pace(speed, clock)
    seen = Digests()
    for item in items:
        origin = item if isinstance(item, Unreadable) else item.observation
        ts = origin.ts
        if isinstance(item, Observed) and ts and ((since and ts < since) or (until and ts >= until)):
            feed.published.outside += 1
            continue
        if not seen.add(origin.cluster, ts, digest(origin)):
            feed.published.repeated += 1
            continue
        seen.evict_old_hours()
        await pace.wait_for(ts)
        await feed.send(item)
    await publisher.flush()
    return feed.published


class _Pace:
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
