"""The thread of Faust's consumer ends without an error, whatever its consumer waits for."""

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import NodeNotReadyError
from structlog.testing import capture_logs

from fakes.broker import broker
from ingest.model.topics import topics
from streams.kafka.app import Worker
from streams.kafka.faust_fixes import ConsumerThread

pytestmark = pytest.mark.asyncio


async def test_a_thread_ends_well_while_its_consumer_waits_after_a_fetch_that_failed() -> None:
    """Regression: aiokafka's `stop` raised a CancelledError of the fetch, and left the connections open."""
    failed = asyncio.Event()

    async def fail(*_: object) -> None:
        failed.set()
        raise NodeNotReadyError

    async with broker(leads=True, closes=False) as there:
        consumer: Any = AIOKafkaConsumer(bootstrap_servers=there.servers, retry_backoff_ms=600_000)
        await consumer.start()
        consumer.assign([TopicPartition("t", 0)])
        consumer.seek(TopicPartition("t", 0), 0)
        consumer._client.send = fail
        await failed.wait()
        thread: Any = object.__new__(ConsumerThread)
        thread._method_queue, thread._consumer = None, consumer
        with capture_logs():
            await thread.on_thread_stop()
        assert not any(each.connected() for each in consumer._client._conns.values())


async def test_a_worker_starts_its_tables_while_a_broker_is_away() -> None:
    """Regression: Faust made their topics again, through the first broker alone, and NodeNotReadyError ended it."""
    async with broker(leads=True, closes=False, is_alone=False) as there:
        app: Any = Worker([], topics("x", partitions=1), there.servers, group="g")._app
        app.finalize()
        await app.producer.start()
        for each in app.tables.values():
            await each.changelog_topic.maybe_declare()
        await app.producer.stop()
