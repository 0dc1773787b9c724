"""A later version goes on from states that a former one wrote under a leader that lacked what had been acknowledged.

Kafka's own consumers compare leader epochs then (KIP-320), which aiokafka does not know. The states in the changelog
are ahead of their log: they have folded messages whose offsets others have now.
"""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from components.clickhouse import ClickHouseHttp
from components.kafka import KafkaCluster, kafka_libraries
from components.pipeline import Pipeline, embedded_digest
from components.processes import Process
from components.programs.cache import require
from faults.versions import next_version, part
from ingest.files.sources import read_sources
from ingest.kafka.aiokafka_fixes import started
from ingest.kafka.settings import KafkaSettings
from ingest.model.topics import Topic
from paths import NODE_PRESSURE, ROOT
from sql.database.open import connect
from waiting import eventually

pytestmark = [pytest.mark.components("kafka"), pytest.mark.night]

LEADER, FOLLOWER = 1, 2
"""The third broker has no replica: it keeps the controllers' quorum, and the groups' offsets."""
IDENTITIES = {
    "node_events": "namespace, name, count, ts",
    "node_samples": "node, ts",
    "pod_samples": "uid, ts",
}
"""Columns that identify a row. Other findings may lack what the new leader lacks."""


async def make_topics(kafka: KafkaSettings) -> None:
    """One replica is enough to acknowledge, and any may lead."""
    replicas = {number: [LEADER, FOLLOWER] for number in range(kafka.partitions)}
    async with started(AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers)) as admin:
        await admin.create_topics(
            [NewTopic(each.name, -1, -1, replicas, topic_configs=_config(each)) for each in kafka.every_topic()]
        )


def _config(topic: Topic) -> dict[str, str]:
    return {**topic.config(), "min.insync.replicas": "1", "unclean.leader.election.enable": "true"}


def await_leader(pipeline: Pipeline, node: int) -> None:
    """Return when this broker leads every partition, and no other is in sync."""
    kafka = pipeline.settings.kafka
    names = [each.name for each in kafka.every_topic()]
    eventually(f"{node} leads alone", lambda: asyncio.run(_leads(kafka.bootstrap_servers, names, node)))


async def _leads(servers: str, names: Collection[str], node: int) -> bool:
    with suppress(KafkaError):  # it may still ask the one that is gone
        async with started(AIOKafkaAdminClient(bootstrap_servers=servers)) as admin:
            topics = await admin.describe_topics(list(names))
        return all(
            (each["leader"], each["isr"]) == (node, [node]) for topic in topics for each in topic["partitions"]
        )
    return False


def test_a_later_version_goes_on_from_states_that_are_ahead_of_their_log(
    clickhouse: ClickHouseHttp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require(kafka_libraries)
    monkeypatch.setattr("components.pipeline.make_topics", make_topics)
    observed = list(read_sources([NODE_PRESSURE]))
    pieces = [observed[len(observed) * number // 4 : len(observed) * (number + 1) // 4] for number in range(4)]
    later = next_version(tmp_path / "later")
    with (
        KafkaCluster(tmp_path / "kafka") as kafka,
        Pipeline(kafka, clickhouse.dsn("elected"), tmp_path, replication_factor=2) as pipeline,
    ):
        former = [part(pipeline, ROOT, what, "0", tmp_path / f"{what}.log") for what in ("land", "work")]
        upgraded = [part(pipeline, later, what, "0", tmp_path / f"{what}-later.log") for what in ("land", "work")]
        try:
            _start(former)
            pipeline.replay(pieces[0])
            pipeline.settle()
            kafka.nodes[FOLLOWER - 1].kill()
            await_leader(pipeline, LEADER)
            pipeline.replay(pieces[1])  # the log that will be gone
            pipeline.settle()
            kafka.nodes[LEADER - 1].kill()
            kafka.nodes[FOLLOWER - 1].start()
            await_leader(pipeline, FOLLOWER)
            pipeline.replay(pieces[2])
            _settle(pipeline, former)
            for each in former:
                each.stop()
            _start(upgraded)
            pipeline.replay(pieces[3])
            _settle(pipeline, upgraded)
        finally:
            for each in (*former, *upgraded):
                each.stop()
    embedded_digest(observed, clickhouse.dsn("wanted"))
    with connect(clickhouse.dsn("elected")) as database:
        for table, identity in IDENTITIES.items():
            found, wanted = (
                database.query(f"SELECT {identity} FROM {each} FINAL ORDER BY ALL").rows
                for each in (table, f"wanted.{table}")
            )
            assert found == wanted, table
        replaced = database.query(
            "SELECT DISTINCT resource FROM source_errors WHERE error LIKE '%truncated or recreated%'"
        ).rows
    nodes = f"kafka {pipeline.topics.nodes.name}/"
    assert any(resource.startswith(nodes) for (resource,) in replaced)


def _start(parts: Sequence[Process]) -> None:
    for each in parts:
        each.start()


def _settle(pipeline: Pipeline, parts: Sequence[Process]) -> None:
    """Start again what ends, as a Deployment would, until all that was sent is stored."""

    def settled() -> bool:
        for each in parts:
            if not each.runs:
                each.start()
        return pipeline.waiting() == 0

    eventually("all is landed", settled, every_seconds=0.5)
