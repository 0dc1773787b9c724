"""Where a lander takes a partition up: what the store has, what was committed and what the topic has still. Pure."""

from typing import Final, NamedTuple

from aiokafka import TopicPartition

from streams.kafka.takeover import Gap

UNKNOWN_MS: Final = -1


class Landed(NamedTuple):
    """What a store has of a partition: every message before `end`."""

    end: int
    timestamp_ms: int
    """Kafka's time of the message before `end`, UNKNOWN_MS where the topic had lost it."""


class Log(NamedTuple):
    """What the topic has of a partition: offsets from `earliest` up to but not including `end`."""

    earliest: int
    end: int
    timestamp_ms: int | None = None
    """Kafka's time of the message before `Landed.end`; None where the topic does not have it."""

    def is_other_than(self, landed: Landed) -> bool:
        """Whether it was cut back or made anew since: its end is before that, or another message is there."""
        seen = self.timestamp_ms is not None and landed.timestamp_ms != UNKNOWN_MS
        return self.end < landed.end or (seen and self.timestamp_ms != landed.timestamp_ms)


class Resume(NamedTuple):
    """How a partition goes on."""

    stored: int
    """Everything before it is stored; negative where that is not known."""
    gaps: tuple[Gap, ...] = ()
    again_until: int = 0
    """What is received before this offset was perhaps stored once."""


def resume(partition: TopicPartition, committed: int, landed: Landed | None, log: Log) -> Resume:
    """The store decides, not what was committed, which is negative where Kafka knows nothing. What is stored again
    replaces its rows: an early start costs time alone.
    """
    topic, number = partition
    if landed and log.is_other_than(landed):
        first = min(log.end, landed.end - 1)
        return Resume(log.earliest, (Gap("replaced", topic, number, first, landed.end),), log.end)
    end = landed.end if landed else 0
    stored = end if landed or not committed else -1
    gap = Gap("unstored", topic, number, max(end, log.earliest), committed)
    return Resume(stored, (gap,), committed) if gap.messages > 0 else Resume(stored)
