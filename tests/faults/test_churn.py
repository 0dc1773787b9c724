"""Nodes come and go for longer than anything of them is remembered (delivery.md#forgetting)."""

import asyncio
from pathlib import Path

import pytest

from bench.generate import BEGIN, observed
from components.clickhouse import ClickHouseHttp
from components.kafka import Kafka
from components.pipeline import Pipeline, embedded_digest
from components.topics import messages
from faults import churn
from faults.churn import HOUR
from faults.form import LONG
from faults.result import Tried, note
from ingest.model.observation import Observation, Observed, Position
from streams.alerting.engine import WITHDRAWN_AFTER
from streams.fold.forgetting import FORGOTTEN_AFTER
from streams.kafka.changelog import RecordKey
from waiting import eventually

NODES, ALIVE = (churn.NODES, churn.ALIVE) if LONG else (200, 10)
MIB = 1 << 20
REMEMBERED_HOURS = 1 + FORGOTTEN_AFTER // HOUR
"""In which a node lives and is remembered; then its pods are deleted a minute late, and an hour's end is a minute."""
FULL = REMEMBERED_HOURS + 1


def test_state_size_follows_the_nodes_that_live_or_lived_recently() -> None:
    empty_hours = FORGOTTEN_AFTER // HOUR + WITHDRAWN_AFTER // HOUR + 2
    figures = asyncio.run(churn.churn(NODES, ALIVE, empty_hours))
    full = figures[FULL - 1]
    living = [each for each in figures if each.hour >= FULL and each.alive]
    assert len(living) > FULL, "it goes on for longer than anything is remembered"
    for each in living:
        assert each.logs <= ALIVE * (REMEMBERED_HOURS + 0.2)
        assert each.changelog_bytes < 1.1 * full.changelog_bytes
        assert each.alerts < 1.5 * full.alerts
        assert each.resident_bytes < 1.1 * full.resident_bytes
    last = figures[-1]
    assert (last.logs, last.alerts) == (0, 0)
    assert last.changelog_bytes < 1000, "of the cluster: since when its watches are heard, and no node"
    most, logs = max(each.changelog_bytes for each in living), max(each.logs for each in living)
    outcome = f"at most {logs:,} logs and {most / MIB:.1f} MiB of states, at the end none"
    note(Tried(fault=f"{NODES:,} nodes that live an hour each, {ALIVE} at a time", outcome=outcome))


@pytest.mark.components("kafka")
def test_kafka_keeps_nothing_of_forgotten_nodes(kafka: Kafka, clickhouse: ClickHouseHttp, tmp_path: Path) -> None:
    items = [_item(each) for each in churn.observations(24, 8, empty_hours=36)]
    stays = _item(observed(BEGIN + 40 * HOUR, "watch", "nodes", "ADDED", {"metadata": {"name": "stays", "uid": "u"}}))
    with Pipeline(kafka, clickhouse.dsn("churn"), tmp_path) as pipeline:
        pipeline.part("land", "0").start()
        pipeline.part("work", "0").start()
        pipeline.replay(items)
        pipeline.settle()
        pipeline.replay([stays])  # states are written once more
        eventually("only what exists is left", lambda: _logs(pipeline) == {b"bench/stays"})
        assert _left(pipeline, pipeline.topics.alerts.name) == set()
        pipeline.settle()
        assert pipeline.digest() == embedded_digest([*items, stays], clickhouse.dsn("churn_embedded"))


def _item(observation: Observation) -> Observed:
    return Observed(observation, Position("churn", ""), b"")


def _logs(pipeline: Pipeline) -> set[bytes]:
    """Nodes whose states are in the changelog."""
    left = _left(pipeline, f"{pipeline.settings.kafka.topic_prefix}-work-node-logs-changelog")
    return {log for key in left if (log := RecordKey.decode(key).log) is not None}


def _left(pipeline: Pipeline, topic: str) -> set[bytes]:
    """The keys that compaction keeps."""
    newest = {each.key: each.value for each in messages(pipeline.settings.kafka.bootstrap_servers, topic)}
    return {key for key, value in newest.items() if value is not None}
