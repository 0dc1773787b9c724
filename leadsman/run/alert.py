"""`leadsman alert` as it runs: a consumer for each receiver, so that none waits for another."""

from collections.abc import Sequence
from functools import partial

from common.stopping import run_until, stop_on_signals
from common.tasks import together
from leadsman.run.kafka import make_topics
from leadsman.run.settings import Settings
from leadsman.run.silences import Silences
from sql.database.open import connect
from streams.alerting.receivers.choose import group_of, receiver
from streams.alerting.receivers.consume import AlertConsumer


async def run_alerts(settings: Settings, to: Sequence[str]) -> None:
    """Deliver alerts to every receiver until SIGTERM or SIGINT; silences are those of the settings' database.

    Raises BadReceiver, BadDsn and TopicsUnusable.
    """
    kafka = settings.kafka
    secret = settings.alerts.webhook_secret
    silences = None
    if "db" in settings.model_fields_set:
        silences = Silences(partial(connect, settings.db.get_secret_value(), make=False, read_only=True))
    consumers = [
        AlertConsumer(
            kafka.topics().alerts,
            group_of(kafka.topic_prefix, text),
            receiver(
                text,
                webhook_secret=secret.get_secret_value() if secret else None,
                pagerduty_url=settings.alerts.pagerduty_url,
            ),
            kafka.bootstrap_servers,
            kafka.client_options(),
            silences.known if silences else tuple,
        )
        for text in dict.fromkeys(to)
    ]
    await make_topics(kafka)
    with stop_on_signals() as stop:
        works = [consumer.run() for consumer in consumers]
        if silences:
            await silences.read()
            works.append(silences.run())
        await run_until(stop, together(works))
