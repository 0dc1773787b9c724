"""Defines a log's state in a worker, with the data that shows which messages it already contains."""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

import msgspec

from ingest.kafka.publish import PublisherNumber
from ingest.model.numbers import int64_of
from streams.fold.fold import LogState

NOTHING_FOLDED: Final = -1
PUBLISHERS: Final = 16
"""Number of publishers that a log remembers; only running ones repeat messages."""


RANGES: Final = 32
"""Number of ranges of numbers that a log remembers of one publisher. A late or oversized message leaves a gap."""

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Numbers from the first to the last, both inclusive, in order."""


class Emission(NamedTuple):
    """Origin of an emitted record: the emitting log's key, the causing record's offset, and a number."""

    origin: str
    offset: int
    number: int

    def header(self) -> bytes:
        return f"{self.offset} {self.number} {self.origin}".encode()

    @classmethod
    def parse(cls, header: bytes) -> "Emission":
        """Decode a header. Raises ValueError for one that `header` did not write."""
        offset, number, origin = header.decode().split(" ", 2)
        return cls(origin, int64_of(offset), int64_of(number))


class Folded(NamedTuple):
    """A log's state and what it already contains: records up to `offset` are not folded again.

    `emitted` has the offset and number of the last record that each other log emitted into this one. A worker that
    died after emitting and before its state was stored emits the same again.

    Offsets continue when the topic is recreated, although Kafka begins at 0 again: `shift` is the difference.
    Messages that are skipped as known were folded before, so none of them is newer than `newest_ms`.
    """

    offset: int
    log: LogState
    emitted: dict[str, tuple[int, int]]
    shift: int = 0
    newest_ms: int | None = None
    """Kafka's time of the newest folded message; None in states of versions that did not store it."""
    sent: Mapping[str, Ranges] = {}
    """Numbers received from each of the last PUBLISHERS publishers. A broken publisher repeats some."""

    def placed(self, offset: int, timestamp_ms: int) -> tuple[int, int]:
        """Return a message's offset in this state, and the shift from there on, by its Kafka offset and time."""
        ours = offset + self.shift
        if ours > self.offset or self.newest_ms is None or timestamp_ms <= self.newest_ms:
            return ours, self.shift
        return self.offset + 1, self.offset + 1 - offset

    def has(self, emission: Emission) -> bool:
        return self.emitted.get(emission.origin, (NOTHING_FOLDED, 0)) >= (emission.offset, emission.number)

    def was_sent(self, sent: PublisherNumber) -> bool:
        """Tell whether a message was folded before and sent again, because its publisher got no acknowledgement."""
        return any(first <= sent.number <= last for first, last in self.sent.get(sent.publisher, ()))

    def after(self, sent: PublisherNumber) -> "Folded":
        publishers = dict(self.sent)
        arrived = _with(publishers.pop(sent.publisher, ()), sent.number)
        if len(publishers) >= PUBLISHERS:
            del publishers[next(iter(publishers))]
        publishers[sent.publisher] = arrived
        return self._replace(sent=publishers)


def _with(ranges: Ranges, number: int) -> Ranges:
    """Return the ranges with a new number added; beyond RANGES the oldest gap is forgotten."""
    if ranges and number == ranges[-1][1] + 1:
        return (*ranges[:-1], (ranges[-1][0], number))
    joined: list[tuple[int, int]] = []
    for first, last in sorted((*ranges, (number, number))):
        if joined and first == joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    if len(joined) > RANGES:
        joined[:2] = [(joined[0][0], joined[1][1])]
    return tuple(joined)


class Head(msgspec.Struct, array_like=True):
    """The main record of a log's state. Versions that wrote a log as one record had the first six fields."""

    offset: int
    log: bytes
    emitted: dict[str, tuple[int, int]] = {}
    shift: int = 0
    newest: float | None = None
    """Seconds since 1970."""
    sent: dict[str, Ranges] = {}
    parts: dict[str, tuple[int, ...]] = {}
    """Numbers of each part's pieces, which the same writer wrote in the same generation."""
    number: int = 0
    """The head's own number, from the same count: the highest of a writer's heads is its last."""
    minute: int = 0
    """Minute that a log without any reducer's state has reached."""

    @property
    def position(self) -> tuple[int, int, int]:
        """Return a sort key: later heads of a log are greater. A recreated topic shifts its offsets up."""
        return self.shift, self.offset, self.number

    @property
    def is_empty(self) -> bool:
        return not self.log and not self.parts
