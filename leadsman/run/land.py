"""Runs `leadsman land`."""

import socket
from functools import partial

from common.tasks import Tasks, stop_on_signals
from ingest.kafka.publish import Publisher
from ingest.kafka.settings import KafkaSettings
from leadsman.run.beside import answering
from leadsman.run.kafka import make_topics
from leadsman.run.settings import Settings
from leadsman.run.silences import SILENCES, Silences
from sql.database.open import connect
from sql.landing.portions import PortionStore
from sql.questions.pending import recalculate
from sql.schema.migrate import migrate
from sql.schema.upkeep import Upkeep
from streams.kafka.gaps import Gaps
from streams.kafka.landing.consumer import Landing


async def run_lander(settings: Settings) -> None:
    """Land findings and facts until SIGTERM or SIGINT.

    Raises KafkaUnusable, and DatabaseError if a retry cannot help.
    """
    kafka, land = settings.kafka, settings.land
    await make_topics(kafka)
    dsn = settings.db.get_secret_value()
    with connect(dsn) as database:
        migrate(database)
        store = PortionStore(database, kafka.topics())
        gaps = Gaps()
        landing = Landing(
            store.topics(),
            kafka.bootstrap_servers,
            store,
            group=f"{kafka.topic_prefix}-land",
            instance=land.instance or socket.gethostname(),
            settings=land,
            client_options=kafka.client_options(),
            gaps=gaps,
        )
        silences = Silences(partial(connect, dsn))
        with stop_on_signals() as stop, Upkeep(partial(connect, dsn), recalculate):
            async with answering(database, {SILENCES: silences.reply}), Tasks() as spawn:
                spawn(_publish(gaps, kafka))
                await landing.run(stop)


async def _publish(gaps: Gaps, kafka: KafkaSettings) -> None:
    """Publish with a producer that is created when the first messages are missing."""
    await gaps.found()
    async with Publisher(kafka.bootstrap_servers, kafka.client_options()) as publisher:
        await gaps.publish(publisher, kafka.topics())
