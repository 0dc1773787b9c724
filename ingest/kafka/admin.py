"""Creates topics, and compares existing ones with their expected settings, before anything is published."""

import math
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import InvalidPartitionsError, KafkaError, TopicAlreadyExistsError, for_code
from prometheus_client import Gauge

from common.amounts import counted
from common.errors import FilesUnusable, KafkaUnusable
from common.text import plain
from ingest.kafka import aiokafka_fixes
from ingest.kafka.reaching import explain, why_unreachable
from ingest.model.topics import Topic

DIFFERENT_TOPICS: Final = Gauge(
    "leadsman_kafka_topics_different", "Topics whose settings differed from the expected ones at start"
)
_AT_LEAST: Final = frozenset({"max.message.bytes", "min.compaction.lag.ms"})
_REPLICAS: Final = "min.insync.replicas"


class Difference(NamedTuple):
    """A topic that differs from what is expected, or whose settings Kafka does not show."""

    topic: str
    what: str
    mend: str
    """A command, or other advice."""

    def __str__(self) -> str:
        return f"topic {self.topic}: {self.what}. {self.mend}"


async def differences(
    admin: AIOKafkaAdminClient, bootstrap_servers: str, topics: Sequence[Topic], replicas: Mapping[str, int]
) -> list[Difference]:
    """Return the differences of existing topics. `replicas` is the current number of each. Raises KafkaError."""
    if not topics:
        return []
    known = {topic.name: topic for topic in topics}
    found: list[Difference] = []
    async for error, name, settings in _described(admin, known):
        if error:
            what = f"its settings cannot be read: {plain(for_code(error).__name__)}"
            found.append(Difference(name, what, "Grant the user DescribeConfigs on this topic"))
        else:
            found += _compare_settings(known[name], settings, replicas[name], bootstrap_servers)
    return found


async def settings_of(admin: AIOKafkaAdminClient, names: Collection[str]) -> dict[str, Mapping[str, Any]]:
    """Return the settings by topic, except topics whose settings Kafka does not show. Raises KafkaError."""
    return {name: settings async for error, name, settings in _described(admin, names) if not error}


