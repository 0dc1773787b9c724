"""Which messages are stored at once, and how a group remembers it."""

from collections.abc import Sequence

import pytest
from aiokafka import OffsetAndMetadata, TopicPartition

from streams.kafka.landing.portion import MAX_RANGES, Begun, Buffers, Limits, Range
from streams.kafka.message import Message

TP = TopicPartition("t", 0)
OTHER = TopicPartition("t", 1)
ELSEWHERE = TopicPartition("elsewhere", 0)


def messages(offsets: range, value: bytes = b"12345", partition: int = 0) -> list[Message]:
    return [Message("t", partition, offset, 1000 + offset, b"", value, ()) for offset in offsets]


class Time:
    """A clock that a test moves."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def cut(buffers: Buffers) -> list[tuple[int, int, Sequence[int]]]:
    """Of portions of one range."""
    return [(*each.ranges[0][1:], [one.offset for one in each.messages]) for each in buffers.cut_due()]


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


def test_with_a_partition_that_is_due_all_of_its_topic_is_stored_at_once() -> None:
    time = Time()
    buffers = Buffers(Limits(seconds=2), time)
    buffers.add(OTHER, messages(range(7, 9), partition=1))
    buffers.add(ELSEWHERE, messages(range(1)))
    time.seconds = 1.9
    buffers.add(TP, messages(range(2)))
    buffers.add(ELSEWHERE, messages(range(1, 2)))
    time.seconds = 2.0
    there, here = sorted(buffers.cut_due(), key=lambda each: len(each.ranges))
    assert (there.topic, there.ranges) == ("elsewhere", (Range(0, 0, 1),))
    assert here.ranges == (Range(0, 0, 1), Range(1, 7, 8))
    assert [(each.partition, each.offset) for each in here.messages] == [(0, 0), (0, 1), (1, 7), (1, 8)]
    assert list(buffers.cut_due()) == []
    assert buffers.bytes == 0


@pytest.mark.parametrize("limits", [Limits(messages=4), Limits(bytes=20)], ids=["messages", "bytes"])
def test_no_more_is_put_together_than_a_portion_may_have(limits: Limits) -> None:
    buffers = Buffers(limits._replace(seconds=0), Time())
    for partition in range(3):
        buffers.add(TopicPartition("t", partition), messages(range(2), partition=partition))
    assert [[each.partition for each in portion.ranges] for portion in buffers.cut_due()] == [[0, 1], [2]]


def test_the_ranges_of_a_portion_are_so_few_that_kafka_takes_their_intents() -> None:
    buffers = Buffers(Limits(seconds=0), Time())
    for partition in range(MAX_RANGES + 1):
        large = 10**14 + partition
        buffers.add(TopicPartition("t", partition), messages(range(large, large + 1), partition=partition))
    first, second = buffers.cut_due()
    assert (len(first.ranges), len(second.ranges)) == (MAX_RANGES, 1)
    assert max(len(intent.metadata) for intent in first.intents.values()) < 4096


def test_what_was_received_is_forgotten_together() -> None:
    buffers = Buffers(Limits(seconds=0), Time())
    buffers.add(TP, messages(range(2)))
    buffers.add(OTHER, messages(range(2)))
    buffers.clear()
    assert (buffers.bytes, list(buffers.cut_due())) == (0, [])


def test_an_intent_of_one_range_reads_back_and_its_token_follows_from_its_messages() -> None:
    buffers = Buffers(Limits(seconds=0), Time())
    buffers.add(TP, messages(range(3, 6)))
    (portion,) = buffers.cut_due()
    assert portion.intents == {TP: OffsetAndMetadata(3, '{"end":5}')}
    assert portion.stored == {TP: OffsetAndMetadata(6, "")}
    assert portion.token == "t:0:3-5@1005"  # noqa: S105  # it is what ClickHouse deduplicates by
    begun = Begun.of(TP, portion.intents[TP])
    assert begun is not None
    assert begun.portion(messages(range(3, 6))) == portion
    assert begun.portion(messages(range(4, 6))).token == portion.token  # retention took the first
    assert Begun.of(TP, portion.stored[TP]) is None


def test_each_intent_of_several_ranges_reads_back_as_all_of_them_under_their_token() -> None:
    buffers = Buffers(Limits(seconds=0), Time())
    buffers.add(TP, messages(range(3, 6)))
    buffers.add(OTHER, messages(range(2), partition=1))
    (portion,) = buffers.cut_due()
    for partition, intent in portion.intents.items():
        begun = Begun.of(partition, intent)
        assert begun is not None
        assert begun.portion(portion.messages) == portion
        assert begun.portion(portion.messages[:1]).token == portion.token  # whatever is left of them
        assert begun.stored == portion.stored
    assert portion.stored == {TP: OffsetAndMetadata(6, ""), OTHER: OffsetAndMetadata(2, "")}


def test_other_ranges_have_other_tokens_also_in_a_topic_that_was_recreated() -> None:
    def token(first: range, second: range, later_ms: int = 0) -> str:
        buffers = Buffers(Limits(seconds=0), Time())
        for partition, offsets in enumerate((first, second)):
            moved = [each._replace(timestamp_ms=each.timestamp_ms + later_ms) for each in messages(offsets)]
            buffers.add(TopicPartition("t", partition), moved)
        (portion,) = buffers.cut_due()
        return portion.token

    assert token(range(3), range(2)) == token(range(3), range(2))
    others = [token(range(2), range(3)), token(range(3), range(1, 2)), token(range(3), range(2), later_ms=1)]
    assert len({token(range(3), range(2)), *others}) == 4
