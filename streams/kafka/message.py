"""Defines a Kafka message, independent of the client that received it."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from aiokafka import ConsumerRecord

from ingest.model.observation import LATEST, Position

Headers = Sequence[tuple[str, bytes]]


class Message(NamedTuple):
    """A Kafka message, as the Faust worker and the aiokafka consumers read it; a null key or value is empty."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    """Milliseconds since 1970, set by the broker or the producer."""
    key: bytes
    value: bytes
    headers: Headers

    @property
    def ts(self) -> datetime:
        """Return the timestamp, limited to 1970 until LATEST: any writer to the topic can set it."""
        latest = int(LATEST.timestamp() * 1000) - 1
        return datetime.fromtimestamp(min(max(self.timestamp_ms, 0), latest) / 1000, UTC)

    @property
    def position(self) -> Position:
        return Position(self.topic, f"{self.partition}@{self.offset}")


class MessagesLost(Exception):
    """Messages are missing or were replaced. The worker stops, because states record only their last offset."""


class FaustMessage(Protocol):
    """The part of `faust.types.tuples.Message` that Leadsman uses."""

    topic: str
    partition: int
    offset: int
    timestamp: float
    """Kafka's time in seconds since 1970."""
    value: bytes | None
    headers: Headers | None
    generation_id: int | None


class FaustEvent(Protocol):
    """The part of `faust.types.EventT` that Leadsman uses, for a stream of bytes."""

    key: bytes | None
    value: bytes | None
    message: FaustMessage


def message_of_record(record: "ConsumerRecord[bytes, bytes]") -> Message:
    return Message(
        record.topic,
        record.partition,
        record.offset,
        record.timestamp,
        record.key or b"",
        record.value or b"",
        record.headers,
    )


def message_of_event(event: FaustEvent) -> Message:
    message = event.message
    return Message(
        message.topic,
        message.partition,
        message.offset,
        round(message.timestamp * 1000),
        event.key or b"",
        event.value or b"",
        message.headers or (),
    )
