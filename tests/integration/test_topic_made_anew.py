"""A topic that was deleted and made anew counts its messages from 0 again: none of them is taken for a known one."""

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient

from components.kafka import Kafka
from components.processes import eventually
from integration.clickhouse_http import ClickHouseHttp
from integration.pipeline import ROOT, Pipeline, embedded_digest, examples
from leadsman.run.kafka import make_topics

pytestmark = pytest.mark.xdist_group("kafka")

CAPTURE = ROOT / "examples/node-pressure-k8s-1.36.jsonl.gz"


@pytest.fixture
def http(tmp_path: Path) -> Iterator[ClickHouseHttp]:
    with ClickHouseHttp(tmp_path / "db") as running:
        yield running


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


def test_what_is_sent_into_topics_made_anew_is_concluded_from_and_stored(
    kafka: Kafka, http: ClickHouseHttp, tmp_path: Path
) -> None:
    everything = list(examples([CAPTURE]))
    half = 2 * len(everything) // 3
    pipeline = Pipeline(kafka, http.dsn("anew"), tmp_path)
    worker, lander = pipeline.part("work", "0"), pipeline.part("land", "0")
    try:
        for piece in (everything[:half], everything[half:]):
            _make_anew(pipeline)
            pipeline.replay(piece)
            worker.start()
            lander.start()
            pipeline.settle()
            lander.stop()
            worker.stop()
        assert pipeline.digest() == embedded_digest(everything, http.dsn("embedded"))
        assert "made anew" in worker.log.read_text()
    finally:
        pipeline.stop()
