"""The parts of the live pipeline as they run, one process each."""

import socket
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from common.stopping import stop_on_signals
from ingest.kafka.admin import ensure_topics
from ingest.kafka.publish import Publisher
from ingest.kafka.replay import Published, replay_into_kafka
from ingest.model.observation import Observed, Unreadable
from leadsman.run.settings import Settings
from sql.database.open import connect
from sql.landing.portions import PortionStore
from sql.schema.migrate import migrate
from streams.alerting.engine import alert_reducers
from streams.alerting.rules_file import read_rules
from streams.analytics.registry import ANALYTICS, REDUCERS
from streams.fold.reducer import Reducer
from streams.kafka.app import Worker
from streams.kafka.landing.consumer import Landing
from streams.kafka.landing.portion import Limits


async def run_worker(settings: Settings, reducers: Sequence[Reducer[Any]] | None = None) -> None:
    """Fold the logs until SIGTERM or SIGINT. Raises BadRules, TopicsUnusable, and what makes the worker unable to go
    on. Alerts are raised by the rules of the settings, where no reducers are given.
    """
    reducers = reducers or _reducers(settings)
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
        unacknowledged=kafka.unacknowledged_messages,
    )
    with stop_on_signals() as stop:
        await worker.run(stop)


def _reducers(settings: Settings) -> Sequence[Reducer[Any]]:
    rules = settings.alerts.rules
    return REDUCERS if rules is None else (*ANALYTICS, *alert_reducers(read_rules(rules)))


async def run_lander(settings: Settings) -> None:
    """Land findings and facts until SIGTERM or SIGINT. Raises TopicsUnusable, and DatabaseError where waiting does
    not help.
    """
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
        with stop_on_signals() as stop:
            await landing.run(stop)


async def feed(
    settings: Settings,
    items: Iterable[Observed | Unreadable],
    *,
    speed: float | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Published:
    """Replay observations into Kafka (`ingest.kafka.replay`). Raises TopicsUnusable."""
    await make_topics(settings)
    kafka = settings.kafka
    async with Publisher(kafka.bootstrap_servers, kafka.client_options(), kafka.unacknowledged_messages) as publisher:
        return await replay_into_kafka(items, publisher, kafka.topics(), speed=speed, since=since, until=until)


async def make_topics(settings: Settings) -> list[str]:
    """Make the topics that are missing, and give their names; raises TopicsUnusable."""
    kafka = settings.kafka
    return await ensure_topics(
        kafka.bootstrap_servers,
        kafka.topics(),
        replication_factor=kafka.replication_factor,
        options=kafka.client_options(),
    )
