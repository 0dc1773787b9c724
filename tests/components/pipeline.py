"""The whole pipeline for tests: our own processes over a real Kafka and the real engine behind HTTP."""

import asyncio
import contextlib
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from common.errors import KafkaUnusable
from components.kafka import Kafka, KafkaCluster
from components.lag import lag
from components.parts import LEADSMAN, Part
from components.processes import Process
from ingest.files.sources import read_sources
from ingest.kafka.publish import Publisher
from ingest.kafka.replay import Published, replay_into_kafka
from ingest.model.observation import Observation, Observed, Unreadable
from ingest.model.topics import Headers
from ingest.normalize.decode import decode
from leadsman.run.kafka import make_topics
from leadsman.run.settings import Settings, load
from paths import IMPORTS
from sql.database.open import connect
from sql.landing.batches import DatabaseCheckpoints, Lander
from sql.questions.digest import TableDigest, digest
from sql.schema.migrate import migrate
from streams.analytics.registry import REDUCERS
from streams.fold.reducer import AnyReducer
from streams.local.replay import Replay
from waiting import PATIENCE_SECONDS, eventually

PARTITIONS: Final = 4
POLL_SECONDS: Final = 0.7

Items = Iterable[Observed | Unreadable]


def waiting(
    servers: str, group: str, topics: Sequence[str], options: Mapping[str, Any] | None = None, *, seconds: float = 120
) -> int:
    """Return the number of messages of the topics that a group has not processed.

    A fresh Kafka has no coordinator of groups for a moment: then it is asked again.
    """
    found: list[int] = []

    def asked() -> bool:
        with contextlib.suppress(KafkaUnusable):
            found.append(asyncio.run(lag(servers, group, topics, options)))
        return bool(found)

    eventually(f"Kafka has a coordinator of the group {group}", asked, seconds, POLL_SECONDS)
    return found[0]


class Pipeline:
    """Topics of its own, a database of its own, and processes that a test starts, kills and starts again."""

    def __init__(self, kafka: Kafka | KafkaCluster, dsn: str, folder: Path, **kafka_settings: object) -> None:
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
        self.dsn = dsn
        self.topics = self.settings.kafka.topics()
        self._folder = folder
        self._parts: list[Process] = []
        asyncio.run(make_topics(self.settings.kafka))

    def environment(self, what: str, instance: str) -> dict[str, str]:
        """The settings for a process of ours."""
        kafka = self.settings.kafka
        return {
            "PYTHONPATH": IMPORTS,
            "LEADSMAN_DB": self.dsn,
            "LEADSMAN_KAFKA__BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
            "LEADSMAN_KAFKA__TOPIC_PREFIX": kafka.topic_prefix,
            "LEADSMAN_KAFKA__PARTITIONS": str(kafka.partitions),
            "LEADSMAN_KAFKA__REPLICATION_FACTOR": str(kafka.replication_factor),
            "LEADSMAN_LAND__BATCH_SECONDS": "1.5",
            "LEADSMAN_WORK__STATE_SECONDS": "0.6",
            f"LEADSMAN_{what.upper()}__INSTANCE": instance,
        }

    def part(self, what: str, instance: str, fault: str = "", **environment: str) -> Process:
        """A worker (`work`) or a lander (`land`), not started; a worker with one of the faults of `components.faulty`
        if asked.
        """
        log = self._folder / f"{what}-{instance}.log"
        env = self.environment(what, instance) | environment
        argv = ["components.faulty", fault] if fault else [LEADSMAN, what]
        part = Part(f"{what} {instance}", argv, log, env)
        self._parts.append(part)
        return part

    def send(self, topic: str, messages: Iterable[tuple[bytes, bytes | None, Headers]]) -> None:
        """Put keys, values and headers into a topic as they are."""

        async def send() -> None:
            async with Publisher(self.settings.kafka.bootstrap_servers) as publisher:
                for key, value, headers in messages:
                    await publisher.send(topic, key, value, headers)
                await publisher.flush()

        asyncio.run(send())

    def replay(self, items: Items, through: type[Publisher] = Publisher, name: str | None = None) -> Published:
        """Put observations into Kafka, under a publisher's name; returns when it has them."""

        async def send() -> Published:
            async with through(self.settings.kafka.bootstrap_servers, name=name) as publisher:
                return await replay_into_kafka(items, publisher, self.settings.kafka.topics())

        return asyncio.run(send())

    def waiting_for_work(self) -> int:
        """Records that are not folded, or not acknowledged, yet."""
        return self._lag("work", self.topics.nodes.name) or self._lag("work", self.topics.cluster.name)

    def waiting(self) -> int:
        """Messages that some part has still to do, in the order in which they move on."""
        topics = self.topics
        landed = (topics.nodes.name, topics.findings.name, topics.dead_letters.name)
        return self.waiting_for_work() or self._lag("land", *landed)

    def _lag(self, part: str, *names: str) -> int:
        kafka = self.settings.kafka
        return waiting(kafka.bootstrap_servers, f"{kafka.topic_prefix}-{part}", names)

    def settle(self, timeout_seconds: float = PATIENCE_SECONDS) -> None:
        """Return when everything that was sent has been stored."""
        eventually(f"all is landed; see {self._folder}", lambda: self.waiting() == 0, timeout_seconds, POLL_SECONDS)

    def digest(self) -> list[TableDigest]:
        with connect(self.settings.db.get_secret_value()) as database:
            return digest(database)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop what runs."""
        for part in self._parts:
            part.stop()


def embedded_digest(items: Items, dsn: str, reducers: Sequence[AnyReducer] = REDUCERS) -> list[TableDigest]:
    """Return the tables of an embedded replay of the same input."""
    with connect(dsn) as database:
        migrate(database)
        with Lander(database) as lander:
            Replay(reducers, lander, DatabaseCheckpoints(database)).run(map(decode, items))
        return digest(database)


def examples(paths: Sequence[Path], copy: int = 0) -> Iterator[Observed | Unreadable]:
    """Observations of captures that share a cluster's name, each and each copy under a cluster of its own."""
    for path in paths:
        for item in read_sources([path]):
            cluster = f"{path.parent.name}-{path.name}-{copy}"
            if isinstance(item, Unreadable):
                yield item._replace(cluster=cluster)
            else:
                yield item._replace(observation=_of_cluster(item.observation, cluster))


def _of_cluster(observation: Observation, cluster: str) -> Observation:
    return msgspec.structs.replace(observation, cluster=cluster)


class Stuttering(Publisher):
    """Sends every tenth message, and the four before it, once more, as if it had not heard that they arrived."""

    async def _push(self, number: int, message: Any) -> None:
        await super()._push(number, message)
        if number % 10 == 0:
            for again in range(number - 4, number + 1):
                if again in self._unacknowledged and again not in self._following:
                    await super()._push(again, self._unacknowledged[again])
