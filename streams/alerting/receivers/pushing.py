"""Receivers that get one message when an alert fires and one when it is resolved: webhook, Slack, standard output."""

import asyncio
import hashlib
import hmac
import math
import re
import sys
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Final, NamedTuple

import msgspec

from common.clock import SYSTEM, Clock
from common.durations import in_words
from common.tasks import together
from common.text import plain
from streams.alerting.holding import UNKNOWN
from streams.alerting.receivers.alert_states import MOST, AlertStates, Received, time_text
from streams.alerting.receivers.posting import (
    DEADLINE_SECONDS,
    OF_JSON,
    Failed,
    Poster,
    Refused,
    log_parked,
    log_refused,
)
from streams.kafka.messages.alerts import AlertMessage

AT_ONCE: Final = 8
"""Maximum number of concurrent requests to one receiver."""
ROUND_SECONDS: Final = 60.0
"""Seconds between two rounds in which parked alerts are retried."""
SIGNATURE: Final = "X-Leadsman-Signature"
_SLACK_TEXT: Final = 2900
"""Maximum number of characters of a Slack text block, which Slack cuts at 3,000."""
_SHOWN: Final = frozenset({"alertname", "cluster", "node"})
_WORD: Final = re.compile(r"[\w.-]{1,253}", re.ASCII)
_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


class Pushed:
    """Sends each message separately, and those of one alert in order.

    If the receiver fails on an alert, the alert is parked: it is retried once in every later round, until it is
    accepted, has news, or has left the topic.
    """

    def __init__(self, send: Callable[[Received, float], Awaitable[None]], poster: Poster | None = None) -> None:
        """`send` takes a message and the seconds for which it is tried, and raises Refused or Failed."""
        self.name = poster.name if poster else "stdout"
        self.poster = poster
        self._send = send
        self._parked: dict[str, Sequence[Received]] = {}
        """Parked alerts by fingerprint."""

    @property
    def resend_seconds(self) -> float | None:
        """Return the seconds between repeats of all alerts' states without news; None for never."""
        return ROUND_SECONDS if self._parked else None

    @property
    def parked(self) -> Collection[str]:
        """Return the fingerprints of alerts that the receiver has not accepted."""
        return self._parked.keys()

    def park(self, received: Received) -> None:
        """Retry this alert in the next rounds, because an earlier process had parked it."""
        self._parked[received.alert.fingerprint] = (received,)

    async def close(self) -> None:
        if self.poster is not None:
            await self.poster.close()

    async def deliver(self, news: Sequence[Received], states: AlertStates) -> None:
        """Return when every message was accepted, refused for good or parked; the last two are logged."""
        by_alert: dict[str, list[Received]] = {}
        for received in news:
            by_alert.setdefault(received.alert.fingerprint, []).append(received)
        room = asyncio.Semaphore(AT_ONCE)
        self._parked = {fingerprint: each for fingerprint, each in self._parked.items() if fingerprint in states}
        parked = [each for fingerprint, each in self._parked.items() if fingerprint not in by_alert]
        await together(self._in_order(of_one, room) for of_one in by_alert.values())
        await together(self._in_order(of_one, room, 0.0) for of_one in parked)

    async def _in_order(
        self, every: Sequence[Received], room: asyncio.Semaphore, deadline_seconds: float | None = None
    ) -> None:
        fingerprint = every[0].alert.fingerprint
        was_parked = self._parked.pop(fingerprint, ())
        for number, received in enumerate(every):
            async with room:
                try:
                    await self._send(
                        received, self._deadline_seconds if deadline_seconds is None else deadline_seconds
                    )
                except Refused as error:
                    log_refused(received.alert, error)
                except Failed as error:
                    self._parked[fingerprint] = every[number:]
                    if not was_parked:
                        if self.poster is not None:
                            self.poster.tally["parked"] += 1
                        log_parked(received.alert, error)
                    return

    @property
    def _deadline_seconds(self) -> float:
        """Return the deadline of a message; infinite if a commit cannot list more parked alerts."""
        return DEADLINE_SECONDS if len(self._parked) + AT_ONCE <= MOST else math.inf


def of_json(poster: Poster, message: Callable[[Received], object]) -> Pushed:
    """Posts a message as JSON."""

    async def send(received: Received, deadline_seconds: float) -> None:
        await poster.post("", msgspec.json.encode(message(received)), deadline_seconds=deadline_seconds)

    return Pushed(send, poster)


def webhook(url: str, secret: str | None, clock: Clock = SYSTEM) -> Pushed:
    """Posts the message as it is in the topic, with `Idempotency-Key` and, if there is a secret, a signature."""
    poster = Poster("webhook", url, clock)

    async def send(received: Received, deadline_seconds: float) -> None:
        body = msgspec.json.encode(received.alert)

        def headers() -> dict[str, str]:
            found = OF_JSON | {"Idempotency-Key": received.identity}
            return found | ({SIGNATURE: signature(secret, body, int(clock.now().timestamp()))} if secret else {})

        await poster.post("", body, headers, deadline_seconds=deadline_seconds)

    return Pushed(send, poster)


