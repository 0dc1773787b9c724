"""Computes how often an Event occurred by its object's counts (rules: event-fields, event-counts, dropped-events)."""

from typing import Final, NamedTuple

from ingest.messages.reasons import COMBINED
from ingest.model.objects.event import Event

BURST: Final = 25.0
REFILL_SECONDS: Final = 300.0
"""Size and refill of the recorder's token bucket for each source and object (rules: dropped-events)."""


class Counted(NamedTuple):
    """The last observed version of an Event's name. `at` is in seconds since the epoch."""

    uid: str
    total: int
    at: float


class Bucket(NamedTuple):
    """The tokens left in a recorder's bucket, by the Events that it let through."""

    tokens: float
    at: float


class Occurrences(NamedTuple):
    """The occurrences that an observation adds; `lower_bound` if the true number may be higher."""

    delta: int
    lower_bound: bool


def event_count(event: Event) -> int:
    """Return the count in the object, at least 1."""
    series = event.series.count if event.series else 0
    return max(1, series, event.count or 0, event.deprecated_count or 0)


def occurrences(event: Event, *, added: bool, before: Counted | None, now: Counted) -> Occurrences:
    """Return the occurrences that a version of an Event adds to those counted `before` of the same name
    (rules: event-counts).

    0 for a repeated delivery, a relist, or a version older than the one before.
    """
    vague = event.series is not None or event.text.startswith(COMBINED)
    if before is None:
        return _first(event, added=added, now=now, vague=vague)
    if now.at < before.at or (now.at == before.at and now.total <= before.total):
        return Occurrences(0, lower_bound=False)
    if now.total > before.total:
        return Occurrences(now.total - before.total, lower_bound=vague)
    if now.total < before.total:
        return Occurrences(now.total, lower_bound=vague)
    return Occurrences(0 if now.uid == before.uid else 1, lower_bound=True)


def _first(event: Event, *, added: bool, now: Counted, vague: bool) -> Occurrences:
    """Count a new Event: a count above 1 may be from before this object's life (rules: event-counts)."""
    first = event.first_timestamp or event.deprecated_first_timestamp
    last = event.last_timestamp or event.deprecated_last_timestamp
    if now.total == 1 or (added and first is not None and first == last):
        return Occurrences(now.total, lower_bound=vague)
    return Occurrences(1, lower_bound=True)


def draw(bucket: Bucket | None, at: float, count: int) -> Bucket:
    """Return the bucket after `count` events. With less than one token left, the next event is dropped."""
    if bucket is None:
        return Bucket(max(0.0, BURST - count), at)
    refilled = min(BURST, bucket.tokens + max(0.0, at - bucket.at) / REFILL_SECONDS)
    return Bucket(max(0.0, refilled - count), max(at, bucket.at))
