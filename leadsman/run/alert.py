"""Runs `leadsman alert`: a consumer for each receiver, so that none waits for another.

`leadsman up` delivers without Kafka, from the table of alerts. A file next to the journal records what the receiver
was sent. It is written after each delivery, so that after a kill the next process delivers what was missed.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec
import structlog
from msgspec.structs import replace

from common.clock import SYSTEM, Clock
from common.durations import in_words
from common.private import open_private
from common.tasks import in_thread, run_until, stop_on_signals, together
from leadsman.run.kafka import make_topics
from leadsman.run.settings import Settings
from leadsman.run.silences import Silences
from leadsman.web.reading.scope import RequestedRange
from leadsman.web.reading.words import amount
from leadsman.web.rendering.links import Links
from sql.database.errors import DatabaseError
from sql.database.held import connect_to_read
from sql.database.open import Database
from sql.questions.queries import run, saved_query
from streams.alerting.holding import fingerprint
from streams.alerting.receivers.alert_states import AlertStates, DeliveryState, Received
from streams.alerting.receivers.choose import Receiver, group_of, receiver, reported
from streams.alerting.receivers.consume import JUDGE_EVERY, AlertConsumer, SilenceFilter
from streams.alerting.receivers.pushing import NOWHERE, Addresses
from streams.alerting.receivers.slack_channel import SlackChannel
from streams.alerting.silences import Silence
from streams.fold.findings import Alert
from streams.kafka.messages.alerts import AlertMessage, message_of

LOOK_SECONDS: Final = 3.0
KEPT: Final = timedelta(days=7)
"""Time for which an alert that is over is still delivered to a receiver that missed it."""
_READ: Final = f"""
SELECT {", ".join(Alert._fields)}, landed_at FROM alerts
WHERE cluster = {{cluster:String}} AND (ts > {{since:DateTime64(6)}} OR (fingerprint, starts_at) NOT IN
    (SELECT fingerprint, starts_at FROM alerts WHERE cluster = {{cluster:String}} AND status = 'resolved'))
ORDER BY starts_at, updated_at, status = 'resolved', fingerprint
"""
log = structlog.get_logger(__name__)


class _Progress(msgspec.Struct, frozen=True):
    delivered: list[str]
    remembered: DeliveryState


class AlertDelivery:
    """Delivers the alerts of one cluster to one receiver."""

    def __init__(
        self,
        open_database: Callable[[], Database],
        cluster: str,
        file: Path,
        receiver: Receiver,
        silences: Callable[[], Sequence[Silence]] = tuple,
        clock: Clock = SYSTEM,
    ) -> None:
        """`file` has the progress; it is created by the first delivery."""
        self._open = open_database
        self._cluster = cluster
        self._file = file
        self._receiver = receiver
        self._withholding = SilenceFilter(receiver, silences, clock)
        self._clock = clock
        self._states = AlertStates()
        self._progress = _read_progress(file)
        self._judged_at = self._progress.remembered.judged_at if self._progress else clock.now()
        self._sent_at = clock.monotonic()
        self._begun = False
        self._trouble = ""

    async def run(self) -> None:
        """Deliver until cancelled. If the database does not answer, try again."""
        try:
            with reported(self._receiver, lambda: self._trouble):
                while True:
                    try:
                        await self.once()
                        self._trouble = ""
                    except DatabaseError as error:
                        if not self._trouble:
                            log.warning("alerts cannot be read", receiver=self._receiver.name, reason=str(error))
                        self._trouble = f"alerts cannot be read: {error}"
                    await self._clock.sleep(LOOK_SECONDS)
        finally:
            await self._receiver.close()

    async def once(self) -> None:
        """Deliver news once. Raises DatabaseError."""
        every = await in_thread(self._stored)
        known = set(self._progress.delivered) if self._progress else set()
        read = [each for each in every if self._states.read(each)]
        if self._progress is None:  # a new receiver gets the alerts that fire now
            news = list(self._states.firing())
        else:
            news = [each for each in read if each.identity not in known]
        news += self._resumed() if not self._begun else self._lost()
        resend = self._withholding.resend_seconds
        if news or (resend is not None and self._clock.monotonic() - self._sent_at >= resend):
            await self._withholding.deliver(news, self._states)
            self._sent_at = self._clock.monotonic()
        remembered = self._withholding.remembered(self._judged_at)
        self._keep(_Progress([each.identity for each in every], remembered))

    def _stored(self) -> list[Received]:
        with self._open() as database:
            given = {"cluster": self._cluster, "since": self._clock.now() - KEPT}
            found = [(Alert(*row), at) for *row, at in database.query(_READ, given, described=False).rows]
        return [
            Received(
                message_of(each), f"{each.fingerprint}@{each.starts_at.isoformat()}#{each.status}", at.astimezone(UTC)
            )
            for each, at in found
        ]

    def _resumed(self) -> Sequence[Received]:
        """Continue as the earlier process would, with its parked, withheld and unknown alerts."""
        self._begun = True
        if self._progress is not None:
            self._states.lose(self._judged_at)
            remembered = self._progress.remembered
            self._withholding.withhold(remembered.withheld, more=remembered.more)
            for each in self._states.of(self._progress.remembered.parked):
                self._receiver.park(each)
        return ()

    def _lost(self) -> Sequence[Received]:
        now = self._clock.now()
        if now - self._judged_at < JUDGE_EVERY:
            return ()
        self._judged_at = now
        return self._states.lose(now)

    def _keep(self, progress: _Progress) -> None:
        """Replace the file as a whole, so that a truncated one is never read."""
        if progress == self._progress:
            return
        unfinished = self._file.with_suffix(".new")
        with open_private(unfinished, "wb") as file:
            file.write(msgspec.json.encode(progress))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._file)
        self._progress = progress


def progress_file(folder: Path, receiver: str) -> Path:
    """Return the file of a receiver in a cluster's folder; its name does not reveal the receiver's address."""
    return folder / f"{group_of('up', receiver)}.json"


def _read_progress(file: Path) -> _Progress | None:
    """Return None for a receiver that was never sent anything."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Progress)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError:
        log.warning("the progress of a receiver cannot be read: it gets all firing alerts", file=str(file))
        return None