def signature(secret: str, body: bytes, at: int) -> str:
    """Return `t=<seconds since 1970>,v1=<hexadecimal HMAC-SHA-256 of "<t>." and the body>`."""
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


class Addresses(NamedTuple):
    """Addresses of pages about an alert; empty if there is no such page."""

    page: str = ""
    runbook: str = ""
    """The runbook of an alert, with the names and numbers of its node."""


NOWHERE: Final = Addresses()


def slack(
    url: str,
    link: Callable[[AlertMessage], Addresses] = lambda _: NOWHERE,
    more: Callable[[AlertMessage], Awaitable[str]] | None = None,
    clock: Clock = SYSTEM,
) -> Pushed:
    """Posts to an incoming webhook of Slack, with the addresses of `link`, and with `more`.

    Slack has no idempotency key, so a message can arrive twice after a crash.
    """
    poster = Poster("slack", url, clock)

    async def send(received: Received, deadline_seconds: float) -> None:
        known = await more(received.alert) if more else ""
        body = msgspec.json.encode(slack_message(received, link(received.alert), known))
        await poster.post("", body, deadline_seconds=deadline_seconds)

    return Pushed(send, poster)


def slack_message(received: Received, link: Addresses = NOWHERE, more: str = "") -> dict[str, object]:
    """Build a message in which a cluster's names are plain text.

    A firing alert includes the command that silences it. Without an address from `link`, the runbook of the rules is
    linked.
    """
    alert = received.alert
    words = alert.annotations
    severity = alert.labels.get("severity", "")
    head = status_of(alert).upper() if alert.status == "resolved" else f"FIRING ({severity})"
    summary = f"{head} {alert.labels.get('alertname', '')}: {words.get('summary', '')}"
    runbook = link.runbook or words.get("runbook_url", "")
    links = (
        _slack_link(link.page, _page_of(alert)),
        _slack_link(runbook, f"{'What to do: r' if alert.status == 'firing' else 'R'}unbook"),
    )
    lines = [
        f"*{_escaped(summary)}*",
        _escaped(more),
        _escaped(words.get("description", "")),
        _ended(alert),
        " · ".join(each for each in links if each),
        _silencing(alert),
    ]
    text = "\n".join(line for line in lines if line)
    block = {"type": "section", "text": {"type": "mrkdwn", "text": text[:_SLACK_TEXT], "verbatim": True}}
    return {"text": _escaped(summary)[:_SLACK_TEXT], "blocks": [block]}


def _ended(alert: AlertMessage) -> str:
    if alert.status == "firing" or alert.ends_at is None or alert.reason == UNKNOWN:
        return ""
    lasted = in_words((alert.ends_at - alert.starts_at).total_seconds())
    return f"Lasted {lasted}, until {alert.ends_at:%Y-%m-%d %H:%M:%S} UTC."


def _page_of(alert: AlertMessage) -> str:
    node = alert.labels.get("node", "")
    return f"Node {node}" if node else f"Cluster {alert.labels.get('cluster', '')}"


def _slack_link(address: str, text: str) -> str:
    """Return a Slack link; an address that is not http or https stays text."""
    if not address.startswith(("https://", "http://")):
        return _escaped(address)
    return f"<{_escaped(address).replace('|', '%7C')}|{_escaped(text).replace('|', ' ')}>"


def _silencing(alert: AlertMessage) -> str:
    """Return the command that silences a firing alert, without labels that a shell or Slack would change."""
    labels = [f"{name}={text}" for name, text in alert.labels.items() if name in _SHOWN and _WORD.fullmatch(text)]
    if alert.status != "firing" or not labels:
        return ""
    return f"Silence: `leadsman silence add {' '.join(labels)} --for 2h --why TEXT`"


def status_of(alert: AlertMessage) -> str:
    """Return the status as one word: an alert that ended without data is not healthy."""
    return UNKNOWN if alert.reason == UNKNOWN else alert.status


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(letter, letter) for letter in plain(text, _SLACK_TEXT))


def stdout() -> Pushed:
    """Print one line for each message: time, status, alert, summary."""

    async def send(received: Received, _: float) -> None:
        alert = received.alert
        at = alert.ends_at if alert.status == "resolved" and alert.ends_at else alert.starts_at
        what = f"{alert.labels.get('alertname', '')} {alert.annotations.get('summary', '')}"
        sys.stdout.write(plain(f"{time_text(at)} {status_of(alert)} {what}", 2000) + "\n")
        sys.stdout.flush()

    return Pushed(send)
