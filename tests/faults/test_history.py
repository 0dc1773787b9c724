"""The tables have everything that a real API server acknowledged, although watchers, workers and landers die."""

import asyncio
import os
import random
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, OffsetAndMetadata, TopicPartition

from components.clickhouse import ClickHouseHttp
from components.cluster.kubernetes import ApiError, Cluster
from components.command import leadsman_process
from components.kafka import Kafka
from components.parts import Part
from components.pipeline import Pipeline
from components.processes import Process, is_paused
from faults.dying import WENT_ON
from faults.form import LONG, OBJECTS, REQUEST_PAUSE_SECONDS
from faults.generator import KINDS, Generator
from faults.history import Asked, Span, Thing, faults
from faults.recorded import gaps_of, rows_of
from faults.result import Tried, note
from ingest.kafka.aiokafka_fixes import started
from sql.database.errors import DatabaseError
from sql.database.open import connect
from waiting import eventually, lasting

pytestmark = pytest.mark.components("cluster")

LISTED = "at the end of a list"
WITHOUT_VERSIONS = [("before it publishes", True), (LISTED, False)]
WITH_VERSIONS = [("before it stores versions", True)]
"""Fail points at which watchers are paused, and whether they are resumed; more in the long form."""
MORE = [("after it published", True), ("before it publishes", False)]
MORE_WITH_VERSIONS = [*MORE, ("after it stored versions", True), ("before it stores versions", False)]
CLUSTER = "lab"
LIST_SECONDS = 2.0
"""Time after which a first list is over."""


class Watched:
    """A cluster that is watched into tables by watchers with one Lease."""

    def __init__(self, cluster: Cluster, kafka: Kafka, dsn: str, folder: Path, *, versions: bool) -> None:
        self.pipeline = Pipeline(kafka, dsn, folder)
        self.takeovers: list[Span] = []
        self._cluster = cluster
        self._folder = folder
        self._chance = random.Random(7)  # noqa: S311  # only moments
        self._parts = [self.pipeline.part("work", "0"), self.pipeline.part("land", "0")]
        self._watchers: list[Process] = []
        self._environment = self.pipeline.environment("work", "0") | {
            "LEADSMAN_WATCH__CLUSTER": CLUSTER,
            "LEADSMAN_WATCH__KUBECONFIG": str(cluster.kubeconfig()),
            "LEADSMAN_WATCH__KUBELET__ACCESS": "off",
            "LEADSMAN_WATCH__RESOURCES": '["nodes","pods","events"]',
        }
        if versions:
            self._environment["LEADSMAN_WATCH__VERSIONS_FILE"] = str(folder / "versions.json")
        for part in self._parts:
            part.start()

    def watcher(self, fail_point: str = "") -> Process:
        """One that is paused at a fail point, or runs until it is stopped; started."""
        name = f"watch-{len(self._watchers)}"
        if fail_point:
            argv = ["faults.dying", fail_point, "SIGSTOP"]
            watcher: Process = Part(name, argv, self._folder / f"{name}.log", self._environment)
        else:
            watcher = leadsman_process("watch", folder=self._folder, name=name, environment=self._environment)
        self._watchers.append(watcher)
        watcher.start()
        return watcher

    def pause(self, fail_point: str, *, resumed: bool) -> None:
        """A watcher is paused there, another takes over, a part is killed, and the first goes on, or dies."""
        began = time.time()
        if fail_point == LISTED:
            asyncio.run(self._forget())
        first = self.watcher(fail_point)
        eventually(f"it is paused {fail_point}", lambda: is_paused(first.pid))
        second = self.watcher()
        second.await_ready(lambda: "watching begins" in second.log.read_text())
        part = self._chance.choice(self._parts)
        part.kill()
        part.start()
        lasting(self._chance.uniform(1, 3))
        if resumed:
            os.kill(first.pid, signal.SIGCONT)
            eventually("it goes on", lambda: WENT_ON in first.log.read_text())
            eventually("it sees that it lost", lambda: "another replica may watch now" in first.log.read_text())
        first.kill()
        over = time.time()
        lasting(self._chance.uniform(3, 6))
        second.stop()
        # who went on at a kept version compares all soon after, and says again what a late message had undone
        self.takeovers.append(Span(began, over if fail_point == LISTED else time.time()))

    async def _forget(self) -> None:
        """Commit no versions, so that the next watcher lists."""
        kafka = self.pipeline.settings.kafka
        partition = TopicPartition(self.pipeline.topics.cluster.name, 0)
        group = f"{kafka.topic_prefix}-watch-{CLUSTER}"
        async with started(
            AIOKafkaConsumer(group_id=group, bootstrap_servers=kafka.bootstrap_servers, enable_auto_commit=False)
        ) as consumer:
            consumer.assign([partition])
            await consumer.commit({partition: OffsetAndMetadata(0, "")})

    def begin(self, history: Mapping[Thing, Sequence[Asked]], name: str) -> None:
        """Return when a first list is over: what came after it was seen of each kind."""
        watcher = self.watcher()
        watcher.await_ready(lambda: "watching begins" in watcher.log.read_text())
        began = time.time()

        def is_watched() -> bool:
            with suppress(DatabaseError), connect(self.pipeline.dsn) as db:
                new = [row.thing for row in rows_of(db, name) if history[row.thing][0].began > began + LIST_SECONDS]
                return {thing.kind for thing in new} == {*KINDS}
            return False

        eventually("all is watched", is_watched)
        watcher.stop()

    def settle(self, last: list[Thing]) -> None:
        """Return when these objects, and all that came before them, are in the tables."""
        began = time.time()
        watcher = self.watcher()
        name = last[0].name.rpartition("-")[0]
        with connect(self.pipeline.dsn) as db:
            eventually("the last objects are stored", lambda: {*last} <= {row.thing for row in rows_of(db, name)})
        watcher.stop()
        self.pipeline.settle()
        self.takeovers.append(Span(began, time.time()))

    def stop(self) -> None:
        for watcher in self._watchers:
            watcher.kill()
        self.pipeline.stop()
        lease = f"{self.pipeline.settings.kafka.topic_prefix}-watch"
        with suppress(ApiError):
            self._cluster.request("DELETE", f"/apis/coordination.k8s.io/v1/namespaces/default/leases/{lease}")


