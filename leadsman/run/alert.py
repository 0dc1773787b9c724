"""`leadsman alert` as it runs: a consumer for each receiver, so that none waits for another."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from common.clock import SYSTEM
from common.stopping import run_until, stop_on_signals
from common.tasks import together
from leadsman.run.culprits import first_to_go
from leadsman.run.kafka import make_topics
from leadsman.run.settings import Settings
from leadsman.run.silences import Silences
from leadsman.web.reading.scope import Asked
from leadsman.web.rendering.links import Links
from sql.database.held import connect_to_read
from sql.database.open import Database
from streams.alerting.holding import fingerprint
from streams.alerting.receivers.alert_states import AlertStates, Received
from streams.alerting.receivers.choose import Receiver, group_of, receiver
from streams.alerting.receivers.consume import AlertConsumer
from streams.kafka.messages.alerts import AlertMessage

TEST_SECONDS: Final = 20.0


def receiver_of(settings: Settings, text: str, open_database: Callable[[], Database] | None = None) -> Receiver:
    """Make a receiver with the secrets and addresses of the settings; `open_database` is asked for the pod to blame.

    Raises BadReceiver.
    """
    secret = settings.alerts.webhook_secret
    return receiver(
        text,
        webhook_secret=secret.get_secret_value() if secret else None,
        pagerduty_url=settings.alerts.pagerduty_url,
        link=partial(_link, settings.page.address.rstrip("/")),
        more=partial(first_to_go, open_database) if open_database else None,
    )


def _link(page: str, alert: AlertMessage) -> str:
    """The page of the alert's node, or else of its cluster; empty if the page has no public address."""
    links = Links(Asked(alert.labels.get("cluster", "")))
    node = alert.labels.get("node")
    return f"{page}{links.node(node) if node else links.home()}" if page else ""


async def send_test(settings: Settings, to: Sequence[str]) -> list[str]:
    """Send an alert to each receiver, and return what went wrong. Raises BadReceiver."""
    now = SYSTEM.now()
    labels = {"alertname": "LeadsmanTest", "severity": "info"}
    words = {"summary": "A test of leadsman alert --test", "description": "This receiver works. Nothing is wrong."}
    alert = AlertMessage(
        status="firing",
        fingerprint=fingerprint(labels),
        labels=labels,
        annotations=words,
        starts_at=now,
        updated_at=now,
    )
    firing = Received(alert, f"{alert.fingerprint}@{now.isoformat()}#firing", now)
    over = Received(replace(alert, status="resolved", ends_at=now), f"{firing.identity}#resolved", now)
    made = [receiver_of(settings, text) for text in dict.fromkeys(to)]
    found = await asyncio.gather(*(_tested(each, [firing, over] if _keeps(each) else [firing]) for each in made))
    return [each for each in found if each]


def _keeps(receiver: Receiver) -> bool:
    """Tell whether an alert stays open there until it is resolved."""
    return receiver.name.startswith("pagerduty")


async def _tested(receiver: Receiver, news: Sequence[Received]) -> str:
    states = AlertStates()
    poster = receiver.poster
    try:
        for each in news:
            states.read(each)
            await asyncio.wait_for(receiver.deliver([each], states), TEST_SECONDS)
    except TimeoutError:
        return poster.trouble if poster and poster.trouble else f"{receiver.name} does not answer"
    finally:
        await receiver.close()
    if poster and poster.tally["delivered"] < len(news):
        return f"{receiver.name} refused it, see the log"
    return ""


async def run_alerts(settings: Settings, to: Sequence[str]) -> None:
    """Deliver alerts to every receiver until SIGTERM or SIGINT; silences are those of the settings' database.

    Raises BadReceiver, BadDsn and TopicsUnusable.
    """
    kafka = settings.kafka
    silences = opened = None
    if "db" in settings.model_fields_set:
        opened = partial(connect_to_read, settings.db.get_secret_value())
        silences = Silences(opened)
    consumers = [
        AlertConsumer(
            kafka.topics().alerts,
            group_of(kafka.topic_prefix, text),
            receiver_of(settings, text, opened),
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
