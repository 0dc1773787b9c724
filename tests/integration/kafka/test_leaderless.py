"""A partition without a leader: a broker with two disks loses one, and the lander lands what is on the other."""

import asyncio
import shutil
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from components.command import dsn
from components.kafka import Kafka
from components.rows import T0, row
from ingest.kafka.admin import ensure_topics
from ingest.kafka.publish import Publisher
from ingest.model.topics import topics as topics_of
from sql.database.open import Database, connect
from sql.landing.portions import PortionStore
from streams.fold.findings import NodeEvent
from streams.kafka.landing import consumer
from streams.kafka.landing.consumer import Landing
from streams.kafka.messages.findings import encode_findings, finding_headers
from streams.kafka.settings import LandSettings
from waiting import unhurried, until

pytestmark = [pytest.mark.asyncio, pytest.mark.components("kafka")]

PARTITIONS = 8


def names(database: Database) -> set[str]:
    return {name for (name,) in database.query("SELECT name FROM node_events").rows}


async def test_a_partition_without_a_leader_holds_up_no_other(
    migrated_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "CHECK_SECONDS", 1.0)
    disks = [tmp_path / "kafka-data", tmp_path / "second"]
    settings = {
        "log.dirs": ",".join(map(str, disks)),
        "metadata.log.dir": str(tmp_path / "metadata"),
        "offsets.topic.num.partitions": "1",
        "replica.high.watermark.checkpoint.interval.ms": "200",
    }
    folder = Path(shutil.copytree(migrated_folder, tmp_path / "db", symlinks=True))
    topics = topics_of(f"leaderless-{uuid.uuid4().hex[:8]}", partitions=PARTITIONS)
    findings = topics.findings.name
    kafka = Kafka(tmp_path, settings)
    kafka.start()

    @asynccontextmanager
    async def landing(database: Database) -> AsyncIterator[Any]:
        stop = asyncio.Event()
        store = PortionStore(database, topics)
        lander = Landing(
            [findings],
            kafka.bootstrap_servers,
            store,
            group=f"{findings}-land",
            settings=LandSettings(batch_seconds=0.1),
        )
        running = asyncio.ensure_future(lander.run(stop))
        try:
            yield lander
        finally:
            stop.set()
            await running

    try:
        await ensure_topics(kafka.bootstrap_servers, list(topics))

        async def send(number: int) -> None:
            """To the partitions that have a leader."""
            async with Publisher(kafka.bootstrap_servers) as publisher:
                for partition in there:
                    name = f"{number}/{partition}"
                    value = encode_findings("c", "n", T0, [row(NodeEvent, name=name)])
                    await publisher.send(
                        findings, b"c/n", value, finding_headers("c", "n", T0, name), partition=partition
                    )
                await publisher.flush()

        there = set(range(PARTITIONS))
        await send(1)
        with connect(dsn(folder)) as database:
            async with landing(database) as first:
                await until(lambda: names(database) == {f"1/{partition}" for partition in there})
                lost = next(disk for disk in disks if not list(disk.glob("__consumer_offsets-*")))
                gone = {int(each.name.rsplit("-", 1)[1]) for each in lost.glob(f"{findings}-*")}
                assert 0 < len(gone) < PARTITIONS
                lost.rename(tmp_path / "lost")  # at once: the broker writes checkpoints while files are removed
                lost.touch()
                await until(lambda: {tp.partition for tp in first._leaderless} == gone)
            there -= gone
            await send(2)
            async with landing(database) as second:
                await until(lambda: {f"2/{partition}" for partition in there} <= names(database), unhurried(30))
                assert [each for each in second._why_not() if "leader" in each] == [
                    f"{findings}/{partition} waits for a leader; the other partitions land"
                    for partition in sorted(gone)
                ]
    finally:
        kafka.kill()
