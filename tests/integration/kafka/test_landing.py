"""Intent, insert, commit against a real Kafka: what is stored once, twice under one token, and never half."""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

from components.kafka import Kafka
from components.lag import lag
from ingest.kafka.admin import ensure_topics
from ingest.kafka.publish import Publisher
from ingest.model.topics import Topic
from streams.kafka.gaps import Gaps
from streams.kafka.landing.consumer import CHECK_SECONDS, Landing
from streams.kafka.landing.portion import Portion
from streams.kafka.landing.resume import Landed
from streams.kafka.landing.store import TransientFailure
from streams.kafka.settings import LandSettings
from waiting import until

pytestmark = pytest.mark.components("kafka")

SETTINGS = LandSettings(batch_seconds=0.05)


class Crash(Exception):
    """The process dies here."""


@dataclass
class Store:
    """Remembers what it was given, by token as ClickHouse does; `meets` happens before or after it."""

    stored: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    tried: list[str] = field(default_factory=list)
    ends: dict[TopicPartition, Landed] = field(default_factory=dict)
    before: Callable[[], None] = lambda: None
    after: Callable[[], None] = lambda: None

    def __call__(self, portion: Portion, landed: Mapping[TopicPartition, Landed]) -> None:
        self.before()
        values = tuple(message.value for message in portion.messages)
        self.tried.append(portion.token)
        assert self.stored.setdefault(portion.token, values) == values
        self.ends |= landed
        self.after()

    def landed(self, _: str) -> dict[TopicPartition, Landed]:
        return dict(self.ends)

    def resume_from(self, landed: Mapping[TopicPartition, Landed]) -> None:
        self.ends |= landed

    def values(self) -> list[bytes]:
        return sorted(value for values in self.stored.values() for value in values)


class Log:
    """One topic with some numbered messages, and who lands it."""

    def __init__(self, kafka: Kafka, partitions: int = 1) -> None:
        self.servers = kafka.bootstrap_servers
        self.topic = Topic(f"t{uuid.uuid4().hex}", partitions, 1, "")
        self.sent: list[bytes] = []

    async def send(self, messages: int) -> None:
        await ensure_topics(self.servers, [self.topic])
        async with Publisher(self.servers) as publisher:
            for number in range(len(self.sent), len(self.sent) + messages):
                self.sent.append(b"%06d" % number)
                await publisher.send(self.topic.name, b"key %d" % number, self.sent[-1])
            await publisher.flush()

    def landing(self, store: Store, instance: str = "0", settings: LandSettings = SETTINGS) -> Landing:
        name = self.topic.name
        return Landing([name], self.servers, store, group=name, instance=instance, settings=settings)

    async def land(self, store: Store, *instances: str) -> None:
        """Until all is landed, or a store fails; no lander is left in the group then."""
        stop = asyncio.Event()
        landings = [self.landing(store, instance).run(stop) for instance in instances or ("0",)]
        running = [*map(asyncio.ensure_future, landings)]
        await until(lambda: any(each.done() for each in running) or self.landed())
        stop.set()
        for ended in await asyncio.gather(*running, return_exceptions=True):
            if isinstance(ended, BaseException):
                raise ended

    async def landed(self) -> bool:
        return not await lag(self.servers, self.topic.name, [self.topic.name])


def crash() -> None:
    raise Crash


@pytest.mark.asyncio
async def test_every_message_is_stored_once(kafka: Kafka) -> None:
    log, store = Log(kafka, partitions=3), Store()
    await log.send(500)
    await log.land(store)
    assert store.values() == log.sent
    assert len(store.tried) == len(store.stored)


@pytest.mark.asyncio
async def test_a_range_that_was_begun_is_stored_first_and_alone_after_a_crash_before_the_insert(kafka: Kafka) -> None:
    log, store = Log(kafka), Store()
    await log.send(10)
    with pytest.raises(Crash):
        await log.land(Store(before=crash))
    await log.send(10)
    await log.land(store)
    assert store.tried[0].startswith(f"{log.topic.name}:0:0-9@")
    assert store.values() == log.sent


@pytest.mark.asyncio
async def test_a_range_whose_commit_was_lost_is_stored_again_under_its_token(kafka: Kafka) -> None:
    log, store = Log(kafka), Store(after=crash)
    await log.send(10)
    with pytest.raises(Crash):
        await log.land(store)
    store.after = lambda: None
    await log.send(10)
    await log.land(store)
    assert [each.partition("@")[0] for each in store.tried[:2]] == [f"{log.topic.name}:0:0-9"] * 2
    assert len(set(store.tried[:2])) == 1
    assert store.values() == log.sent


@pytest.mark.asyncio
async def test_partitions_are_stored_together_under_one_token_for_any_owner(kafka: Kafka) -> None:
    log, store = Log(kafka, partitions=4), Store(after=crash)
    await log.send(40)
    with pytest.raises(Crash):
        await log.land(store)
    (together,) = store.tried
    assert store.values() == log.sent  # all partitions, and no offset is committed
    store.after = lambda: None
    await log.send(40)
    await log.land(store, "1", "2")
    assert store.tried[1] == together
    assert store.tried.count(together) >= 2
    assert store.values() == log.sent


@pytest.mark.parametrize("deleted", [4, 12])
@pytest.mark.asyncio
async def test_only_the_remaining_messages_of_a_begun_portion_are_stored(kafka: Kafka, deleted: int) -> None:
    log, store = Log(kafka), Store()
    await log.send(10)
    with pytest.raises(Crash):
        await log.land(Store(before=crash))
    await log.send(10)
    admin = AIOKafkaAdminClient(bootstrap_servers=log.servers)
    await admin.start()
    await admin.delete_records({TopicPartition(log.topic.name, 0): RecordsToDelete(before_offset=deleted)})
    await admin.close()
    await log.land(store)
    assert store.values() == log.sent[deleted:]
    assert store.tried[0].startswith(f"{log.topic.name}:0:{'0-9' if deleted < 10 else '12-19'}@")


