"""A topic that was deleted and made anew counts its messages from 0 again: none of them is taken for a known one."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from components.clickhouse import ClickHouseHttp
from components.kafka import Kafka
from components.pipeline import Pipeline, embedded_digest, examples
from leadsman.run.kafka import make_topics
from paths import NODE_PRESSURE
from sql.database.open import connect
from sql.questions.digest import TableDigest
from waiting import eventually

pytestmark = pytest.mark.components("kafka")


def _make_anew(pipeline: Pipeline) -> None:
    """The logs, which have what the watchers sent, and the findings."""
    names = {topic.name for topic in (pipeline.topics.nodes, pipeline.topics.cluster, pipeline.topics.findings)}
    asyncio.run(_topics(pipeline, delete=names))
    eventually("the topics are gone", lambda: not names & asyncio.run(_topics(pipeline)))
    asyncio.run(make_topics(pipeline.settings.kafka))


async def _topics(pipeline: Pipeline, delete: Iterable[str] = ()) -> set[str]:
    admin = AIOKafkaAdminClient(bootstrap_servers=pipeline.settings.kafka.bootstrap_servers)
    await admin.start()
    try:
        if delete:
            await admin.delete_topics(list(delete))
        return set(await admin.list_topics())
    finally:
        await admin.close()


def test_messages_in_recreated_topics_are_analysed_and_stored(
    kafka: Kafka, clickhouse: ClickHouseHttp, tmp_path: Path
) -> None:
    everything = list(examples([NODE_PRESSURE]))
    half = 2 * len(everything) // 3
    with Pipeline(kafka, clickhouse.dsn("anew"), tmp_path) as pipeline:
        worker, lander = pipeline.part("work", "0"), pipeline.part("land", "0")
        for piece in (everything[:half], everything[half:]):
            _make_anew(pipeline)
            pipeline.replay(piece)
            worker.start()
            lander.start()
            pipeline.settle()
            lander.stop()
            worker.stop()
        embedded = embedded_digest(everything, clickhouse.dsn("embedded"))
        assert _of_the_cluster(pipeline.digest()) == _of_the_cluster(embedded)
        assert _errors(clickhouse.dsn("anew")) == _errors(clickhouse.dsn("embedded"))
        assert "recreated" in worker.log.read_text()
        assert "was truncated or recreated" in lander.log.read_text()


def _of_the_cluster(tables: Sequence[TableDigest]) -> list[TableDigest]:
    """Without the table that has the gaps of the pipeline, too."""
    return [each for each in tables if each.table != "source_errors"]


def _errors(dsn: str) -> Sequence[Sequence[object]]:
    """But for those gaps."""
    with connect(dsn) as database:
        columns = "ts, node, resource, kind, error"
        ours = f"SELECT {columns} FROM source_errors WHERE kind != 'gap'"
        return database.query(f"{ours} ORDER BY {columns}").rows