@contextmanager
def _watched(cluster: Cluster, kafka: Kafka, dsn: str, folder: Path, *, versions: bool) -> Iterator[Watched]:
    watched = Watched(cluster, kafka, dsn, folder, versions=versions)
    try:
        yield watched
    finally:
        watched.stop()


@pytest.mark.parametrize("versions", [False, True], ids=["versions in Kafka", "versions in a file"])
def test_what_was_acknowledged_is_in_the_tables_once(
    cluster: Cluster, kafka: Kafka, clickhouse: ClickHouseHttp, tmp_path: Path, versions: bool
) -> None:
    rounds = WITH_VERSIONS if versions else WITHOUT_VERSIONS
    if LONG:
        rounds = [*rounds, *(MORE_WITH_VERSIONS if versions else MORE)]
    began = time.monotonic()
    dsn = clickhouse.dsn("history")
    asking = Generator(cluster, REQUEST_PAUSE_SECONDS)
    with _watched(cluster, kafka, dsn, tmp_path, versions=versions) as watched, asking as generator:
        watched.begin(generator.history, generator.name)
        done = 0
        for fail_point, resumed in cycle(rounds):
            if done >= len(rounds) and generator.gone >= OBJECTS:
                break
            watched.pause(fail_point, resumed=resumed)
            done += 1
        watched.settle(generator.stop())
        gone = generator.gone
        history = {thing: tuple(asked) for thing, asked in generator.history.items()}
        with connect(dsn) as db:
            rows, gaps = rows_of(db, generator.name), gaps_of(db, CLUSTER)
    for kind in KINDS:
        gaps[kind].append(Span(0, min(row.ts for row in rows if row.thing.kind == kind)))  # nobody had looked yet
    wrong = faults(history, rows, gaps, watched.takeovers)
    assert not wrong, "\n".join(map(str, wrong))
    kept = "in a file" if versions else "in Kafka"
    note(
        Tried(
            fault=f"{done} watchers paused and taken over, versions {kept}, worker or lander killed, while {gone:,} "
            f"objects came and went, {time.monotonic() - began:.0f} s",
            outcome=f"{sum(map(len, history.values())):,} requests, {len(rows):,} rows, none lost, none doubled, "
            f"{sum(map(len, gaps.values())) - len(KINDS)} gaps reported",
        )
    )
