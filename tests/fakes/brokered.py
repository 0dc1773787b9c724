"""A Kafka in memory, and workers that die while what they send is on its way to several of its topics."""

import asyncio
import math
import random
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple, cast

from ingest.kafka.publish import SENT, Publisher, PublisherNumber
from ingest.model.topics import Topics, topics
from streams.fold.reducer import AnyReducer
from streams.kafka.changelog import Changelog
from streams.kafka.message import Message
from streams.kafka.states import LogStates, Ownership
from streams.kafka.takeover import start
from streams.kafka.worker import LogFolder

TOPICS: Topics = topics("x", partitions=1)
SOURCES = (TOPICS.nodes.name, TOPICS.cluster.name)
BATCH = 12
"""Most messages of a batch."""
SPEEDS = (1.0, 1.0, 0.2, 0.02)


class Died(Exception):
    """A worker has sent all that it lives for."""


class Stored(NamedTuple):
    key: bytes
    value: bytes | None
    headers: Sequence[tuple[str, bytes]]


class Kafka:
    """Topics of one partition, and what was committed of those that workers read."""

    def __init__(self) -> None:
        self.topics: defaultdict[str, list[Stored]] = defaultdict(list)
        self.committed: dict[str, int] = dict.fromkeys(SOURCES, 0)
        self.generation = 0

    def put(self, topic: str, messages: Iterable[Stored]) -> None:
        self.topics[topic].extend(messages)

    def unread(self, topic: str, offset: int, most: int) -> list[Message]:
        there = self.topics[topic][offset : offset + most]
        return [
            Message(topic, 0, offset + number, 1000 + offset + number, key, value or b"", headers)
            for number, (key, value, headers) in enumerate(there)
        ]

    def changelog(self, topic: str) -> Changelog:
        """The changelog of a topic as the next worker reads it."""
        found = Changelog()
        for stored in self.topics[_changelog(topic)]:
            found.apply(0, *stored)
        found.own({0})
        return found


class Connection:
    """The publisher of a worker that dies when Kafka has stored so many of its messages.

    Each topic has the first of what was sent to it, one more than another. Sometimes Kafka has stored messages and
    its answer is lost: then they are sent again.
    """

    def __init__(self, kafka: Kafka, chance: random.Random, lives_for: float) -> None:
        self._kafka, self._chance, self._left = kafka, chance, lives_for
        self._name = f"{chance.getrandbits(64):x}"
        self._numbers: defaultdict[tuple[str, bytes], int] = defaultdict(int)
        self._speed: defaultdict[str, float] = defaultdict(lambda: chance.choice(SPEEDS), {"": 0.0})
        """The share of times that something is stored in each topic."""
        self._sent: defaultdict[str, deque[tuple[Stored, asyncio.Future[None]]]] = defaultdict(deque)

    async def send(
        self,
        topic: str,
        key: bytes,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes]] = (),
        partition: int | None = None,
    ) -> asyncio.Future[None]:
        if partition is None:
            self._numbers[topic, key] += 1
            headers = [*headers, (SENT, PublisherNumber(self._name, self._numbers[topic, key]).header())]
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sent[topic].append((Stored(key, value, headers), done))
        if self._chance.random() < 0.3:
            await asyncio.sleep(0)
        return done

    async def deliver(self) -> None:
        """Store what is sent, a message at a time and each topic's in order. Raises Died."""
        while True:
            waiting = [topic for topic, sent in self._sent.items() if sent]
            topic = self._chance.choice(waiting) if waiting else ""
            if self._chance.random() > self._speed[topic]:
                await asyncio.sleep(0)
                continue
            again = self._chance.randrange(1, 4) if self._chance.random() < 0.05 else 0
            self._kafka.put(topic, [stored for stored, _ in self._sent[topic]][:again])
            stored, done = self._sent[topic].popleft()
            self._kafka.put(topic, [stored])
            done.set_result(None)
            self._left -= 1
            if self._left <= 0:
                raise Died
            if self._chance.random() < 0.3:
                await asyncio.sleep(0)


class Worker:
    """Folds both topics at once, as the agents of a worker do, from where it takes them over. It dies when it has
    sent what it lives for, and some die when they have committed.
    """

    def __init__(self, reducers: Sequence[AnyReducer], kafka: Kafka, chance: random.Random, lives_for: float) -> None:
        self._reducers, self._kafka, self._chance = reducers, kafka, chance
        kafka.generation += 1
        self._generation = kafka.generation
        self._connection = Connection(kafka, chance, lives_for)
        self._dies = lives_for < math.inf
        self._offsets: dict[str, int] = {}

    async def run(self) -> None:
        """Until all is read and committed. Raises Died."""
        working = [asyncio.ensure_future(self._fold(topic)) for topic in SOURCES]
        delivering = asyncio.ensure_future(self._connection.deliver())
        try:
            done, _ = await asyncio.wait(
                {delivering, asyncio.ensure_future(_all(working))}, return_when=asyncio.FIRST_COMPLETED
            )
            for each in done:
                each.result()
        finally:
            for each in (delivering, *working):
                each.cancel()
            for each in (delivering, *working):
                with suppress(asyncio.CancelledError, Died):
                    await each

    async def _fold(self, topic: str) -> None:
        publisher = cast("Publisher", self._connection)
        changelog = self._kafka.changelog(topic)
        states = LogStates(self._reducers, changelog, _changelog(topic), publisher)
        folder = LogFolder(self._reducers, states, publisher, TOPICS)
        end = len(self._kafka.topics[topic])
        begins = start(topic, 0, self._kafka.committed[topic], changelog.covered(0), 0, end)
        assert begins.gaps == ()
        self._offsets[topic] = begins.offset
        while True:
            batch = self._kafka.unread(topic, self._offsets[topic], self._chance.randrange(1, BATCH))
            if batch:
                assert await folder.fold(batch, self._ownership(topic))
                self._offsets[topic] += len(batch)
            if self._kafka.committed[topic] < self._offsets[topic] and (not batch or self._chance.random() < 0.3):
                following = self._offsets[topic]
                assert await folder.write(self._ownership(topic))
                self._kafka.committed[topic] = following
                if self._dies and self._chance.random() < 0.2:
                    raise Died
            if all(self._kafka.committed[each] == len(self._kafka.topics[each]) for each in SOURCES):
                return
            await asyncio.sleep(0)

    def _ownership(self, topic: str) -> Ownership:
        return Ownership(self._generation, lambda: True, {0: self._offsets[topic]})


async def _all(tasks: Iterable[asyncio.Future[None]]) -> None:
    await asyncio.gather(*tasks)


def _changelog(topic: str) -> str:
    return f"{topic}-changelog"
