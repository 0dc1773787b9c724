"""Files into Kafka: `leadsman replay --into kafka` as it runs."""

from collections.abc import Iterable
from datetime import datetime

from ingest.kafka.replay import Published, replay_into_kafka
from ingest.kafka.settings import KafkaSettings
from ingest.model.observation import Observed, Unreadable
from leadsman.run.kafka import make_topics, publisher


async def feed(
    kafka: KafkaSettings,
    items: Iterable[Observed | Unreadable],
    *,
    name: str | None = None,
    speed: float | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    strict: bool = False,
) -> Published:
    """Replay observations into Kafka (`ingest.kafka.replay`). Raises TopicsUnusable and FilesUnusable.

    Input that was sent under the same `name` before is folded once.
    """
    await make_topics(kafka)
    async with publisher(kafka, name) as opened:
        return await replay_into_kafka(
            items, opened, kafka.topics(), speed=speed, since=since, until=until, strict=strict
        )
