"""Reports unread messages that Kafka's retention is about to delete, while there is time (delivery.md#gaps)."""

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from common.amounts import counted
from common.clock import SYSTEM, Clock
from common.telemetry import Values
from ingest.kafka import aiokafka_fixes
from ingest.kafka.admin import settings_of
from ingest.kafka.aiokafka_fixes import Options
from ingest.kafka.reaching import explain_refusal
from ingest.model.records import Problem
from streams.kafka.gaps import Gaps

NEAR: Final = 0.75
"""Share of the retention from which unread messages are reported."""
PACE_SECONDS: Final = 600.0
"""Period over which the pace is measured, at which deletion approaches the unread messages."""
AHEAD_SECONDS: Final = 86_400.0
"""Deletion within this time at the current pace is reported, even for young messages."""
CHECK_SECONDS: Final = 60.0
REPORT_SECONDS: Final = 600.0
"""Interval between two reports of one partition."""
_HOUR_MS: Final = 3_600_000
log = structlog.get_logger(__name__)


class Limits(NamedTuple):
    """A topic's retention; negative means unlimited."""

    ms: int = -1
    bytes: int = -1


class Unread(NamedTuple):
    """Unread messages of a group in a partition: offsets from `first` up to but not including `end`."""

    topic: str
    partition: int
    first: int
    end: int
    earliest: int
    """The partition's first offset."""
    kept: int
    """The first offset that is younger than the retention; `end` if none is."""
    recent: int
    """The first offset whose age is below NEAR; `end` if none is."""
    fresh: int
    """The first offset that is younger than PACE_SECONDS; `end` if none is."""
    limits: Limits
    lost_in_seconds: float | None = None
    """When the first message will be deleted at the recent pace; None if it will be read before, or without a
    pace.
    """
    kind: str = "behind"
    problem: Problem = "behind"

    @property
    def messages(self) -> int:
        return self.end - self.first

    @property
    def resource(self) -> str:
        return f"kafka {self.topic}/{self.partition}"

    @property
    def is_near(self) -> bool:
        """Tell whether deletion is near, by pace, time or size.

        By size: Kafka has begun to delete, and the next message is in the oldest quarter.
        """
        by_pace = self.lost_in_seconds is not None and self.lost_in_seconds <= AHEAD_SECONDS
        by_time = self.limits.ms >= 0 and self.first < self.recent
        room = self.first - self.earliest
        by_size = self.limits.bytes >= 0 and self.earliest > 0 and room < (1 - NEAR) * (self.end - self.earliest)
        return self.messages > 0 and (by_pace or by_time or by_size)

    @property
    def error(self) -> str:
        if self.lost_in_seconds is None:
            kept = f"retention.ms, {self.limits.ms / _HOUR_MS:g} h" if self.first < self.recent else "retention.bytes"
            when = f"{NEAR * 100:.0f} % of the topic's {kept}, is over for the oldest. Kafka will delete them"
        else:
            hours = self.lost_in_seconds / 3600
            when = f"at the pace of the last {PACE_SECONDS / 60:g} minutes Kafka deletes the oldest in {hours:.1f} h"
        return (
            f"behind: {counted(self.messages, 'unread message')} from offset {self.first} on, and {when}: find "
            "out why reading is slow, or keep messages longer"
        )


