"""The state of all alerts, from what was read of their topic. Pure."""

from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple, Self

import msgspec
from msgspec.structs import replace

from streams.alerting.active import SILENT
from streams.alerting.holding import UNKNOWN
from streams.alerting.words import without_news
from streams.fold.findings import REPEAT_EVERY
from streams.kafka.messages.alerts import AlertMessage

MOST: Final = 200
"""Alerts that are remembered: Kafka takes 4,096 bytes of metadata."""


class Remembered(msgspec.Struct, frozen=True, omit_defaults=True):
    judged_seconds: int = 0
    """Since 1970: what had no news then for too long was delivered as unknown."""
    parked: list[str] = []
    """Fingerprints of alerts that the receiver has not taken."""
    withheld: list[str] = []
    """Fingerprints of alerts that it was not sent because they were silenced."""

    more: bool = False
    """More are withheld than are named: any alert that fires may be one of them."""
    newest_ms: int = 0
    """Kafka's time of the newest message of this partition that was delivered."""

    @classmethod
    def of(
        cls,
        judged_at: datetime,
        parked: Collection[str],
        withheld: Collection[str] = (),
        newest_ms: int = 0,
        *,
        more: bool = False,
    ) -> Self:
        kept = sorted(parked)[:MOST]
        named = sorted(withheld)[: MOST - len(kept)]
        return cls(int(judged_at.timestamp()), kept, named, more or len(named) < len(withheld), newest_ms)

    @classmethod
    def parse(cls, metadata: str) -> Self:
        """Nothing if it is of an older version, or of nobody."""
        try:
            return msgspec.json.decode(metadata, type=cls)
        except msgspec.MsgspecError:
            return cls()

    @property
    def judged_at(self) -> datetime:
        return datetime.fromtimestamp(self.judged_seconds, UTC)

    def metadata(self) -> str:
        return msgspec.json.encode(self).decode()


WITHOUT_NEWS: Final = REPEAT_EVERY + SILENT
"""Without news of a firing alert, which repeats, for this long, its log has been silent for SILENT or longer."""


class Received(NamedTuple):
    alert: AlertMessage
    identity: str
    """Its `ce_id`: a repeated message has the same."""
    sent_at: datetime
    """When Kafka took it; nothing of event time."""


class AlertStates:
    """The last message of each alert, and which of them are news."""

    def __init__(self) -> None:
        self._last: dict[str, Received] = {}

    def __contains__(self, fingerprint: str) -> bool:
        return fingerprint in self._last

    def withdraw(self, fingerprint: str) -> None:
        self._last.pop(fingerprint, None)

    def without(self, fingerprints: Collection[str]) -> "AlertStates":
        other = AlertStates()
        other._last = {each: received for each, received in self._last.items() if each not in fingerprints}
        return other

    def firing(self) -> Sequence[Received]:
        found = [received for received in self._last.values() if received.alert.status == "firing"]
        return sorted(found, key=lambda received: (received.alert.starts_at, received.alert.fingerprint))

    def of(self, fingerprints: Iterable[str]) -> Sequence[Received]:
        return [self._last[each] for each in fingerprints if each in self._last]

    def lose(self, at: datetime) -> Sequence[Received]:
        """End as unknown what fires and had no news for too long up to a time: its whole cluster may be silent, or
        nobody folds its log. It fires again when there is news.
        """
        lost = [_unknown(received) for received in self.firing() if at >= received.sent_at + WITHOUT_NEWS]
        self._last |= {received.alert.fingerprint: received for received in lost}
        return lost

    def resolved(self, news: Collection[Received], since: datetime) -> Sequence[Received]:
        """Return resolved alerts, by news or since a time."""
        identities = {received.identity for received in news}
        return [
            received
            for _, received in sorted(self._last.items())
            if received.alert.status == "resolved" and (received.sent_at >= since or received.identity in identities)
        ]

    def read(self, received: Received) -> bool:
        """Add a message. Return True if the alert fired or was resolved by it.

        Return False if only its words changed, or if it was read before: a worker that died before it had stored its
        state emits the same again.
        """
        alert = received.alert
        before = self._last.get(alert.fingerprint)
        if before is not None and _order(alert) <= _order(before.alert):
            return False
        self._last[alert.fingerprint] = received
        was_firing = before is not None and before.alert.status == "firing"
        is_same = before is not None and before.alert.starts_at == alert.starts_at
        if before is not None and is_same and before.alert.reason == alert.reason == UNKNOWN:
            return False
        return alert.status == "resolved" or not (was_firing and is_same)


def _unknown(received: Received) -> Received:
    alert, due_at = received.alert, received.sent_at + REPEAT_EVERY
    words = alert.annotations
    summary, description = without_news(words.get("summary", ""), words.get("description", ""), due_at)
    ended = replace(
        alert,
        status="resolved",
        reason=UNKNOWN,
        ends_at=max(due_at + SILENT, alert.starts_at),
        annotations={**words, "summary": summary, "description": description},
    )
    return Received(ended, f"{received.identity}#{UNKNOWN}", received.sent_at + WITHOUT_NEWS)


def _order(alert: AlertMessage) -> tuple[datetime, datetime, bool]:
    return alert.starts_at, alert.updated_at, alert.status == "resolved"


def time_text(ts: datetime) -> str:
    """RFC 3339, as Alertmanager reads it."""
    return ts.isoformat().replace("+00:00", "Z")
