"""Kafka as the settings describe it."""

from collections.abc import Iterable
from typing import Any

from ingest.kafka.admin import TopicsFound, ensure_topics
from ingest.kafka.publish import Publisher
from ingest.kafka.replay import Published, replay_into_kafka
from ingest.kafka.settings import KafkaSettings
from ingest.model.observation import Observed, Unreadable


async def make_topics(kafka: KafkaSettings, flat: Iterable[str] = ()) -> TopicsFound:
    """Create missing topics, and log how existing ones differ from what is expected.

    Raises KafkaUnusable and FilesUnusable.
    """
    return await ensure_topics(
        kafka.bootstrap_servers,
        kafka.every_topic(flat),
        replication_factor=kafka.replication_factor,
        options=kafka.client_options(),
    )


def publisher(kafka: KafkaSettings, name: str | None = None, **options: Any) -> Publisher:
    """Build a publisher that is not open yet, with further aiokafka options. Raises SettingsError."""
    options = kafka.client_options() | options
    return Publisher(kafka.bootstrap_servers, options, kafka.unacknowledged_messages, name)


async def feed(
    kafka: KafkaSettings, items: Iterable[Observed | Unreadable], name: str | None = None, **options: Any
) -> Published:
    """Replay observations into Kafka with options of `replay_into_kafka`. Raises KafkaUnusable and FilesUnusable.

    Input that was sent before under the same `name` is not folded again.
    """
    await make_topics(kafka)
    async with publisher(kafka, name) as opened:
        return await replay_into_kafka(items, opened, kafka.topics(), **options)
