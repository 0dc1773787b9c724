"""Keeps the state of all alerts, from the messages of their topic. Pure."""

import hashlib
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
from streams.rules.eviction.shortage import FAMILIES


def incident_of(alert: AlertMessage) -> str:
    """Return the incident of an alert: that of its node and scarce resource, or its own."""
    labels = alert.labels
    family = FAMILIES.get(labels.get("resource") or labels.get("condition", ""), "")
    if not family or not labels.get("node") or labels.get("cause", "pressure") != "pressure":
        return alert.fingerprint
    return digest(labels.get("cluster", ""), labels["node"], family)


def digest(*parts: str) -> str:
    """Return 16 hexadecimal digits for these texts in this order."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


MOST: Final = 200
"""Maximum number of alerts that are remembered, because Kafka accepts 4,096 bytes of metadata."""


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """Kafka's times of the delivered messages of a partition."""

    newest_ms: int = 0
    """Time of the newest message."""
    last_ms: int = 0
    """Time of the last message, if a clock went back and it is not the newest."""
    behind_seconds: int = 0
    """Seconds by which that clock is behind ours; 0 for less than a minute."""

    @classmethod
    def parse(cls, metadata: str) -> Self:
        """Decode the metadata of a commit; empty for that of an older version or of another program."""
        try:
            return msgspec.json.decode(metadata, type=cls)
        except msgspec.MsgspecError:
            return cls()

    def metadata(self) -> str:
        return msgspec.json.encode(self).decode()

    def after(self, stored_ms: int) -> "Mark":
        """Return the times after one more message."""
        newest_ms = max(self.newest_ms, stored_ms)
        return Mark(newest_ms, 0 if stored_ms == newest_ms else stored_ms, self.behind_seconds)


class DeliveryState(Mark, frozen=True, omit_defaults=True):
    judged_seconds: int = 0
    """Seconds since 1970: alerts without news for too long at that time were delivered as unknown."""
    parked: list[str] = []
    """Fingerprints of alerts that the receiver has not taken."""
    withheld: list[str] = []
    """Fingerprints of alerts that were not sent because they were silenced."""

    more: bool = False
    """True if more alerts are withheld than are listed, so that any firing alert may be one of them."""

    @classmethod
    def of(
        cls,
        judged_at: datetime,
        parked: Collection[str],
        withheld: Collection[str] = (),
        mark: Mark = Mark(),  # noqa: B008  # it is frozen
        *,
        more: bool = False,
    ) -> Self:
        kept = sorted(parked)[:MOST]
        named = sorted(withheld)[: MOST - len(kept)]
        times = (mark.newest_ms, mark.last_ms, mark.behind_seconds)
        return cls(*times, int(judged_at.timestamp()), kept, named, more or len(named) < len(withheld))

    @property
    def judged_at(self) -> datetime:
        return datetime.fromtimestamp(self.judged_seconds, UTC)


MOST_WITHDRAWN: Final = 10_000
"""Number of withdrawn alerts whose last message is kept."""
WITHOUT_NEWS: Final = REPEAT_EVERY + SILENT
"""A firing alert repeats. Without news for this long, its log has been silent for SILENT or longer."""


class Received(NamedTuple):
    alert: AlertMessage
    identity: str
    """The `ce_id`, which is the same for a repeated message."""
    sent_at: datetime
    """The time at which Kafka stored it, not event time."""


class AlertStates:
    """The last message of each alert, and which of them are news."""

    def __init__(self) -> None:
        self._last: dict[str, Received] = {}
        self.withdrawn: dict[str, Received] = {}
        """The last messages of alerts that left the topic, kept because a new leader may have them again."""

    def __contains__(self, fingerprint: str) -> bool:
        return fingerprint in self._last

    def withdraw(self, fingerprint: str) -> None:
        """Forget an alert that left the topic, but keep its last message for comparison."""
        if (last := self._last.pop(fingerprint, None)) is not None:
            self.withdrawn[fingerprint] = last
            if len(self.withdrawn) > MOST_WITHDRAWN:
                del self.withdrawn[next(iter(self.withdrawn))]

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
        """End firing alerts as unknown that had no news for too long before a time: their whole cluster may be
        silent, or no worker folds their log. They fire again when there is news.
        """
        lost = [_unknown(received) for received in self.firing() if at >= received.sent_at + WITHOUT_NEWS]
        self._last |= {received.alert.fingerprint: received for received in lost}
        return lost

    def resolved(self, news: Collection[Received], since: datetime) -> Sequence[Received]:
        """Return resolved alerts: those with news, or those resolved since a time."""
        identities = {received.identity for received in news}
        return [
            received
            for _, received in sorted(self._last.items())
            if received.alert.status == "resolved" and (received.sent_at >= since or received.identity in identities)
        ]

    def knows(self, received: Received) -> bool:
        """Tell whether this message or a later one about the alert was read, even if the alert was withdrawn."""
        fingerprint = received.alert.fingerprint
        before = self._last.get(fingerprint) or self.withdrawn.get(fingerprint)
        return before is not None and _order(received.alert) <= _order(before.alert)

    def keep(self, earlier: "AlertStates") -> None:
        """Restore states that the topic lost: later ones, and firing alerts."""
        known = earlier.of(self._last)
        self._last |= {each.alert.fingerprint: each for each in (*known, *earlier.firing()) if not self.knows(each)}
        for fingerprint, each in earlier.withdrawn.items():
            if fingerprint not in self._last or not _order(self._last[fingerprint].alert) > _order(each.alert):
                self._last.pop(fingerprint, None)
                self.withdrawn[fingerprint] = each

    def read(self, received: Received) -> bool:
        """Add a message. Return True if it made the alert fire or resolved it.

        Return False if only its text changed, or if it was read before: a worker that died before it stored its state
        emits the same message again.
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


class RereadPartition:
    """The messages of a partition before its committed offset, as they are read again.

    If they belong to another log, nobody has delivered them: the topic was truncated or recreated, or a new leader
    lacked some messages.
    """

    def __init__(self, committed: int, end: int, delivered: Mark, known: AlertStates | None) -> None:
        """`end` is the offset after the topic's last message, `known` the messages that this process has delivered,
        if any.
        """
        self._delivered, self._known = delivered, known
        self._last_offset = committed - 1
        self._is_same, self._is_other = False, end < committed
        self._newest_ms = 0
        self._news: list[tuple[Received, int]] = []

    def take(self, offset: int, stored_ms: int, news: Received | None) -> None:
        """Add a message, with Kafka's time of it, and what is news about its alert."""
        self._newest_ms = max(self._newest_ms, stored_ms)
        last_ms = self._delivered.last_ms or self._delivered.newest_ms
        if offset == self._last_offset and stored_ms and last_ms:
            self._is_same = stored_ms == last_ms
            self._is_other = not self._is_same
        if news is not None and not (self._known is not None and self._known.knows(news)):
            self._news.append((news, stored_ms))

    def undelivered(self) -> Sequence[Received]:
        """Return news that this process has not delivered or, after a start, that are newer than all delivered ones.

        If a leader of another log has nothing newer, its clock may be behind: then all are news.
        """
        delivered_ms = self._delivered.newest_ms
        if self._known is not None or (self._is_other and self._newest_ms <= delivered_ms):
            return [each for each, _ in self._news]
        return [] if self._is_same else [each for each, ms in self._news if 0 < delivered_ms < ms]


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
    """Format a time in RFC 3339 for Alertmanager."""
    return ts.isoformat().replace("+00:00", "Z")
