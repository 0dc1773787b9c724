"""Dead letters into their topic."""

import asyncio

from ingest.kafka.metrics import DEAD_LETTERS
from ingest.kafka.publish import Publisher
from ingest.model.topics import Topics, key_of
from ingest.normalize.dead_letters import Buried


async def bury(publisher: Publisher, topics: Topics, letter: Buried) -> "asyncio.Future[None]":
    """Hand a dead letter over, and count it; as `Publisher.send`."""
    DEAD_LETTERS.labels(letter.error_type).inc()
    return await publisher.send(
        topics.dead_letters.name, key_of(letter.cluster, ""), letter.payload, letter.headers()
    )
