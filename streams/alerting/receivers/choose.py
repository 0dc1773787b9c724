"""Receivers as a person writes them: `alertmanager=URL`, `webhook=URL`, `slack=URL`, `stdout`."""

import hashlib
from collections.abc import Awaitable, Collection, Sequence
from typing import Final, Protocol
from urllib.parse import urlsplit

from common.errors import WrongUsage
from common.text import plain
from streams.alerting.receivers.alertmanager import Alertmanager
from streams.alerting.receivers.posting import Poster
from streams.alerting.receivers.pushing import slack, stdout, webhook
from streams.alerting.receivers.standing import Received, Standing

ALLOWED: Final = (
    "write alertmanager=URL, webhook=URL, slack=URL or stdout, with URLs that begin with http:// or https://"
)


class BadReceiver(WrongUsage):
    """A text names no receiver; the message lists what is allowed and repeats no address: it can be a secret."""


class Receiver(Protocol):
    """Who gets alerts."""

    @property
    def name(self) -> str: ...

    @property
    def poster(self) -> Poster | None:
        """Counts what became of its messages; None for one that always takes them."""

    @property
    def resend_seconds(self) -> float | None:
        """How often the state of all alerts is sent without news; None for never."""

    @property
    def parked(self) -> Collection[str]:
        """Fingerprints of the alerts that it has not taken."""

    def park(self, received: Received) -> None:
        """Try this one in the next rounds: an earlier process had parked it."""

    async def deliver(self, news: Sequence[Received], standing: Standing) -> None:
        """Return when it has taken everything, refused it for good, or parked it. `standing` is the state after the
        news.
        """
        ...

    def close(self) -> Awaitable[None]: ...


def receiver(text: str, *, webhook_secret: str | None = None) -> Receiver:
    """Raises BadReceiver."""
    kind, _, url = text.partition("=")
    if text == "stdout":
        return stdout()
    if kind not in {"alertmanager", "webhook", "slack"}:
        raise BadReceiver(f"{plain(kind, 40)!r} is not a receiver: {ALLOWED}")
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise BadReceiver(f"{kind}: its address cannot be used: {ALLOWED}")
    match kind:
        case "alertmanager":
            return Alertmanager(url)
        case "webhook":
            return webhook(url, webhook_secret)
        case _:
            return slack(url)


def group_of(prefix: str, text: str) -> str:
    """The consumer group of a receiver: its own, the same after a restart; an address is not readable in it."""
    kind = text.partition("=")[0]
    return f"{prefix}-alert-{kind}-{hashlib.blake2b(text.encode(), digest_size=4).hexdigest()}"
