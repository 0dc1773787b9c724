"""The state of all alerts, from what was read of their topic. Pure."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from streams.kafka.messages.alerts import AlertMessage


class Received(NamedTuple):
    """A message of the topic."""

    alert: AlertMessage
    identity: str
    """Its `ce_id`: a repeated message has the same."""
    sent_at: datetime
    """When Kafka took it; nothing of event time."""


class Standing:
    """The last message of each alert, and which of them are news."""

    def __init__(self) -> None:
        self._last: dict[str, Received] = {}

    def __contains__(self, fingerprint: str) -> bool:
        return fingerprint in self._last

    def withdraw(self, fingerprint: str) -> None:
        """Forget an alert that left the topic."""
        self._last.pop(fingerprint, None)

    def firing(self) -> Sequence[Received]:
        """What fires, in the order in which it fired."""
        found = [received for received in self._last.values() if received.alert.status == "firing"]
        return sorted(found, key=lambda received: (received.alert.starts_at, received.alert.fingerprint))

    def resolved(self, news: Collection[Received], since: datetime) -> Sequence[Received]:
        """What is resolved now, by news or since a time."""
        identities = {received.identity for received in news}
        return [
            received
            for _, received in sorted(self._last.items())
            if received.alert.status == "resolved" and (received.sent_at >= since or received.identity in identities)
        ]

    def read(self, received: Received) -> bool:
        """Add a message. True where the alert fired or was resolved by it; False where only its words changed, or
        where it was read before: a worker that died before it had stored its state emits the same again.
        """
        alert = received.alert
        before = self._last.get(alert.fingerprint)
        if before is not None and _order(alert) <= _order(before.alert):
            return False
        self._last[alert.fingerprint] = received
        was_firing = before is not None and before.alert.status == "firing"
        is_same = before is not None and before.alert.starts_at == alert.starts_at
        return alert.status == "resolved" or not (was_firing and is_same)


def _order(alert: AlertMessage) -> tuple[datetime, datetime, bool]:
    return alert.starts_at, alert.updated_at, alert.status == "resolved"


def time_text(ts: datetime) -> str:
    """RFC 3339, as Alertmanager reads it."""
    return ts.isoformat().replace("+00:00", "Z")
