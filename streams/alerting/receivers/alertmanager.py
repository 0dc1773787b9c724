"""Alertmanager, API v2. It forgets an alert that is not sent again, so firing alerts are sent repeatedly."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any, Final

import msgspec

from common.clock import SYSTEM, Clock
from streams.alerting.receivers.alert_states import AlertStates, Received, incident_of, time_text
from streams.alerting.receivers.posting import DEADLINE_SECONDS, Failed, Poster, Refused, log_parked, log_refused
from streams.kafka.messages.alerts import AlertMessage

RESEND_SECONDS: Final = 60.0
ALIVE: Final = timedelta(minutes=5)
"""Time for which Alertmanager keeps an alert firing after it was last sent."""
RESOLVED_FOR: Final = timedelta(minutes=15)
"""Time for which a resolved alert is sent, because Alertmanager can restart before it has notified anyone."""
AT_ONCE: Final = 200
"""Alerts in one request."""


class Alertmanager:
    """Sends firing alerts repeatedly, so that they stay active, and resolved ones for a while."""

    resend_seconds = RESEND_SECONDS
    parked: Collection[str] = ()
    """Always empty, because firing and recently resolved alerts are sent again in any case."""

    def __init__(self, url: str, clock: Clock = SYSTEM) -> None:
        self.poster = Poster("alertmanager", url.rstrip("/"), clock)
        self.name = self.poster.name
        self._clock = clock
        self._refused: set[tuple[str, str]] = set()
        """Refused alerts, by fingerprint and text: not sent again until the text changes."""

    async def deliver(self, news: Sequence[Received], states: AlertStates) -> None:
        """Send every firing alert and recently resolved ones; return when Alertmanager has them."""
        every = (*states.firing(), *states.resolved(news, self._clock.now() - RESOLVED_FOR))
        self._refused &= {self._mark(received) for received in every}
        accepted = [received for received in every if self._mark(received) not in self._refused]
        for batch in _in_pieces(accepted):
            await self._send(batch)

    def park(self, received: Received) -> None:
        """Park nothing, because every alert is sent again anyway."""

    async def close(self) -> None:
        await self.poster.close()

    async def _send(self, batch: Sequence[Received], deadline_seconds: float = DEADLINE_SECONDS) -> None:
        """Send each alert separately, because a bad one fails a whole request. Failed ones are sent again next
        time.
        """
        is_alone = len(batch) == 1
        try:
            await self.poster.post(
                "/api/v2/alerts",
                msgspec.json.encode([self._posted(received.alert) for received in batch]),
                refusals=2 if is_alone else 1,
                deadline_seconds=deadline_seconds,
            )
        except (Refused, Failed) as error:
            if not is_alone:
                for received in batch:
                    await self._send([received], 0.0)
            elif isinstance(error, Refused):
                log_refused(batch[0].alert, error)
                self._refused.add(self._mark(batch[0]))
            else:
                self.poster.tally["parked"] += 1
                log_parked(batch[0].alert, error)

    def _posted(self, alert: AlertMessage) -> dict[str, Any]:
        """Build the alert. Alertmanager judges by its own clock, and the times of a replay are long past."""
        now = self._clock.now()
        ends_at = now + ALIVE
        if alert.status == "resolved":
            ends_at = min(alert.ends_at or now, now)
        return {
            "labels": {**alert.labels, "incident": incident_of(alert)},
            "annotations": alert.annotations,
            "startsAt": time_text(min(alert.starts_at, now)),
            "endsAt": time_text(max(ends_at, min(alert.starts_at, now))),
            "generatorURL": alert.annotations.get("runbook_url", ""),
        }

    @staticmethod
    def _mark(received: Received) -> tuple[str, str]:
        return received.alert.fingerprint, received.identity


def _in_pieces(every: Iterable[Received]) -> Iterator[list[Received]]:
    left = iter(every)
    while piece := list(islice(left, AT_ONCE)):
        yield piece
