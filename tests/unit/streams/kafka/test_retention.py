"""When unread messages are near the end of their retention (delivery.md#gaps)."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import pytest
from aiokafka import TopicPartition
from structlog.testing import capture_logs

from fakes.clock import FakeClock
from streams.kafka.gaps import Gaps
from streams.kafka.retention import CHECK_SECONDS, NEAR, PACE_SECONDS, Limits, RetentionWatch, Unread

HOUR_MS = 3_600_000
PARTITION: Final = TopicPartition("t", 3)


def unread(**values: Any) -> Unread:
    """A hundred messages, from 100 to 199, of which those from 150 on are young; the group has read up to 180."""
    given = {
        "first": 180,
        "end": 200,
        "earliest": 100,
        "kept": 100,
        "recent": 150,
        "fresh": 190,
        "limits": Limits(168 * HOUR_MS),
    }
    return Unread(**{"topic": "t", "partition": 3, **given, **values})


def test_messages_read_in_time_are_not_near_deletion() -> None:
    assert not unread().is_near
    assert not unread(first=150).is_near


def test_an_old_unread_message_is_near_deletion_and_the_error_has_the_count() -> None:
    near = unread(first=149)
    assert near.is_near
    assert near.resource == "kafka t/3"
    assert near.error.startswith("behind: 51 unread messages from offset 149 on, and 75 % of the topic's ")
    assert "retention.ms, 168 h" in near.error


def test_without_unread_messages_nothing_is_near_deletion() -> None:
    assert not unread(first=200, recent=200).is_near


def test_a_topic_with_unlimited_retention_deletes_nothing() -> None:
    assert not unread(first=100, recent=200, limits=Limits(-1)).is_near


@pytest.mark.parametrize(
    ("first", "earliest", "near"),
    [(124, 100, True), (125, 100, False), (0, 0, False)],
    ids=["oldest quarter", "behind it", "nothing was deleted yet"],
)
def test_with_a_size_limit_the_oldest_quarter_is_near_once_kafka_deletes(
    first: int, earliest: int, near: bool
) -> None:
    limited = unread(first=first, earliest=earliest, recent=first, limits=Limits(-1, 1 << 30))
    assert limited.is_near == near
    assert "retention.bytes" in limited.error


class Flow(NamedTuple):
    """Offsets of a partition that had `written` messages a second all the time, of which retention has deleted for
    long.
    """

    limits: Limits
    written: float = 10.0
    read: float = 10.0
    hours_behind: float = 0.0
    """At first."""

    def at(self, seconds: float) -> Unread:
        """Time 0 is a year after the first message. A topic of a byte a message, and a message a segment."""
        began = 365 * 24 * 3600.0

        def offset(age_seconds: float) -> int:
            return int(self.written * (began + seconds - max(age_seconds, 0)))

        kept_seconds = min(
            self.limits.ms / 1000 if self.limits.ms >= 0 else began,
            self.limits.bytes / self.written if self.limits.bytes >= 0 else began,
        )
        committed = min(offset(self.hours_behind * 3600 + seconds) + int(self.read * seconds), offset(30))
        earliest, of_ms = offset(kept_seconds), max(self.limits.ms, 0) / 1000
        kept, recent, fresh = (max(offset(age), earliest) for age in (of_ms, NEAR * of_ms, PACE_SECONDS))
        return Unread(*PARTITION, max(committed, earliest), offset(0), earliest, kept, recent, fresh, self.limits)

    def hours_to_loss(self, seconds: float) -> float:
        kept_hours = self.limits.ms / HOUR_MS if self.limits.ms >= 0 else self.limits.bytes / self.written / 3600
        behind_hours = self.hours_behind + seconds / 3600 * (1 - self.read / self.written)
        return (kept_hours - behind_hours) / (1 - self.read / self.written)


async def reports(flow: Flow, hours: float, monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, str]]:
    """When a watch of that partition reports it, in hours, and in which words."""
    clock = FakeClock()
    gaps = Gaps()
    watch = RetentionWatch("g", {}, lambda: [PARTITION], gaps, clock=clock.clock)

    async def unread(_own: Sequence[TopicPartition]) -> list[Unread]:
        return [flow.at(clock.seconds)]

    monkeypatch.setattr(watch, "_unread", unread)
    found: list[tuple[float, str]] = []
    while clock.seconds < hours * 3600:
        with capture_logs() as logs:
            await watch.once()
        found += [(clock.seconds / 3600, each["reason"]) for each in logs]
        assert bool(list(watch.why_not())) == bool(watch.figure()[PARTITION.topic,])
        await clock.sleep(CHECK_SECONDS)
    return found


DAY = Limits(24 * HOUR_MS)
BY_SIZE = Limits(-1, 24 * 3600 * 10)
"""A day of what is written."""


@pytest.mark.parametrize("limits", [DAY, BY_SIZE], ids=["by time", "by size"])
@pytest.mark.parametrize("read", [0.0, 5.0], ids=["nothing is read", "half is read"])
def test_a_lag_that_retention_will_overtake_is_reported_a_day_ahead(
    limits: Limits, read: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Age alone reported it a quarter of the retention before, if at all."""
    flow = Flow(limits, read=read)
    found = asyncio.run(reports(flow, 30, monkeypatch))
    (first, reason), *_ = found
    assert flow.hours_to_loss(first * 3600) == pytest.approx(24 if read else 24 - PACE_SECONDS / 3600, abs=0.1)
    assert (
        f"at the pace of the last 10 minutes Kafka deletes the oldest in {flow.hours_to_loss(first * 3600):.1f} h"
        in (reason)
    )
    assert found[1][0] - first == pytest.approx(1 / 6), "and again every 10 minutes"


@pytest.mark.parametrize("limits", [DAY, BY_SIZE, Limits(HOUR_MS)], ids=["by time", "by size", "an hour"])
def test_a_reader_that_keeps_up_or_catches_up_is_not_reported(
    limits: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert asyncio.run(reports(Flow(limits), 3, monkeypatch)) == []
    assert asyncio.run(reports(Flow(limits, read=10.1, hours_behind=0.5), 3, monkeypatch)) == []


def test_the_pace_covers_ten_minutes_and_restarts_with_a_recreated_topic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flow = Flow(DAY, read=0.0, hours_behind=6)
    assert asyncio.run(reports(flow, PACE_SECONDS / 3600, monkeypatch)) == []
    made_anew = FakeClock()
    watch = RetentionWatch("g", {}, lambda: [PARTITION], Gaps(), clock=made_anew.clock)

    async def unread(_own: Sequence[TopicPartition]) -> list[Unread]:
        found = flow.at(made_anew.seconds)
        anew = found._replace(first=0, end=9, earliest=0, kept=0, recent=0)
        return [found if made_anew.seconds < PACE_SECONDS else anew]

    monkeypatch.setattr(watch, "_unread", unread)

    async def look() -> None:
        for _ in range(15):
            await watch.once()
            await made_anew.sleep(CHECK_SECONDS)

    asyncio.run(look())
    assert list(watch.why_not()) == []
