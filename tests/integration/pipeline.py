"""The whole pipeline for tests: our own processes over a real Kafka and the real engine behind HTTP.

Run as `python pipeline.py work|land` with its settings in the environment.
"""

import asyncio
import importlib
import os
import sys
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from components.kafka import Kafka
from components.processes import Process, eventually
from ingest.observation import Observation, Observed, Unreadable
from ingest.publish import Publisher
from ingest.replay_kafka import Published, replay_into_kafka
from ingest.settings import Settings, load
from ingest.sources import read_sources
from ingest.topics_admin import TopicsUnusable, lag
from sql.checkpoints import DatabaseCheckpoints
from sql.database import connect
from sql.digest import TableDigest, digest
from sql.landing import Lander
from sql.migrate import migrate
from sql.run import make_topics, run_lander, run_worker
from streams.analytics.registry import REDUCERS
from streams.embedded import Replay

ROOT: Final = Path(__file__).parents[2]
PARTITIONS: Final = 4
REDUCERS_HOOK: Final = "LEADSMAN_TEST_HOOK"
"""`module:function` that a started part calls first: how a test puts a fault into a process."""

Items = Iterable[Observed | Unreadable]


class Pipeline:
    """Topics of its own, a database of its own, and processes that a test starts, kills and starts again."""

    def __init__(self, kafka: Kafka, dsn: str, folder: Path, **kafka_settings: object) -> None:
        prefix = f"t{uuid.uuid4().hex[:8]}"
        self.settings: Settings = load(
            db=dsn,
            kafka={
                "bootstrap_servers": kafka.bootstrap_servers,
                "topic_prefix": prefix,
                "partitions": PARTITIONS,
                **kafka_settings,
            },
            land={"batch_seconds": 0.3},
        )
        self._folder = folder
        self._parts: list[Process] = []
        asyncio.run(make_topics(self.settings))

    def part(self, what: str, instance: str, **environment: str) -> Process:
        """A worker (`work`) or a lander (`land`), not started."""
        kafka = self.settings.kafka
        env = {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
            "LEADSMAN_DB": self.settings.db.get_secret_value(),
            "LEADSMAN_KAFKA__BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
            "LEADSMAN_KAFKA__TOPIC_PREFIX": kafka.topic_prefix,
            "LEADSMAN_KAFKA__PARTITIONS": str(kafka.partitions),
            "LEADSMAN_LAND__BATCH_SECONDS": "0.3",
            f"LEADSMAN_{what.upper()}__INSTANCE": instance,
            **environment,
        }
        log = self._folder / f"{what}-{instance}.log"
        part = Process(f"{what} {instance}", [sys.executable, __file__, what], log, env)
        self._parts.append(part)
        return part

    def replay(self, items: Items) -> Published:
        """Put observations into Kafka; returns when it has them."""

        async def send() -> Published:
            async with Publisher(self.settings.kafka.bootstrap_servers) as publisher:
                return await replay_into_kafka(items, publisher, self.settings.kafka.topics())

        return asyncio.run(send())

    def waiting(self) -> int:
        """Messages that some part has still to do, in the order in which they move on."""
        topics, prefix = self.settings.kafka.topics(), self.settings.kafka.topic_prefix
        steps = [
            ("work", [topics.nodes.name]),
            ("work", [topics.cluster.name]),
            ("land", [topics.nodes.name, topics.findings.name, topics.dead_letters.name]),
        ]
        try:
            for part, names in steps:
                if left := asyncio.run(lag(self.settings.kafka.bootstrap_servers, f"{prefix}-{part}", names)):
                    return left
        except TopicsUnusable:
            return 1  # a fresh Kafka has no coordinator of groups for a moment
        return 0

    def settle(self, timeout_seconds: float = 90.0) -> None:
        """Return when everything that was sent has been stored."""
        eventually(f"all is landed; see {self._folder}", lambda: self.waiting() == 0, timeout_seconds)

    def digest(self) -> list[TableDigest]:
        """Of what landed."""
        with connect(self.settings.db.get_secret_value()) as database:
            return digest(database)

    def stop(self) -> None:
        """Stop what runs."""
        for part in self._parts:
            part.stop()


def embedded_digest(items: Items, dsn: str) -> list[TableDigest]:
    """What the embedded replay of the same makes of it."""
    with connect(dsn) as database:
        migrate(database)
        with Lander(database) as lander:
            Replay(REDUCERS, lander, DatabaseCheckpoints(database)).run(items)
        return digest(database)


def examples(paths: Sequence[Path]) -> Iterator[Observed | Unreadable]:
    """Observations of captures that share a cluster's name, each under a cluster of its own."""
    for path in paths:
        for item in read_sources([path]):
            cluster = f"{path.parent.name}-{path.name}"
            if isinstance(item, Unreadable):
                yield item._replace(cluster=cluster)
            else:
                yield item._replace(observation=_of_cluster(item.observation, cluster))


def _of_cluster(observation: Observation, cluster: str) -> Observation:
    return msgspec.structs.replace(observation, cluster=cluster)


def main(what: str) -> None:
    if hook := os.environ.get(REDUCERS_HOOK):
        module, _, function = hook.partition(":")
        getattr(importlib.import_module(module), function)()
    asyncio.run({"work": run_worker, "land": run_lander}[what](load()))


if __name__ == "__main__":
    main(sys.argv[1])
