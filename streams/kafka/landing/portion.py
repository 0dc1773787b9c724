"""Chooses the messages of a topic that are stored at once, and encodes them in the metadata of commits."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from aiokafka import OffsetAndMetadata, TopicPartition

from common.amounts import counted
from ingest.model.observation import if_decodable
from streams.kafka.landing.resume import UNKNOWN_MS, Landed
from streams.kafka.message import Message
from streams.kafka.settings import LandSettings

MAX_RANGES: Final = 64
"""Maximum number of ranges of a portion.

All are in the metadata of each of its intents, of which Kafka accepts 4 KiB.
"""


class Range(NamedTuple):
    """A range of offsets of a partition, both inclusive."""

    partition: int
    start: int
    end: int


class _Intent(msgspec.Struct):
    """The metadata of an intent, which defines its portion."""

    token: str
    ranges: tuple[Range, ...]
    kafka: str = ""
    """Id of the Kafka cluster; empty in the intents of older versions."""


_decode_intent: Final = msgspec.json.Decoder(_Intent).decode


class Begun(NamedTuple):
    """An unfinished portion, as described by the intent of one of its partitions."""

    topic: str
    ranges: tuple[Range, ...]
    token: str

    @classmethod
    def of(cls, partition: TopicPartition, committed: OffsetAndMetadata, kafka: str) -> "Begun | None":
        """Decode the last commit of a partition; None if everything that was begun is stored.

        Metadata of another tool is ignored, and so is an intent that was copied from another Kafka, or to another
        offset.
        """
        intent = if_decodable(_decode_intent, (committed.metadata or "").encode())
        if intent is None or intent.kafka not in {"", kafka}:
            return None
        if all(each[:2] != (partition.partition, committed.offset) for each in intent.ranges):
            return None
        return cls(partition.topic, intent.ranges, intent.token)

    @property
    def stored(self) -> Mapping[TopicPartition, OffsetAndMetadata]:
        return _stored(self.topic, self.ranges)

    def follows(self, landed: Mapping[TopicPartition, Landed]) -> bool:
        """Tell whether a store has everything before it. Otherwise, storing it alone would hide missing messages."""
        before = ((each, landed.get(TopicPartition(self.topic, each.partition))) for each in self.ranges)
        return all(at is None or each.start <= at.end for each, at in before)

    def portion(self, messages: Sequence[Message]) -> "Portion":
        """Build the portion from the messages that the topic still has."""
        return Portion(self.topic, self.ranges, messages, self.token)


class Portion(NamedTuple):
    """Messages of several ranges of a topic, at most one for each partition, that are stored together."""

    topic: str
    ranges: tuple[Range, ...]
    messages: Sequence[Message]
    token: str
    """Deduplication token, kept in the intents, so that storing the portion again uses the same one.

    The same ranges get another token when they are received again, because the database may have lost their rows and
    still know their token.
    """

    def intents(self, kafka: str) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Return the commits before storing: the first offset of each range, with all ranges in the metadata."""
        metadata = msgspec.json.encode(_Intent(self.token, self.ranges, kafka)).decode()
        return {
            TopicPartition(self.topic, span.partition): OffsetAndMetadata(span.start, metadata)
            for span in self.ranges
        }

    @property
    def stored(self) -> Mapping[TopicPartition, OffsetAndMetadata]:
        """Return the group's commits after storing."""
        return _stored(self.topic, self.ranges)

    @property
    def landed(self) -> Mapping[TopicPartition, Landed]:
        """Return the progress of the portion's partitions after storing."""
        times = {message.partition: message.timestamp_ms for message in self.messages}
        return {
            TopicPartition(self.topic, each.partition): Landed(each.end + 1, times.get(each.partition, UNKNOWN_MS))
            for each in self.ranges
        }


def _stored(topic: str, ranges: Iterable[Range]) -> Mapping[TopicPartition, OffsetAndMetadata]:
    return {TopicPartition(topic, each.partition): OffsetAndMetadata(each.end + 1, "") for each in ranges}


class _Buffer:
    __slots__ = ("bytes", "messages", "since")

    def __init__(self, since: float) -> None:
        self.messages: list[Message] = []
        self.bytes = 0
        self.since = since

    def add(self, messages: Sequence[Message]) -> None:
        self.messages += messages
        self.bytes += sum(len(message.value) for message in messages)


class Buffers:
    """Holds received messages until they are stored."""

    def __init__(self, settings: LandSettings, monotonic: Callable[[], float]) -> None:
        self._settings = settings
        self._monotonic = monotonic
        self._buffers: dict[TopicPartition, _Buffer] = {}

    @property
    def bytes(self) -> int:
        return sum(each.bytes for each in self._buffers.values())

    @property
    def full(self) -> bool:
        return self.bytes >= self._settings.buffered_bytes

    def add(self, partition: TopicPartition, messages: Sequence[Message]) -> None:
        if partition not in self._buffers:
            self._buffers[partition] = _Buffer(self._monotonic())
        self._buffers[partition].add(messages)

    def clear(self) -> None:
        self._buffers.clear()

    def forget(self, partition: TopicPartition) -> None:
        self._buffers.pop(partition, None)

    def cut_due(self) -> Iterator[Portion]:
        """Take out due messages and all others of their topic, because an insert costs the database more than its
        rows.
        """
        due = {partition.topic for partition, buffer in self._buffers.items() if self._due(buffer)}
        for topic in sorted(due):
            partitions = sorted(each for each in self._buffers if each.topic == topic)
            yield from self._portions(topic, [(each.partition, self._buffers.pop(each)) for each in partitions])

    def _due(self, buffer: _Buffer) -> bool:
        settings = self._settings
        return (
            buffer.bytes >= settings.batch_bytes
            or len(buffer.messages) >= settings.batch_messages
            or self._monotonic() - buffer.since >= settings.batch_seconds
            or self.full
        )

    def _portions(self, topic: str, buffers: Iterable[tuple[int, _Buffer]]) -> Iterator[Portion]:
        settings, held, size, count = self._settings, list[tuple[int, _Buffer]](), 0, 0
        for partition, buffer in buffers:
            more, messages = size + buffer.bytes, count + len(buffer.messages)
            if held and (
                more > settings.batch_bytes or messages > settings.batch_messages or len(held) == MAX_RANGES
            ):
                yield _portion(topic, held)
                held, more, messages = [], buffer.bytes, len(buffer.messages)
            held.append((partition, buffer))
            size, count = more, messages
        if held:
            yield _portion(topic, held)


def _portion(topic: str, buffers: Sequence[tuple[int, _Buffer]]) -> Portion:
    ranges = tuple(Range(number, each.messages[0].offset, each.messages[-1].offset) for number, each in buffers)
    messages = [message for _, each in buffers for message in each.messages]
    first = ranges[0]
    shown = counted(len(ranges), "range") if len(ranges) > 1 else f"{first.partition}:{first.start}-{first.end}"
    return Portion(topic, ranges, messages, f"{topic}:{shown}@{uuid.uuid4().hex}")
