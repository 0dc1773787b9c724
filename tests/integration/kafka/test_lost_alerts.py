"""Alerts whose topic was cut back, and has other messages where delivered ones were; broker and clients are real."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from components.hook import Hook
from components.kafka import Kafka, KafkaCluster
from components.lag import lag
from ingest.kafka.admin import ensure_topics
from ingest.kafka.publish import Publisher
from ingest.model.topics import topics as topics_of
from integration.alerts.test_receivers import alert, message
from integration.kafka.test_lost_progress import cut_back, own_kafka
from streams.alerting.receivers.choose import receiver
from streams.alerting.receivers.consume import AlertConsumer
from waiting import until

pytestmark = [pytest.mark.asyncio, pytest.mark.components("kafka")]
__all__ = ["own_kafka"]
TOPIC = topics_of("alerts-lost", partitions=1).alerts


@pytest.fixture
def hook() -> Iterator[Hook]:
    running = Hook()
    yield running
    running.close()


class Reported:
    """A consumer that tells a webhook, and what its client reads."""

    def __init__(self, kafka: Kafka | KafkaCluster, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
        self.servers = kafka.bootstrap_servers
        self._hook = hook
        self._running: asyncio.Future[None] | None = None
        self._clients: list[Any] = []

        def client(*topics: str, **options: Any) -> Any:
            self._clients.append(AIOKafkaConsumer(*topics, **options))
            return self._clients[-1]

        monkeypatch.setattr("streams.alerting.receivers.consume.AIOKafkaConsumer", client)

    def start(self) -> None:
        to = receiver(f"webhook={self._hook.url}")
        self._running = asyncio.ensure_future(AlertConsumer(TOPIC, "told", to, self.servers).run())

    async def stop(self) -> None:
        assert self._running is not None
        self._running.cancel()
        with suppress(asyncio.CancelledError):
            await self._running

    def reads(self, *, on: bool) -> None:
        client = self._clients[-1]
        (client.resume if on else client.pause)(TopicPartition(TOPIC.name, 0))

    async def send(self, *names: str) -> None:
        async with Publisher(self.servers) as publisher:
            for name in names:
                key, value, headers = message(alert(name))
                await (await publisher.send(TOPIC.name, key, value, headers, partition=0))

    async def all_told(self, *names: str) -> None:
        async def is_so() -> bool:
            return self._hook.statuses() == {(name, "firing"): 1 for name in names} and not await self._left()

        await until(is_so)

    async def _left(self) -> int:
        return await lag(self.servers, "told", [TOPIC.name])


@pytest.mark.parametrize("running", [True, False], ids=["while it runs", "before it begins"])
async def test_alerts_after_a_truncated_topic_are_delivered_once(
    own_kafka: Kafka, hook: Hook, monkeypatch: pytest.MonkeyPatch, *, running: bool
) -> None:
    reported = Reported(own_kafka, hook, monkeypatch)
    await ensure_topics(reported.servers, [TOPIC])
    reported.start()
    await reported.send("A", "B")
    await reported.all_told("A", "B")
    if running:
        reported.reads(on=False)
    else:
        await reported.stop()
    await asyncio.to_thread(own_kafka.stop)
    assert cut_back(own_kafka, TOPIC.name)
    await asyncio.to_thread(own_kafka.start)
    await reported.send("C", "D")  # now the log ends behind what was delivered of the old one
    if running:
        reported.reads(on=True)
    else:
        reported.start()
    await reported.all_told("A", "B", "C", "D")
    await reported.stop()
