"""Kafka as the settings describe it."""

from typing import Any

from ingest.kafka.admin import TopicsFound, ensure_topics
from ingest.kafka.publish import Publisher
from ingest.kafka.settings import KafkaSettings


async def make_topics(kafka: KafkaSettings) -> TopicsFound:
    """Create the topics that are missing, and log how others differ. Raises TopicsUnusable and FilesUnusable."""
    return await ensure_topics(
        kafka.bootstrap_servers,
        kafka.every_topic(),
        replication_factor=kafka.replication_factor,
        options=kafka.client_options(),
    )


def publisher(kafka: KafkaSettings, name: str | None = None, **options: Any) -> Publisher:
    """A publisher that is not open yet, with more options of aiokafka's. Raises SettingsError."""
    options = kafka.client_options() | options
    return Publisher(kafka.bootstrap_servers, options, kafka.unacknowledged_messages, name)
