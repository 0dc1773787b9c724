"""A worker that is stopped between its look at the group and its write, taken over, resumed and killed: the states
that it writes then are older than its successor's, and nothing comes of them.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from components.clickhouse import ClickHouseHttp
from components.kafka import Kafka
from components.pipeline import PARTITIONS, Pipeline, embedded_digest, examples
from components.processes import Process
from paths import NODE_PRESSURE
from waiting import eventually

PIECE = 60
"""Observations of a batch, or of few: the worker stops in one of the first."""

pytestmark = pytest.mark.xdist_group("kafka")


def _written(pipeline: Pipeline) -> int:
    """Records that were written to the changelog of the nodes' logs so far."""
    name = f"{pipeline.settings.kafka.topic_prefix}-work-node-logs-changelog"
    partitions = [TopicPartition(name, partition) for partition in range(PARTITIONS)]

    async def ends() -> int:
        async with AIOKafkaConsumer(bootstrap_servers=pipeline.settings.kafka.bootstrap_servers) as consumer:
            return sum((await consumer.end_offsets(partitions)).values())

    return asyncio.run(ends())


def _paused(part: Process) -> bool:
    return Path(f"/proc/{part.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.mark.parametrize("moment", ["before its states", "before what its states cover"])
def test_what_a_paused_worker_writes_after_its_takeover_takes_no_state_back(
    kafka: Kafka, clickhouse: ClickHouseHttp, tmp_path: Path, moment: str
) -> None:
    everything = list(examples([NODE_PRESSURE]))
    half = 2 * len(everything) // 3
    dsn = "_".join(("paused", *moment.split()))
    with Pipeline(kafka, clickhouse.dsn(dsn), tmp_path) as pipeline:
        argv = [sys.executable, "-m", "faults.dying", moment, "SIGSTOP"]
        first = Process("paused", argv, tmp_path / "paused.log", pipeline.environment("work", "0"))
        second = pipeline.part("work", "1")
        pipeline.part("land", "0").start()
        first.start()
        try:
            for begin in range(0, half, PIECE):
                pipeline.replay(everything[begin : min(begin + PIECE, half)])
                eventually(
                    "it is folded, or the worker stopped",
                    lambda: _paused(first) or pipeline.waiting_for_work() == 0,
                    90,
                )
            assert _paused(first)
            second.start()
            pipeline.settle()
            before = _written(pipeline)
            os.kill(first.pid, signal.SIGCONT)
            eventually("it writes what it had folded", lambda: _written(pipeline) > before, 60)
        finally:
            first.kill()
        second.kill()
        second.start()
        pipeline.replay(everything[half:])
        pipeline.settle()
        assert pipeline.digest() == embedded_digest(everything, clickhouse.dsn(f"{dsn}_embedded"))