@pytest.mark.asyncio
async def test_portions_begun_by_two_landers_are_stored_first_by_one(kafka: Kafka) -> None:
    """Before anything was inserted: each has the other's ranges in no portion of its own."""
    log = Log(kafka, partitions=4)
    await log.send(40)
    with pytest.raises(Crash):
        await log.land(Store(before=crash), "0", "1")
    await log.send(40)
    store = Store()
    await log.land(store, "2")
    assert store.values() == log.sent
    assert len(store.tried) == len(store.stored)


@pytest.mark.asyncio
async def test_a_store_that_is_away_is_tried_again_with_the_same_range(kafka: Kafka) -> None:
    attempts: list[None] = []

    def away() -> None:
        attempts.append(None)
        if len(attempts) < 4:
            raise TransientFailure("away")

    log, store = Log(kafka), Store(before=away)
    await log.send(10)
    await log.land(store)
    assert [each.partition("@")[0] for each in store.tried] == [f"{log.topic.name}:0:0-9"]
    assert len(attempts) == 4


@pytest.mark.asyncio
async def test_a_second_lander_that_joins_and_leaves_duplicates_nothing(kafka: Kafka) -> None:
    log, store = Log(kafka, partitions=4), Store()
    await log.send(200)
    await log.land(store, "0")
    await log.send(200)
    await log.land(store, "0", "1")
    await log.send(200)
    await log.land(store, "1")
    assert store.values() == log.sent


@pytest.mark.asyncio
async def test_messages_received_during_a_rebalance_do_not_displace_a_begun_portion(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the next assignment is known, the consumer gives what follows the range: that is not landed before it."""
    log, store, stop, is_there = Log(kafka), Store(), asyncio.Event(), asyncio.Event()
    revoked = Landing.revoked

    async def slowly(landing: Landing) -> None:
        await revoked(landing)
        if store.tried and not is_there.is_set():
            await log.send(10)
            await until(lambda: landing._consumer._fetcher is not None and landing._consumer._fetcher._records)
            is_there.set()

    def away() -> None:
        if not is_there.is_set():
            store.tried.append("in vain")
            raise TransientFailure("away")

    monkeypatch.setattr(Landing, "revoked", slowly)
    store.before = away
    await log.send(10)
    running = asyncio.ensure_future(log.landing(store).run(stop))
    await until(lambda: bool(store.tried))
    other = AIOKafkaConsumer(
        log.topic.name, bootstrap_servers=log.servers, group_id=log.topic.name, enable_auto_commit=False
    )
    await other.start()
    await other.stop()
    await until(log.landed)
    stop.set()
    await running
    assert store.values() == log.sent


@pytest.mark.asyncio
async def test_a_batch_is_bounded_by_its_messages(kafka: Kafka) -> None:
    log, store = Log(kafka), Store()
    await log.send(1000)
    stop = asyncio.Event()
    running = asyncio.ensure_future(
        log.landing(store, settings=LandSettings(batch_messages=300, batch_seconds=3600)).run(stop)
    )
    await until(lambda: bool(store.tried))
    stop.set()
    await running
    assert len(store.stored[store.tried[0]]) >= 300


def names(store: Store) -> set[bytes]:
    return {value for values in store.stored.values() for value in values}


@pytest.mark.asyncio
async def test_offsets_committed_but_not_stored_are_a_gap_and_are_stored(kafka: Kafka) -> None:
    """A database that lost its newest part and knows its token still, before a lander begins and while it runs."""
    log, store, gaps, stop = Log(kafka), Store(), Gaps(), asyncio.Event()
    await log.send(10)
    await log.land(store)
    (before,) = store.ends.items()
    await log.send(10)
    await log.land(store)
    del store.stored[store.tried[-1]]
    store.ends |= dict([before])
    name = log.topic.name
    landing = Landing([name], log.servers, store, group=name, instance="0", settings=SETTINGS, gaps=gaps)
    running = asyncio.ensure_future(landing.run(stop))
    await until(lambda: running.done() or names(store) == {*log.sent}, 60)
    assert gaps.counts == {(name, "unstored"): 10}
    del store.stored[store.tried[-1]]
    store.ends |= dict([before])
    landing._checked_at -= CHECK_SECONDS
    await until(lambda: running.done() or names(store) == {*log.sent}, 60)
    await until(log.landed, 60)
    stop.set()
    await running
    assert len(set(store.tried)) == len(store.tried) == 4


@pytest.mark.asyncio
async def test_a_recreated_topic_is_stored_from_its_beginning(kafka: Kafka) -> None:
    """The new topic has as many messages again: by its end alone it looks like the old one."""
    log, store, gaps, stop = Log(kafka), Store(), Gaps(), asyncio.Event()
    await log.send(10)
    await log.land(store)
    admin = AIOKafkaAdminClient(bootstrap_servers=log.servers)
    await admin.start()
    await admin.delete_topics([log.topic.name])

    async def is_gone() -> bool:
        return log.topic.name not in await admin.list_topics()

    await until(is_gone, 60)
    await admin.close()
    await log.send(15)
    name = log.topic.name
    landing = Landing([name], log.servers, store, group=name, instance="0", settings=SETTINGS, gaps=gaps)
    running = asyncio.ensure_future(landing.run(stop))
    await until(lambda: running.done() or names(store) == {*log.sent}, 60)
    stop.set()
    await running
    assert gaps.counts == {(name, "replaced"): 1}
