"""Compares what a receiver was told of alerts with their table.

A message is sent at least once: whoever is killed between a delivery and its commit delivers again, and the next
process does not know that it did. So messages are more than states; a state is told, however often.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sql.database.open import Database
from streams.alerting.receivers.alert_states import time_text


class Reported(NamedTuple):
    """An alert fired at a time, or was resolved: a row of `alerts`, and at least one message."""

    fingerprint: str
    starts_at: datetime
    status: str

    def __str__(self) -> str:
        return f"{self.fingerprint} of {time_text(self.starts_at)}: {self.status}"


def reported(bodies: Iterable[Mapping[str, Any]]) -> Counter[Reported]:
    """Return how often each state was sent to a webhook."""
    return Counter(
        Reported(each["fingerprint"], datetime.fromisoformat(each["startsAt"]), each["status"]) for each in bodies
    )


def stored(database: Database) -> set[Reported]:
    """The states that the table has."""
    found = database.query("SELECT fingerprint, starts_at, status FROM alerts").rows
    return {Reported(fingerprint, starts_at, status) for fingerprint, starts_at, status in found}


def unlike(states: set[Reported], messages: Counter[Reported]) -> list[str]:
    """Name what the receiver never heard of, and what it heard of and nobody can look up."""
    untold, unstored = sorted(states - messages.keys()), sorted(messages.keys() - states)
    return [*(f"never told: {each}" for each in untold), *(f"told and not stored: {each}" for each in unstored)]
