"""A cluster as large as they come: no message of its state is large, and a killed worker soon has it again."""

import asyncio
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from bench.generate import BEGIN, CLUSTER, observations, pod_object
from bench.shapes import Shapes, load_shapes
from components.kafka import Kafka
from components.pipeline import PARTITIONS, Pipeline
from components.proc import peak_bytes
from faults.form import LONG
from faults.result import Tried, note
from ingest.model.observation import Observation, Observed, Position
from waiting import eventually, unhurried

NODES, PODS, PENDING = (5000, 30, 50_000) if LONG else (20, 10, 3000)
MOST_BYTES: Final = 1024 * 1024
MOST_SECONDS: Final = 60
FOLD_SECONDS: Final = 3600 if LONG else 300
MIB: Final = 1 << 20

pytestmark = pytest.mark.components("kafka")


class Stored(NamedTuple):
    """The stored size of the changelogs."""

    largest: int
    """Bytes of a message."""
    cluster: int
    """Bytes of all that the cluster's state needs."""
    everything: int


def pending(shapes: Shapes, number: int) -> Observation:
    """A pod that no node takes."""
    pod = pod_object(shapes, NODES + number // PODS, number % PODS)
    del pod["spec"]["nodeName"]
    message = f"0/{NODES} nodes are available: {NODES} Insufficient cpu."
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    pod["status"] = {"phase": "Pending", "conditions": [condition]}
    ts = BEGIN + timedelta(seconds=10 + number * 300 / PENDING)
    return Observation(
        ts=ts,
        cluster=CLUSTER,
        source="watch",
        resource="pods",
        type="ADDED",
        node="",
        object=msgspec.Raw(msgspec.json.encode(pod)),
    )


def everything(shapes: Shapes) -> Iterator[Observation]:
    yield from observations(nodes=NODES, pods=PODS, samples=1)
    for number in range(PENDING):
        yield pending(shapes, number)


def observed(items: Iterator[Observation]) -> Iterator[Observed]:
    for number, item in enumerate(items):
        yield Observed(item, Position("large", str(number)), b"")


async def _stored(pipeline: Pipeline) -> Stored:
    largest, sizes = 0, dict[str, int]()
    for table in ("node-logs", "cluster-logs"):
        topic = f"{pipeline.settings.kafka.work_group()}-{table}-changelog"
        partitions = [TopicPartition(topic, partition) for partition in range(PARTITIONS)]
        last: dict[bytes, int] = {}
        async with AIOKafkaConsumer(
            bootstrap_servers=pipeline.settings.kafka.bootstrap_servers, auto_offset_reset="earliest"
        ) as consumer:
            consumer.assign(partitions)
            ends = await consumer.end_offsets(partitions)
            while any([await consumer.position(each) < end for each, end in ends.items()]):
                for messages in (await consumer.getmany(timeout_ms=1000)).values():
                    for message in messages:
                        last[message.key] = len(message.value or b"")
                        largest = max(largest, last[message.key])
        sizes[table] = sum(last.values())
    return Stored(largest, sizes["cluster-logs"], sum(sizes.values()))


def test_a_large_clusters_state_has_small_messages_and_is_recovered_quickly(kafka: Kafka, tmp_path: Path) -> None:
    shapes = load_shapes()
    with Pipeline(kafka, "chdb://unused", tmp_path) as pipeline:
        worker = pipeline.part("work", "0", LEADSMAN_WORK__STATE_SECONDS="10" if LONG else "1")
        worker.start()
        pipeline.replay(observed(everything(shapes)))
        eventually("all is folded", lambda: pipeline.waiting_for_work() == 0, FOLD_SECONDS, 0.3)
        worker.kill()
        stored = asyncio.run(_stored(pipeline))
        pipeline.replay(observed(iter([pending(shapes, PENDING)])))
        worker = pipeline.part("work", "0")
        began = time.monotonic()
        worker.start()
        eventually("it goes on", lambda: pipeline.waiting_for_work() == 0, 4 * MOST_SECONDS, 0.3)
        seconds = time.monotonic() - began
        peak = peak_bytes(worker.pid) / MIB
        worker.kill()
    outcome = (
        f"{NODES:,} nodes with {NODES * PODS:,} pods, {PENDING:,} more pending: the largest message of a state "
        f"{stored.largest / 1024:.0f} KiB, the cluster's state {stored.cluster / MIB:.1f} MiB and all "
        f"{stored.everything / MIB:.1f} MiB, folded on {seconds:.0f} s after the start with {peak:.0f} MiB of memory"
    )
    note(Tried(fault="a worker of a large cluster killed", outcome=outcome))
    assert stored.largest < MOST_BYTES
    assert seconds < unhurried(MOST_SECONDS)