class Pace:
    """Estimates how fast deletion approaches the unread messages of a partition, from recent observations."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, Unread]] = deque()

    def add(self, now_seconds: float, unread: Unread) -> Unread:
        """Return `unread` with the time of its first loss. Messages read within PACE_SECONDS are not a lag."""
        if self._seen and unread.end < self._seen[-1][1].end:  # the topic was recreated
            self._seen.clear()
        self._seen.append((now_seconds, unread))
        while len(self._seen) > 1 and now_seconds - self._seen[1][0] >= PACE_SECONDS:
            self._seen.popleft()
        since_seconds, before = self._seen[0]
        passed = now_seconds - since_seconds
        if passed < PACE_SECONDS or unread.first >= unread.fresh:
            return unread
        read = unread.first - before.first
        nearer = []
        if unread.limits.ms >= 0:
            nearer.append((unread.first - unread.kept, unread.kept - before.kept - read))
        if unread.limits.bytes >= 0 and unread.earliest > 0:  # segments are deleted as fast as they fill
            nearer.append((unread.first - unread.earliest, unread.end - before.end - read))
        left = [max(room, 0) / offsets * passed for room, offsets in nearer if offsets > 0]
        return unread._replace(lost_in_seconds=min(left, default=None))


class RetentionWatch:
    """Checks the partitions that a process reads once a minute."""

    def __init__(
        self,
        group: str,
        options: Options,
        own: Callable[[], Collection[TopicPartition]],
        gaps: Gaps,
        clusters: Callable[[TopicPartition], Iterable[str]] = lambda _: (),
        clock: Clock = SYSTEM,
    ) -> None:
        """`options` are the clients'. Findings are reported to `gaps`, for the `clusters` that they concern."""
        self._group = group
        self._options = options
        self._own = own
        self._gaps = gaps
        self._clusters = clusters
        self._clock = clock
        self._near: Sequence[Unread] = ()
        self._reported_at: dict[tuple[str, int], float] = {}
        self._paces: dict[TopicPartition, Pace] = {}

    def figure(self) -> Values:
        """Return the number of partitions that are near deletion, by topic."""
        counts: dict[tuple[str, ...], float] = {(each.topic,): 0.0 for each in self._own()}
        for each in self._near:
            counts[(each.topic,)] = counts.get((each.topic,), 0.0) + 1
        return counts

    def why_not(self) -> Iterator[str]:
        for each in self._near:
            yield f"{each.resource}: {each.error}"

    async def run(self) -> None:
        """Check until cancelled. If Kafka does not answer, the next check is a minute later."""
        while True:
            while not self._own():
                self._near = ()
                await self._clock.sleep(1.0)
            try:
                await self.once()
            except KafkaError as error:
                log.warning("Kafka does not report how old the unread messages are", error=explain_refusal(error))
            await self._clock.sleep(CHECK_SECONDS)

    async def once(self) -> None:
        """Check all partitions; raises KafkaError."""
        own = list(self._own())
        self._paces = {each: self._paces.get(each) or Pace() for each in own}
        unread = await self._unread(own)
        now = self._clock.monotonic()
        paced = (self._paces[TopicPartition(each.topic, each.partition)].add(now, each) for each in unread)
        self._near = [each for each in paced if each.is_near]
        for each in self._near:
            place = each.topic, each.partition
            if now - self._reported_at.get(place, -REPORT_SECONDS) >= REPORT_SECONDS:
                self._reported_at[place] = now
                log.error("unread messages will be deleted", resource=each.resource, reason=each.error)
                self._gaps.publish_soon(each, self._clusters(TopicPartition(*place)))

    async def _unread(self, own: Sequence[TopicPartition]) -> list[Unread]:
        async with (
            aiokafka_fixes.started(AIOKafkaAdminClient(**self._options)) as admin,
            aiokafka_fixes.started(AIOKafkaConsumer(**self._options)) as consumer,
        ):
            leaderless = await aiokafka_fixes.leaderless(admin, {each.topic for each in own})
            own = [each for each in own if each not in leaderless]
            committed = await aiokafka_fixes.committed(admin, self._group, set(own))
            ends, earliest = await asyncio.gather(consumer.end_offsets(own), consumer.beginning_offsets(own))
            limits = await _limits(admin, {each.topic for each in own})
            ms = {each: max(limits[each.topic].ms, 0) for each in own}
            kept = await self._younger(consumer, ms, ends)
            recent = await self._younger(consumer, {each: int(NEAR * ms[each]) for each in own}, ends)
            fresh = await self._younger(consumer, dict.fromkeys(own, int(PACE_SECONDS * 1000)), ends)
        return [
            Unread(
                each.topic,
                each.partition,
                first=max(committed[each].offset, earliest[each]),
                end=ends[each],
                earliest=earliest[each],
                kept=kept[each],
                recent=recent[each],
                fresh=fresh[each],
                limits=limits[each.topic],
            )
            for each in own
        ]

    async def _younger(
        self, consumer: AIOKafkaConsumer, ages_ms: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int]:
        """Return the first younger offset of each partition; its end if none is."""
        now_ms = int(self._clock.now().timestamp() * 1000)
        found = await consumer.offsets_for_times({each: now_ms - age for each, age in ages_ms.items()})
        return {each: at.offset if (at := found.get(each)) is not None else ends[each] for each in ages_ms}


async def _limits(admin: AIOKafkaAdminClient, topics: Collection[str]) -> dict[str, Limits]:
    """Return the limits by topic; none if Kafka does not show the settings."""
    found = await settings_of(admin, topics)
    return {
        topic: Limits(int(settings.get("retention.ms", -1)), int(settings.get("retention.bytes", -1)))
        for topic in topics
        for settings in [found.get(topic, {})]
    }
