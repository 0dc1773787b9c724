"""`leadsman alert` as it runs: a consumer for each receiver, so that none waits for another."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

from msgspec.structs import replace

from common.clock import SYSTEM
from common.durations import in_words
from common.stopping import run_until, stop_on_signals
from common.tasks import in_thread, together
from leadsman.run.kafka import make_topics
from leadsman.run.settings import Settings
from leadsman.run.silences import Silences
from leadsman.web.reading.scope import Asked
from leadsman.web.reading.words import amount
from leadsman.web.rendering.links import Links
from sql.database.errors import DatabaseError
from sql.database.held import connect_to_read
from sql.database.open import Database
from sql.questions.queries import run, saved_query
from streams.alerting.holding import fingerprint
from streams.alerting.receivers.alert_states import AlertStates, Received
from streams.alerting.receivers.choose import Receiver, group_of, receiver
from streams.alerting.receivers.consume import AlertConsumer
from streams.kafka.messages.alerts import AlertMessage

ABOUT: Final = frozenset({"EvictionThresholdNear", "EvictionTooLate", "NodePressureLasting", "PodsEvicted"})
_OWNER: Final = """
SELECT owner_kind, owner_name FROM pod_bindings
WHERE cluster = {cluster:String} AND namespace = {namespace:String} AND pod = {pod:String} AND owner_name != ''
ORDER BY ts DESC LIMIT 1
"""
More: TypeAlias = Callable[[AlertMessage], Awaitable[str]]


async def first_to_go(open_database: Callable[[], Database], alert: AlertMessage) -> str:
    """Return a sentence about the pod, its workload, the room and the time; empty if none is known."""
    node = alert.labels.get("node", "")
    if alert.status != "firing" or not node or alert.labels.get("alertname") not in ABOUT:
        return ""
    try:
        return await in_thread(partial(_read, open_database, alert.labels.get("cluster", ""), node))
    except DatabaseError:
        return ""


def _read(open_database: Callable[[], Database], cluster: str, node: str) -> str:
    with open_database() as database:
        found = run(database, saved_query("next_eviction"), {"cluster": cluster, "node": node})
        if not found.rows:
            return ""
        row = dict(zip(found.column_names, found.rows[0], strict=True))
        owner = database.query(_OWNER, row).rows if row["pod"] else []
    return sentences(row, owner[0] if owner else ())


def sentences(row: dict[str, Any], owner: tuple[str, ...]) -> str:
    """Return sentences on a row of `next_eviction`, whose pod has an owner of this kind and name."""
    return " ".join(filter(None, (_pod(row, owner), _room(row))))


def _pod(row: dict[str, Any], owner: tuple[str, ...]) -> str:
    if not row["pod"]:
        return ""
    of = f" of {' '.join(owner)}" if owner else ""
    growth = row["growth_per_hour"]
    grows = f", which grows {amount(growth, row['signal'])}/h" if growth is not None and growth > 0 else ""
    return f"Evicted first: {row['namespace']}/{row['pod']}{of}{grows}."


def _room(row: dict[str, Any]) -> str:
    room, seconds = row["room"], row["seconds_to_threshold"]
    if room is None:
        return ""
    at = f" in {in_words(seconds)}" if seconds else ""
    state = f"{amount(room, row['signal'])} left above" if room > 0 else f"{amount(-room, row['signal'])} below"
    return f"{row['signal']}: {state} the {row['meets']} threshold{f', met{at}' if at and room > 0 else ''}."


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
        coroutines = [consumer.run() for consumer in consumers]
        if silences:
            await silences.read()
            coroutines.append(silences.run())
        await run_until(stop, together(coroutines))
