"""Which messages are stored at once, and how a group remembers it."""

from collections.abc import Sequence

import pytest
from aiokafka import OffsetAndMetadata, TopicPartition

from streams.kafka.landing.portion import Buffers, Limits, Range
from streams.kafka.message import Message

TP = TopicPartition("t", 0)
OTHER = TopicPartition("t", 1)


def messages(offsets: range, value: bytes = b"12345") -> list[Message]:
    return [Message("t", 0, offset, 1000 + offset, b"", value, ()) for offset in offsets]


class Time:
    """A clock that a test moves."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def cut(buffers: Buffers) -> list[tuple[int, int, Sequence[int]]]:
    return [(each.start, each.end, [one.offset for one in each.messages]) for each in buffers.cut_due()]


@pytest.mark.parametrize(
    ("limits", "before"),
    [(Limits(messages=3), 2), (Limits(bytes=15), 2), (Limits(buffered_bytes=15), 2)],
    ids=["messages", "bytes", "of all together"],
)
def test_what_reaches_a_limit_is_due(limits: Limits, before: int) -> None:
    buffers = Buffers(limits, Time())
    buffers.add(TP, messages(range(before)))
    assert cut(buffers) == []
    buffers.add(TP, messages(range(before, 3)))
    assert cut(buffers) == [(0, 2, [0, 1, 2])]
    assert buffers.bytes == 0


def test_what_is_there_for_long_is_due() -> None:
    time = Time()
    buffers = Buffers(Limits(seconds=2), time)
    buffers.add(TP, messages(range(1)))
    time.seconds = 1.9
    buffers.add(TP, messages(range(1, 2)))
    assert cut(buffers) == []
    time.seconds = 2.0
    assert cut(buffers) == [(0, 1, [0, 1])]


def test_a_range_that_was_begun_is_cut_exactly_and_first_and_the_rest_waits() -> None:
    time = Time()
    buffers = Buffers(Limits(seconds=2), time)
    buffers.begin(TP, Range(5, 7))
    buffers.add(TP, messages(range(5, 7)))
    time.seconds = 60.0
    assert cut(buffers) == []  # however long it takes, until the range is whole
    buffers.add(TP, messages(range(7, 10)))
    assert cut(buffers) == [(5, 7, [5, 6, 7])]
    assert cut(buffers) == []
    time.seconds = 62.0
    assert cut(buffers) == [(8, 9, [8, 9])]


def test_a_range_that_the_topic_keeps_no_longer_is_given_up() -> None:
    buffers = Buffers(Limits(seconds=0), Time())
    buffers.begin(TP, Range(5, 7))
    buffers.add(TP, messages(range(20, 22)))
    assert cut(buffers) == []
    assert cut(buffers) == [(20, 21, [20, 21])]


def test_of_a_range_whose_beginning_is_gone_the_rest_is_stored_as_that_range() -> None:
    buffers = Buffers(Limits(), Time())
    buffers.begin(TP, Range(5, 7))
    buffers.add(TP, messages(range(6, 9)))
    assert cut(buffers) == [(5, 7, [6, 7])]


def test_partitions_are_cut_apart_and_forgotten_together() -> None:
    buffers = Buffers(Limits(messages=2), Time())
    buffers.begin(OTHER, Range(0, 9))
    buffers.add(TP, messages(range(2)))
    buffers.add(OTHER, messages(range(2)))
    (portion,) = buffers.cut_due()
    assert portion.source == TP
    buffers.clear()
    assert buffers.bytes == 0
    buffers.add(OTHER, messages(range(2)))
    assert cut(buffers) == [(0, 1, [0, 1])]


def test_an_intent_reads_back_and_the_token_is_the_same_for_the_same_range() -> None:
    buffers = Buffers(Limits(seconds=0), Time())
    buffers.add(TP, messages(range(3, 6)))
    (portion,) = buffers.cut_due()
    assert portion.intent == OffsetAndMetadata(3, '{"end":5}')
    assert Range.begun(portion.intent) == Range(3, 5)
    assert portion.stored == OffsetAndMetadata(6, "")
    assert Range.begun(portion.stored) is None
    assert portion.token == "t:0:3-5@1005"  # noqa: S105  # it is what ClickHouse deduplicates by
