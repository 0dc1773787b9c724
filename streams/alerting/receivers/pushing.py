"""Receivers that get one message when an alert fires and one when it is resolved: webhook, Slack, standard output."""

import asyncio
import hashlib
import hmac
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import msgspec

from common.clock import SYSTEM, Clock
from common.tasks import together
from common.text import plain
from streams.alerting.receivers.posting import Poster, Refused, log_refused
from streams.alerting.receivers.standing import Received, Standing, time_text

AT_ONCE: Final = 8
"""Concurrent requests to one receiver."""
SIGNATURE: Final = "X-Leadsman-Signature"
_SLACK_TEXT: Final = 2900
"""Slack cuts a text block at 3,000 characters."""
_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


class Pushed:
    """Sends each piece of news by itself, those of one alert in their order."""

    resend_seconds = None

    def __init__(self, send: Callable[[Received], Awaitable[None]], poster: Poster | None = None) -> None:
        self.name = poster.name if poster else "stdout"
        self.poster = poster
        self._send = send

    async def close(self) -> None:
        if self.poster is not None:
            await self.poster.close()

    async def deliver(self, news: Sequence[Received], standing: Standing) -> None:  # noqa: ARG002  # a receiver's contract
        """Return when every piece was taken, or refused for good; a refusal is logged."""
        by_alert: dict[str, list[Received]] = {}
        for received in news:
            by_alert.setdefault(received.alert.fingerprint, []).append(received)
        room = asyncio.Semaphore(AT_ONCE)
        await together(self._in_order(of_one, room) for of_one in by_alert.values())

    async def _in_order(self, every: Sequence[Received], room: asyncio.Semaphore) -> None:
        for received in every:
            async with room:
                try:
                    await self._send(received)
                except Refused as error:
                    log_refused(received.alert, error)


def webhook(url: str, secret: str | None, clock: Clock = SYSTEM) -> Pushed:
    """POST of the message as it is in the topic, with `Idempotency-Key` and, where there is a secret, a signature."""
    poster = Poster("webhook", url, clock)

    async def send(received: Received) -> None:
        body = msgspec.json.encode(received.alert)

        def headers() -> dict[str, str]:
            found = {"Content-Type": "application/json", "Idempotency-Key": received.identity}
            return found | ({SIGNATURE: signature(secret, body, int(clock.now().timestamp()))} if secret else {})

        await poster.post("", body, headers)

    return Pushed(send, poster)


def signature(secret: str, body: bytes, at: int) -> str:
    """`t=<seconds since 1970>,v1=<hexadecimal HMAC-SHA-256 of "<t>." and the body>`."""
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def slack(url: str, clock: Clock = SYSTEM) -> Pushed:
    """A message to an incoming webhook of Slack. Slack has no idempotency key: after a crash one may come twice."""
    poster = Poster("slack", url, clock)

    async def send(received: Received) -> None:
        await poster.post(
            "", msgspec.json.encode(slack_message(received)), lambda: {"Content-Type": "application/json"}
        )

    return Pushed(send, poster)


def slack_message(received: Received) -> dict[str, object]:
    """Names from a cluster are plain text there: no mention, no link."""
    alert = received.alert
    words = alert.annotations
    severity = alert.labels.get("severity", "")
    head = "RESOLVED" if alert.status == "resolved" else f"FIRING ({severity})"
    summary = f"{head} {alert.labels.get('alertname', '')}: {words.get('summary', '')}"
    lines = [f"*{_escaped(summary)}*", _escaped(words.get("description", "")), _escaped(words.get("runbook_url", ""))]
    text = "\n".join(line for line in lines if line)
    block = {"type": "section", "text": {"type": "mrkdwn", "text": text[:_SLACK_TEXT], "verbatim": True}}
    return {"text": _escaped(summary)[:_SLACK_TEXT], "blocks": [block]}


def _escaped(text: str) -> str:
    return "".join(_ESCAPES.get(letter, letter) for letter in plain(text, _SLACK_TEXT))


def stdout() -> Pushed:
    """One line for each: time, status, alert, summary."""

    async def send(received: Received) -> None:
        alert = received.alert
        at = alert.ends_at if alert.status == "resolved" and alert.ends_at else alert.starts_at
        what = f"{alert.labels.get('alertname', '')} {alert.annotations.get('summary', '')}"
        sys.stdout.write(plain(f"{time_text(at)} {alert.status} {what}", 2000) + "\n")
        sys.stdout.flush()

    return Pushed(send)