ABOUT: Final = frozenset({"EvictionThresholdNear", "EvictionTooLate", "NodePressureLasting", "PodsEvicted"})
_OWNER: Final = """
SELECT owner_kind, owner_name FROM pod_bindings
WHERE cluster = {cluster:String} AND namespace = {namespace:String} AND pod = {pod:String} AND owner_name != ''
ORDER BY ts DESC LIMIT 1
"""
More: TypeAlias = Callable[[AlertMessage], Awaitable[str]]


async def first_to_go(open_database: Callable[[], Database], alert: AlertMessage) -> str:
    """Return a sentence about the pod that would be evicted first, its workload, the remaining amount and the time;
    empty if none is known.
    """
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
        owner = database.query(_OWNER, row, described=False).rows if row["pod"] else []
    return sentences(row, owner[0] if owner else ())


def sentences(row: dict[str, Any], owner: tuple[str, ...]) -> str:
    """Return sentences about a row of `next_eviction`, whose pod has an owner of this kind and name."""
    return " ".join(filter(None, (_pod(row, owner), _room(row))))


def _pod(row: dict[str, Any], owner: tuple[str, ...]) -> str:
    if not row["pod"]:
        return ""
    owned = f" of {' '.join(owner)}" if owner else ""
    growth = row["growth_per_hour"]
    grows = f", which grows {amount(growth, row['signal'])}/h" if growth is not None and growth > 0 else ""
    return f"Next to be evicted: {row['namespace']}/{row['pod']}{owned}{grows}."


def _room(row: dict[str, Any]) -> str:
    room, seconds = row["room"], row["seconds_to_threshold"]
    if room is None:
        return ""
    at = f" in {in_words(seconds)}" if seconds else ""
    state = f"{amount(room, row['signal'])} left above" if room > 0 else f"{amount(-room, row['signal'])} below"
    return f"{row['signal']}: {state} the {row['meets']} threshold{f', met{at}' if at and room > 0 else ''}."


TEST_SECONDS: Final = 20.0


def receiver_of(settings: Settings, text: str, open_database: Callable[[], Database] | None = None) -> Receiver:
    """Build a receiver from the settings; `open_database` finds the pod to blame. Raises BadReceiver."""
    secret, token = settings.alerts.webhook_secret, settings.alerts.slack_token
    return receiver(
        text,
        webhook_secret=secret.get_secret_value() if secret else None,
        pagerduty_url=settings.alerts.pagerduty_url,
        slack_url=settings.alerts.slack_url,
        slack_token=settings.alerts.slack_token_file or (token.get_secret_value() if token else ""),
        link=partial(_link, settings.page.address.rstrip("/")),
        more=partial(first_to_go, open_database) if open_database else None,
    )


def _link(page: str, alert: AlertMessage) -> Addresses:
    """Return the pages of the alert's node, or else of its cluster; empty if the page has no public address."""
    if not page:
        return NOWHERE
    links = Links(RequestedRange(alert.labels.get("cluster", "")))
    node = alert.labels.get("node", "")
    runbook = links.runbook(alert.labels.get("alertname", ""), node)
    return Addresses(f"{page}{links.node(node) if node else links.home()}", runbook and f"{page}{runbook}")


async def send_test(settings: Settings, to: Sequence[str]) -> list[str]:
    """Send an alert to each receiver, and return what went wrong. Raises BadReceiver."""
    now = SYSTEM.now()
    labels = {"alertname": "LeadsmanTest", "severity": "info"}
    words = {
        "summary": "Test alert, sent by leadsman alert --test",
        "description": "This receiver works. Nothing is wrong.",
    }
    alert = AlertMessage(
        status="firing",
        fingerprint=fingerprint(labels),
        labels=labels,
        annotations=words,
        starts_at=now,
        updated_at=now,
    )
    firing = Received(alert, f"{alert.fingerprint}@{now.isoformat()}#firing", now)
    resolved = Received(replace(alert, status="resolved", ends_at=now), f"{firing.identity}#resolved", now)
    receivers = [receiver_of(settings, text) for text in dict.fromkeys(to)]
    found = await asyncio.gather(
        *(_tested(each, [firing, resolved] if _keeps(each) else [firing]) for each in receivers)
    )
    return [each for each in found if each]


def _keeps(receiver: Receiver) -> bool:
    """Tell whether an alert stays open there until it is resolved."""
    return receiver.name.startswith("pagerduty") or isinstance(receiver, SlackChannel)


async def _tested(receiver: Receiver, news: Sequence[Received]) -> str:
    states = AlertStates()
    poster = receiver.poster
    try:
        for each in news:
            states.read(each)
            await asyncio.wait_for(receiver.deliver([each], states), TEST_SECONDS)
    except TimeoutError:
        return (
            poster.trouble
            if poster and poster.trouble
            else f"{receiver.name} gave no answer within {TEST_SECONDS:.0f} s"
        )
    finally:
        await receiver.close()
    if poster and poster.tally["delivered"] < len(news):
        return f"{receiver.name} refused the test alert; the log has its answer"
    return ""


async def run_alerts(settings: Settings, to: Sequence[str]) -> None:
    """Deliver alerts to every receiver until a signal. Raises BadReceiver, BadDsn and KafkaUnusable."""
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
