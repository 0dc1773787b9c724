"""Parses receivers as users write them:

`alertmanager=URL`, `webhook=URL`, `slack=URL`, `slack=CHANNEL`, `pagerduty=FILE`, `teams=FILE`, `stdout`.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from common.errors import FilesUnusable, WrongUsage
from common.private import check_secret
from common.telemetry import Figure, Values, registered
from common.text import plain
from streams.alerting.receivers.alertmanager import Alertmanager
from streams.alerting.receivers.pagerduty import pagerduty, teams
from streams.alerting.receivers.pushing import NOWHERE, Addresses, Pushed, slack, stdout, webhook
from streams.alerting.receivers.slack_channel import CHANNEL, SlackChannel
from streams.alerting.settings import PAGERDUTY, SLACK
from streams.kafka.messages.alerts import AlertMessage

ALLOWED: Final = (
    "write alertmanager=URL, webhook=URL, slack=URL, slack=CHANNEL, pagerduty=FILE, teams=FILE or stdout, with URLs "
    "that begin with http:// or https://, a channel's ID, and files that hold the routing key or the webhook's URL"
)
_OF_FILE: Final = frozenset({"pagerduty", "teams"})
"""Receivers whose whole address or key is secret, so it is read from a file at the start."""
_TOKEN: Final = re.compile(r"[!-~]+")
"""Characters that an HTTP header can contain."""
ALERT_DELIVERIES: Final = Figure(
    "alert_deliveries", "counter", "Messages to receivers: delivered, retried, refused, parked", ("receiver", "what")
)


class BadReceiver(WrongUsage):
    """A text names no receiver. The message lists what is allowed and repeats no address, which can be secret."""


Receiver: TypeAlias = Alertmanager | Pushed


def reported(receiver: Receiver, source: Callable[[], str]) -> AbstractContextManager[None]:
    """Expose the counts of messages and the reasons for missing alerts during the block.

    `source` describes a problem of the source of alerts; empty if there is none.
    """
    poster = receiver.poster

    def deliveries() -> Values:
        return {(poster.name, what): count for what, count in poster.tally.items()} if poster else {}

    def troubles() -> list[str]:
        return [each for each in (source(), poster.trouble if poster else "") if each]

    return registered({ALERT_DELIVERIES: deliveries}, troubles)


def receiver(
    text: str,
    *,
    webhook_secret: str | None = None,
    pagerduty_url: str = PAGERDUTY,
    slack_url: str = SLACK,
    slack_token: str | Path = "",
    link: Callable[[AlertMessage], Addresses] = lambda _: NOWHERE,
    more: Callable[[AlertMessage], Awaitable[str]] | None = None,
) -> Receiver:
    """Build a receiver. `link` returns the addresses of an alert's page and runbook, `more` further facts about it.

    A bot's token is given, or its file. Raises BadReceiver.
    """
    kind, _, address = text.partition("=")
    if text == "stdout":
        return stdout()
    if kind not in {"alertmanager", "webhook", "slack", *_OF_FILE}:
        raise BadReceiver(f"{plain(kind, 40)!r} is not a receiver: {ALLOWED}")
    if kind in _OF_FILE:
        address = _secret(kind, address)
    if kind == "pagerduty":
        return pagerduty(address, pagerduty_url)
    if kind == "slack" and CHANNEL.fullmatch(address):
        return SlackChannel(address, _token(slack_token), link, more, slack_url)
    if not _is_url(address):
        raise BadReceiver(f"{kind}: its address cannot be used: {ALLOWED}")
    receivers: dict[str, Callable[[], Receiver]] = {
        "alertmanager": lambda: Alertmanager(address),
        "webhook": lambda: webhook(address, webhook_secret),
        "teams": lambda: teams(address),
        "slack": lambda: slack(address, link, more),
    }
    return receivers[kind]()


def _token(given: str | Path) -> str:
    token = _secret("slack", str(given)) if isinstance(given, Path) else given.strip()
    if not _TOKEN.fullmatch(token):
        raise BadReceiver("slack: a channel needs a bot's token: set alerts.slack_token or alerts.slack_token_file")
    return token


def _secret(kind: str, file: str) -> str:
    """Read the file of a receiver, without the line break that editors add."""
    path = Path(file)
    try:
        text = path.read_text("utf-8").strip()
        check_secret(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadReceiver(f"{kind}: its file cannot be read: {reason}. {ALLOWED}") from None
    except FilesUnusable as error:
        raise BadReceiver(f"{kind}: {error}") from None
    if not text or any(letter.isspace() for letter in text):
        raise BadReceiver(f"{kind}: its file does not hold one word: {ALLOWED}")
    return text


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def group_of(prefix: str, text: str) -> str:
    """Return a receiver's own consumer group: the same after a restart, and without a readable address."""
    kind = text.partition("=")[0]
    return f"{prefix}-alert-{kind}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"