async def _described(
    admin: AIOKafkaAdminClient, names: Collection[str]
) -> AsyncIterator[tuple[int, str, Mapping[str, Any]]]:
    answers: list[Any] = await admin.describe_configs(
        [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    )
    for answer in answers:
        for error, _, _, name, entries in answer.resources:
            yield error, name, {entry[0]: entry[1] for entry in entries}


def _compare_settings(topic: Topic, found: Mapping[str, Any], replicas: int, servers: str) -> list[Difference]:
    wanted = topic.config()
    # lower than the number of replicas: otherwise writes fail at once, or as soon as one broker is down
    wanted[_REPLICAS] = str(min(topic.min_insync_replicas, max(1, replicas - 1)))
    wrong = {
        name: value
        for name, value in wanted.items()
        if not _is_acceptable(name, str(found.get(name)), value, replicas)
    }
    if not wrong:
        return []
    what = ", ".join(f"{name} is {plain(found.get(name))}, not {value}" for name, value in wrong.items())
    settings = ",".join(f"{name}={value}" for name, value in wrong.items())
    mend = (
        f"kafka-configs.sh --bootstrap-server {servers} --alter --entity-type topics --entity-name {topic.name} "
        f"--add-config {settings}"
    )
    return [Difference(topic.name, what, mend)]


def _is_acceptable(name: str, found: str, wanted: str, replicas: int) -> bool:
    if name != _REPLICAS and name not in _AT_LEAST:
        return found == wanted
    most = replicas if name == _REPLICAS else math.inf
    return found.isdecimal() and int(wanted) <= int(found) <= most


_WRONG_PARTITIONS: Final = (
    "topic {} has {}, not {} as in kafka.partitions. Another number would split a log over two partitions, out of "
    "order. Set kafka.partitions to the topic's number, or another kafka.topic_prefix for new topics. To delete the "
    "topic and its messages: kafka-topics.sh --bootstrap-server {} --delete --topic {}"
)
_ADD_REPLICAS: Final = "Add them with kafka-reassign-partitions.sh, or change kafka.replication_factor"
log = structlog.get_logger(__name__)


class TopicsFound(NamedTuple):
    """Differences between the topics in Kafka and the expected ones."""

    missing: Sequence[str]
    differences: Sequence[Difference]
    """Differing settings of existing topics, which are logged and left unchanged."""
    small: Sequence[str] = ()
    """Topics with too few partitions that never had a message: Kafka created them when a client asked for them."""


async def ensure_topics(
    bootstrap_servers: str,
    topics: Sequence[Topic],
    *,
    replication_factor: int = 1,
    options: Mapping[str, Any] | None = None,
    make: bool = True,
) -> TopicsFound:
    """Create missing topics (unless `make` is false), and compare existing ones.

    A topic with too few partitions is extended if it never had a message. Raises KafkaUnusable if Kafka does not
    answer, or if the number of partitions of any other topic differs. That number decides the partition of each log,
    so it cannot change once there are messages.
    """
    client = AIOKafkaAdminClient(bootstrap_servers=bootstrap_servers, **(options or {}))
    try:
        async with aiokafka_fixes.started(client) as admin:
            found = await _compare(admin, bootstrap_servers, topics, replication_factor, options or {})
            for topic in topics if make else ():
                if topic.name in found.missing:
                    await _make(admin, topic, replication_factor)
                elif topic.name in found.small:
                    await _grow(admin, topic)
    except (KafkaError, OSError, FilesUnusable) as error:
        why = await why_unreachable(bootstrap_servers, options or {}) or explain(error)
        raise KafkaUnusable(f"Kafka at {bootstrap_servers} cannot be used: {why}") from None
    for each in found.differences:
        log.warning("a topic differs from the expected settings", topic=each.topic, what=each.what, mend=each.mend)
    if topics:
        DIFFERENT_TOPICS.set(len({each.topic for each in found.differences}))
    return found


async def _compare(
    admin: AIOKafkaAdminClient,
    servers: str,
    topics: Sequence[Topic],
    replication_factor: int,
    options: Mapping[str, Any],
) -> TopicsFound:
    known = set(await admin.list_topics())
    old = [topic for topic in topics if topic.name in known]
    described = await admin.describe_topics([topic.name for topic in old]) if old else []
    partitions = {each["topic"]: each["partitions"] for each in described}
    small = []
    for topic in old:
        number = len(partitions[topic.name])
        if number < topic.partitions and await _is_unused(servers, topic.name, number, options):
            small.append(topic.name)
        elif number != topic.partitions:
            there = counted(number, "partition")
            raise KafkaUnusable(_WRONG_PARTITIONS.format(topic.name, there, topic.partitions, servers, topic.name))
    replicas = {name: min(len(each["replicas"]) for each in of_one) for name, of_one in partitions.items()}
    few = [
        Difference(name, f"it has {counted(number, 'replica')}, not {replication_factor}", _ADD_REPLICAS)
        for name, number in replicas.items()
        if number < replication_factor
    ]
    missing = [topic.name for topic in topics if topic.name not in known]
    return TopicsFound(missing, [*await differences(admin, servers, old, replicas), *few], small)


async def _make(admin: AIOKafkaAdminClient, topic: Topic, replication_factor: int) -> None:
    new = NewTopic(topic.name, topic.partitions, replication_factor, topic_configs=topic.config())
    with suppress(TopicAlreadyExistsError):  # another process was faster
        await admin.create_topics([new])


async def _is_unused(servers: str, name: str, partitions: int, options: Mapping[str, Any]) -> bool:
    async with aiokafka_fixes.started(AIOKafkaConsumer(bootstrap_servers=servers, **options)) as consumer:
        ends = await consumer.end_offsets([TopicPartition(name, number) for number in range(partitions)])
    return not any(ends.values())


async def _grow(admin: AIOKafkaAdminClient, topic: Topic) -> None:
    log.warning("an empty topic gets more partitions", topic=topic.name, partitions=topic.partitions)
    with suppress(InvalidPartitionsError):  # another process was faster
        await admin.create_partitions({topic.name: NewPartitions(topic.partitions)})


async def dated_after(
    at: datetime, bootstrap_servers: str, names: Sequence[str], options: Mapping[str, Any] | None = None
) -> Mapping[str, datetime]:
    """Return, for each existing topic with a message dated after `at`, the date of one. Raises KafkaUnusable."""
    settings = {"bootstrap_servers": bootstrap_servers, **(options or {})}
    try:
        async with (
            aiokafka_fixes.started(AIOKafkaAdminClient(**settings)) as admin,
            aiokafka_fixes.started(AIOKafkaConsumer(**settings)) as consumer,
        ):
            described = await admin.describe_topics(sorted({*names} & {*await admin.list_topics()}))
            since_ms = int(at.timestamp() * 1000) + 1
            partitions = [TopicPartition(t["topic"], p["partition"]) for t in described for p in t["partitions"]]
            found = await consumer.offsets_for_times(dict.fromkeys(partitions, since_ms)) if partitions else {}
    except (KafkaError, OSError, FilesUnusable) as error:
        raise KafkaUnusable(f"Kafka at {bootstrap_servers} does not return its times: {explain(error)}") from None
    dated = sorted((each.timestamp, tp.topic) for tp, each in found.items() if each is not None)
    return {topic: datetime.fromtimestamp(milliseconds / 1000, UTC) for milliseconds, topic in dated}
