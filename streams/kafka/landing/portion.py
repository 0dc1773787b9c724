"""Which messages of a partition are stored at once, and how its group remembers what it begins to store."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
import structlog
from aiokafka import OffsetAndMetadata, TopicPartition

from streams.kafka.message import Message

log = structlog.get_logger(__name__)


class _End(msgspec.Struct):
    """The metadata of an intent."""

    end: int


class Portion(NamedTuple):
    """The messages of a partition from offset `start` to `end`, both inclusive, that are stored at once."""

    topic: str
    partition: int
    start: int
    end: int
    messages: Sequence[Message]

    @property
    def source(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def intent(self) -> OffsetAndMetadata:
        """What a group commits before it stores this: from here on, and up to which offset at once."""
        return OffsetAndMetadata(self.start, msgspec.json.encode(_End(self.end)).decode())

    @property
    def stored(self) -> OffsetAndMetadata:
        """What it commits afterwards."""
        return OffsetAndMetadata(self.end + 1, "")

    @property
    def token(self) -> str:
        """The same for the same range; another one where the topic was recreated and counts from 0 again."""
        return f"{self.topic}:{self.partition}:{self.start}-{self.end}@{self.messages[-1].timestamp_ms}"


class Limits(NamedTuple):
    """When what was received is stored: the first that is reached."""

    messages: int = 20_000
    """Of a partition."""
    bytes: int = 16 * 1024 * 1024
    """Of a partition; it bounds the rows, for none takes less than about 100 bytes."""
    seconds: float = 2.0
    buffered_bytes: int = 64 * 1024 * 1024
    """Of all partitions together: nothing more is fetched until some of it is stored."""


DEFAULT_LIMITS: Final = Limits()


class Range(NamedTuple):
    """Offsets, both inclusive."""

    start: int
    end: int

    @classmethod
    def begun(cls, committed: OffsetAndMetadata) -> "Range | None":
        """Of an intent that was committed last; None where all that was begun is stored."""
        if not committed.metadata:
            return None
        return cls(committed.offset, msgspec.json.decode(committed.metadata, type=_End).end)


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
    """What was received and is not stored yet. A range that was begun is cut out first, exactly as it was begun."""

    def __init__(self, limits: Limits, monotonic: Callable[[], float]) -> None:
        self._limits = limits
        self._monotonic = monotonic
        self._buffers: dict[TopicPartition, _Buffer] = {}
        self._begun: dict[TopicPartition, Range] = {}

    @property
    def bytes(self) -> int:
        """Of values."""
        return sum(each.bytes for each in self._buffers.values())

    @property
    def full(self) -> bool:
        return self.bytes >= self._limits.buffered_bytes

    def begin(self, partition: TopicPartition, begun: Range) -> None:
        """The partition's next portion is this range."""
        self._begun[partition] = begun

    def add(self, partition: TopicPartition, messages: Sequence[Message]) -> None:
        """Behind what was added before."""
        if partition not in self._buffers:
            self._buffers[partition] = _Buffer(self._monotonic())
        self._buffers[partition].add(messages)

    def clear(self) -> None:
        """Forget everything, ranges too."""
        self._buffers.clear()
        self._begun.clear()

    def cut_due(self) -> Iterator[Portion]:
        """Take out what is to be stored now."""
        due = [partition for partition, buffer in self._buffers.items() if self._due(partition, buffer)]
        for partition in due:
            if portion := self._cut(partition, self._buffers.pop(partition)):
                yield portion

    def _due(self, partition: TopicPartition, buffer: _Buffer) -> bool:
        begun = self._begun.get(partition)
        if begun is not None:
            return buffer.messages[-1].offset >= begun.end
        limits = self._limits
        return (
            buffer.bytes >= limits.bytes
            or len(buffer.messages) >= limits.messages
            or self._monotonic() - buffer.since >= limits.seconds
            or self.full
        )

    def _cut(self, partition: TopicPartition, buffer: _Buffer) -> Portion | None:
        begun = self._begun.pop(partition, None)
        if begun is None:
            start, end = buffer.messages[0].offset, buffer.messages[-1].offset
            return Portion(partition.topic, partition.partition, start, end, buffer.messages)
        messages = [message for message in buffer.messages if message.offset <= begun.end]
        if later := buffer.messages[len(messages) :]:
            self.add(partition, later)
        if not messages:
            log.warning("a range was begun whose messages the topic no longer has", partition=str(partition))
            return None
        return Portion(partition.topic, partition.partition, begun.start, begun.end, messages)
