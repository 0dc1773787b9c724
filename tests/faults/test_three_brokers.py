"""Kafka as people run it: three brokers, three replicas of which two must be in sync; any one may be gone."""

from pathlib import Path

import pytest

from components.clickhouse import ClickHouseHttp
from components.kafka import KafkaCluster, kafka_libraries
from components.pipeline import Pipeline, embedded_digest
from components.programs.cache import require
from faults.feeding import Feeder, endless
from faults.form import BROKERS
from faults.result import Tried, note
from sql.database.open import Database, connect
from waiting import eventually

pytestmark = pytest.mark.components("kafka")


def test_each_of_three_brokers_is_killed_in_turn(clickhouse: ClickHouseHttp, tmp_path: Path) -> None:
    require(kafka_libraries)
    with (
        KafkaCluster(tmp_path / "kafka") as kafka,
        Pipeline(kafka, clickhouse.dsn("three"), tmp_path, replication_factor=3) as pipeline,
    ):
        assert pipeline.topics.nodes.min_insync_replicas == 2
        parts = [pipeline.part("work", "0"), pipeline.part("land", "0")]
        for part in parts:
            part.start()
        pids = [part.pid for part in parts]
        with Feeder(pipeline, endless()) as feeder, connect(pipeline.dsn) as database:
            for killed in (kafka.nodes[number] for number in BROKERS):
                _goes_on(database)
                killed.kill()
                _goes_on(database)
                killed.start()
            acknowledged = feeder.stop()
        pipeline.settle()
        assert [part.pid for part in parts] == pids
        assert pipeline.digest() == embedded_digest(feeder.sent, clickhouse.dsn("wanted"))
    outcome = f"{acknowledged:,} observations acknowledged, none lost, none doubled; no part ended"
    note(Tried(fault=f"of three brokers, {len(BROKERS)} times one is killed", outcome=outcome))


def _goes_on(database: Database) -> None:
    """Return when samples that came since have been stored."""
    before = _samples(database)
    eventually("more samples are stored", lambda: _samples(database) > before)


def _samples(database: Database) -> int:
    known = "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = 'node_samples'"
    stored = database.query(known).rows[0][0] and database.query("SELECT count() FROM node_samples").rows[0][0]
    return int(stored)
