"""The parts of the live pipeline as they run, one process each."""

import asyncio
import socket
from collections.abc import Sequence
from typing import Any

from ingest.settings import Settings
from ingest.topics_admin import ensure_topics
from sql.database import connect
from sql.landing_kafka import PortionStore
from sql.migrate import migrate
from streams.analytics.registry import REDUCERS
from streams.app import Worker, stop_on_signals
from streams.landing import Landing, Limits
from streams.reducer import Reducer


async def run_worker(
    settings: Settings, stop: asyncio.Event | None = None, reducers: Sequence[Reducer[Any]] = REDUCERS
) -> None:
    """Fold the logs until SIGTERM, SIGINT or `stop`. Raises what makes the worker unable to go on."""
    stop = stop or stop_on_signals()
    await make_topics(settings)
    kafka = settings.kafka
    worker = Worker(
        reducers,
        kafka.topics(),
        kafka.bootstrap_servers,
        group=f"{kafka.topic_prefix}-work",
        instance=settings.work.instance or socket.gethostname(),
        replication_factor=kafka.replication_factor,
        client_options=kafka.client_options(),
    )
    await worker.run(stop)


async def run_lander(settings: Settings, stop: asyncio.Event | None = None) -> None:
    """Land findings and facts until SIGTERM, SIGINT or `stop`. Raises DatabaseError where waiting does not help."""
    stop = stop or stop_on_signals()
    await make_topics(settings)
    kafka, land = settings.kafka, settings.land
    with connect(settings.db.get_secret_value()) as database:
        migrate(database)
        store = PortionStore(database, kafka.topics())
        landing = Landing(
            store.topics(),
            kafka.bootstrap_servers,
            store,
            group=f"{kafka.topic_prefix}-land",
            instance=land.instance or socket.gethostname(),
            limits=Limits(land.batch_messages, land.batch_bytes, land.batch_seconds, land.buffered_bytes),
            client_options=kafka.client_options(),
        )
        await landing.run(stop)


async def make_topics(settings: Settings) -> list[str]:
    """Make the topics that are missing, and give their names; raises TopicsUnusable."""
    kafka = settings.kafka
    return await ensure_topics(
        kafka.bootstrap_servers,
        kafka.topics(),
        replication_factor=kafka.replication_factor,
        options=kafka.client_options(),
    )
