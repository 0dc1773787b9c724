"""Create topics, or check them, before anything is published."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.errors import InvalidPartitionsError, KafkaError, TopicAlreadyExistsError

from common.errors import FilesUnusable, KafkaUnusable
from ingest.kafka import aiokafka_fixes
from ingest.kafka.metrics import DIFFERENT_TOPICS
from ingest.kafka.reaching import explain, why_unreachable
from ingest.kafka.topic_settings import Difference, differences
from ingest.model.topics import Topic

_PARTITIONS: Final = (
    "topic {} has {} partitions, not {} as in kafka.partitions: with another number, one log would be on two "
    "partitions, out of order. To have more, give another kafka.topic_prefix, where everything starts again. To lose "
    "its messages: kafka-topics.sh --bootstrap-server {} --delete --topic {}"
)
_MOVE: Final = "Add them with kafka-reassign-partitions.sh, or change kafka.replication_factor"
log = structlog.get_logger(__name__)


class TopicsUnusable(KafkaUnusable):
    """Kafka cannot be used as it is; the message has what is wrong and what to do."""


class TopicsFound(NamedTuple):
    """Lists the topics that exist, and those that do not."""

    missing: Sequence[str]
    differences: Sequence[Difference]
    """Settings of topics that exist: they are left as they are, and logged."""
    small: Sequence[str] = ()
    """Topics with too few partitions that never had a message: somebody's client made them by asking for them."""


async def ensure_topics(
    bootstrap_servers: str,
    topics: Sequence[Topic],
    *,
    replication_factor: int = 1,
    options: Mapping[str, Any] | None = None,
    make: bool = True,
) -> TopicsFound:
    """Make the topics that are missing (or, without `make`, do not), and compare those that exist.

    A topic with too few partitions grows if it never had a message. Raises TopicsUnusable where Kafka does not
    answer, or another topic has another number of partitions: it decides each log's partition, so it never changes.
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
        raise TopicsUnusable(f"Kafka at {bootstrap_servers} cannot be used: {why}") from None
    for each in found.differences:
        log.warning("a topic is not as it ought to be", topic=each.topic, what=each.what, mend=each.mend)
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
            raise TopicsUnusable(_PARTITIONS.format(topic.name, number, topic.partitions, servers, topic.name))
    replicas = {name: min(len(each["replicas"]) for each in of_one) for name, of_one in partitions.items()}
    few = [
        Difference(name, f"it has {number} replicas, not {replication_factor}", _MOVE)
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
    """Tell whether no message was ever in the topic."""
    async with aiokafka_fixes.started(AIOKafkaConsumer(bootstrap_servers=servers, **options)) as consumer:
        ends = await consumer.end_offsets([TopicPartition(name, number) for number in range(partitions)])
    return not any(ends.values())


async def _grow(admin: AIOKafkaAdminClient, topic: Topic) -> None:
    log.warning("an empty topic gets more partitions", topic=topic.name, partitions=topic.partitions)
    with suppress(InvalidPartitionsError):  # another process was faster
        await admin.create_partitions({topic.name: NewPartitions(topic.partitions)})


@asynccontextmanager
async def _clients(
    bootstrap_servers: str, options: Mapping[str, Any] | None
) -> AsyncIterator[tuple[AIOKafkaAdminClient, AIOKafkaConsumer]]:
    settings = {"bootstrap_servers": bootstrap_servers, **(options or {})}
    async with (
        aiokafka_fixes.started(AIOKafkaAdminClient(**settings)) as admin,
        aiokafka_fixes.started(AIOKafkaConsumer(**settings)) as consumer,
    ):
        yield admin, consumer


async def dated_after(
    at: datetime, bootstrap_servers: str, names: Sequence[str], options: Mapping[str, Any] | None = None
) -> Mapping[str, datetime]:
    """Return, for each topic with a message dated after `at`, the date of one. Only existing topics are checked.

    Raises TopicsUnusable.
    """
    try:
        async with _clients(bootstrap_servers, options) as (admin, consumer):
            described = await admin.describe_topics(sorted({*names} & {*await admin.list_topics()}))
            since_ms = int(at.timestamp() * 1000) + 1
            partitions = [TopicPartition(t["topic"], p["partition"]) for t in described for p in t["partitions"]]
            found = await consumer.offsets_for_times(dict.fromkeys(partitions, since_ms)) if partitions else {}
    except (KafkaError, OSError, FilesUnusable) as error:
        raise TopicsUnusable(f"Kafka at {bootstrap_servers} does not return its times: {explain(error)}") from None
    dated = sorted((each.timestamp, tp.topic) for tp, each in found.items() if each is not None)
    return {topic: datetime.fromtimestamp(milliseconds / 1000, UTC) for milliseconds, topic in dated}


async def lag(
    bootstrap_servers: str, group: str, names: Sequence[str], options: Mapping[str, Any] | None = None
) -> int:
    """How many messages of the topics the group has not acknowledged yet; raises TopicsUnusable."""
    try:
        async with _clients(bootstrap_servers, options) as (admin, consumer):
            described = await admin.describe_topics(list(names))
            partitions = [TopicPartition(t["topic"], p["partition"]) for t in described for p in t["partitions"]]
            begins = await consumer.beginning_offsets(partitions)
            ends = await consumer.end_offsets(partitions)
            committed = await aiokafka_fixes.committed(admin, group, set(partitions))
    except KafkaError as error:
        raise TopicsUnusable(f"Kafka at {bootstrap_servers} does not return its offsets: {error!r}") from None
    return sum(ends[tp] - max(begins[tp], committed[tp].offset, 0) for tp in partitions)
