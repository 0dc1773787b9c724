"""Leadsman reports the amount and place of messages that retention deletes before a worker and a lander read them."""

import asyncio
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

from components.clickhouse import ClickHouseHttp
from components.kafka import Kafka
from components.pipeline import PARTITIONS, Pipeline, examples
from components.rows import dicts
from faults.result import Tried, note
from paths import NODE_PRESSURE
from sql.database.open import connect

pytestmark = pytest.mark.components("kafka")


async def _ends(pipeline: Pipeline) -> dict[TopicPartition, int]:
    partitions = [TopicPartition(pipeline.topics.nodes.name, partition) for partition in range(PARTITIONS)]
    async with AIOKafkaConsumer(bootstrap_servers=pipeline.settings.kafka.bootstrap_servers) as consumer:
        return dict(await consumer.end_offsets(partitions))


async def _delete(pipeline: Pipeline, ends: dict[TopicPartition, int]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=pipeline.settings.kafka.bootstrap_servers)
    await admin.start()
    try:
        await admin.delete_records({tp: RecordsToDelete(before_offset=end) for tp, end in ends.items()})
    finally:
        await admin.close()


def test_a_worker_and_a_lander_report_messages_deleted_before_they_were_read(
    kafka: Kafka, clickhouse: ClickHouseHttp, tmp_path: Path
) -> None:
    everything = list(examples([NODE_PRESSURE]))
    third = len(everything) // 3
    with Pipeline(kafka, clickhouse.dsn("behind"), tmp_path) as pipeline:
        worker, lander = pipeline.part("work", "0"), pipeline.part("land", "0")
        for part in (worker, lander):
            part.start()
        pipeline.replay(everything[:third])
        pipeline.settle()
        for part in (worker, lander):
            part.stop()
        read = asyncio.run(_ends(pipeline))
        pipeline.replay(everything[third : 2 * third])
        deleted = asyncio.run(_ends(pipeline))
        asyncio.run(_delete(pipeline, deleted))
        pipeline.replay(everything[2 * third :])
        for part in (worker, lander):
            part.start()
        pipeline.settle()
        lost = {
            (f"kafka {tp.topic}/{tp.partition}", f"gap: {end - read[tp]} messages, offsets {read[tp]} to {end - 1}")
            for tp, end in deleted.items()
            if end > read[tp]
        }
        assert lost
        with connect(pipeline.dsn) as database:
            rows = dicts(database, "SELECT * FROM source_errors WHERE kind = 'gap' AND resource LIKE 'kafka %'")
        said = {(row["cluster"] != "", row["resource"], row["error"].rpartition(":")[0]) for row in rows}
        by_a_worker, by_a_lander = True, False
        assert said == {(by, *gap) for gap in lost for by in (by_a_worker, by_a_lander)}
        for part in (worker, lander):
            assert part.log.read_text().count("messages are missing") == len(lost)
    outcome = f"{len(lost)} gaps, each reported by both with its offsets, and no other"
    note(Tried(fault="retention (delete_records) before a worker and a lander had read", outcome=outcome))
