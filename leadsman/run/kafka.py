"""Kafka as the settings describe it."""

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


def publisher(kafka: KafkaSettings, name: str | None = None) -> Publisher:
    """A publisher that is not open yet. Raises SettingsError."""
    return Publisher(kafka.bootstrap_servers, kafka.client_options(), kafka.unacknowledged_messages, name)
