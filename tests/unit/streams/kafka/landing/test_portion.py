"""Portions are stored at once, and a group remembers them."""

from collections.abc import Sequence
from typing import Any

import pytest
from aiokafka import OffsetAndMetadata, TopicPartition

from streams.kafka.landing.portion import MAX_RANGES, Begun, Buffers, Range
from streams.kafka.message import Message
from streams.kafka.settings import LandSettings

KAFKA = "MkU3OEVBNTcwNTJENDM2Qg"
TP = TopicPartition("t", 0)
OTHER = TopicPartition("t", 1)
ELSEWHERE = TopicPartition("elsewhere", 0)
AT_ONCE = LandSettings.model_construct(batch_seconds=0)


def messages(offsets: range, value: bytes = b"12345", partition: int = 0) -> list[Message]:
    return [Message("t", partition, offset, 1000 + offset, b"", value, ()) for offset in offsets]


class Time:
    """A clock that a test moves."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def cut(buffers: Buffers) -> list[tuple[int, int, Sequence[int]]]:
    """Return the portions of one range: its first and last offset, and those of the messages."""
    return [(*each.ranges[0][1:], [one.offset for one in each.messages]) for each in buffers.cut_due()]


@pytest.mark.parametrize(
    ("settings", "before"),
    [(LandSettings(batch_messages=3), 2), (LandSettings(batch_bytes=15), 2), (LandSettings(buffered_bytes=15), 2)],
    ids=["messages", "bytes", "of all together"],
)
def test_a_buffer_at_its_limit_is_due(settings: LandSettings, before: int) -> None:
    buffers = Buffers(settings, Time())
    buffers.add(TP, messages(range(before)))
    assert cut(buffers) == []
    buffers.add(TP, messages(range(before, 3)))
    assert cut(buffers) == [(0, 2, [0, 1, 2])]
    assert buffers.bytes == 0


def test_an_old_buffer_is_due() -> None:
    time = Time()
    buffers = Buffers(LandSettings(batch_seconds=2), time)
    buffers.add(TP, messages(range(1)))
    time.seconds = 1.9
    buffers.add(TP, messages(range(1, 2)))
    assert cut(buffers) == []
    time.seconds = 2.0
    assert cut(buffers) == [(0, 1, [0, 1])]


def test_one_due_partition_stores_its_whole_topic() -> None:
    time = Time()
    buffers = Buffers(LandSettings(batch_seconds=2), time)
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


@pytest.mark.parametrize(
    "settings", [LandSettings(batch_messages=4), LandSettings(batch_bytes=20)], ids=["messages", "bytes"]
)
def test_a_portion_stays_within_its_limits(settings: LandSettings) -> None:
    buffers = Buffers(settings.model_copy(update={"batch_seconds": 0}), Time())
    for partition in range(3):
        buffers.add(TopicPartition("t", partition), messages(range(2), partition=partition))
    assert [[each.partition for each in portion.ranges] for portion in buffers.cut_due()] == [[0, 1], [2]]


def test_a_portion_has_few_enough_ranges_for_kafkas_commit_metadata() -> None:
    buffers = Buffers(AT_ONCE, Time())
    for partition in range(MAX_RANGES + 1):
        large = 10**14 + partition
        buffers.add(TopicPartition("t", partition), messages(range(large, large + 1), partition=partition))
    first, second = buffers.cut_due()
    assert (len(first.ranges), len(second.ranges)) == (MAX_RANGES, 1)
    assert max(len(intent.metadata) for intent in first.intents(KAFKA).values()) < 4096


def test_cleared_buffers_hold_nothing() -> None:
    buffers = Buffers(AT_ONCE, Time())
    buffers.add(TP, messages(range(2)))
    buffers.add(OTHER, messages(range(2)))
    buffers.clear()
    assert (buffers.bytes, list(buffers.cut_due())) == (0, [])


@pytest.mark.parametrize("others", [0, 2])
def test_each_intent_reads_back_as_all_ranges_of_its_portion_under_their_token(others: int) -> None:
    buffers = Buffers(AT_ONCE, Time())
    buffers.add(TP, messages(range(3, 6)))
    if others:
        buffers.add(OTHER, messages(range(others), partition=1))
    (portion,) = buffers.cut_due()
    for partition, intent in portion.intents(KAFKA).items():
        begun = Begun.of(partition, intent, KAFKA)
        assert begun is not None
        assert begun.portion(portion.messages) == portion
        assert begun.portion(portion.messages[:1]).token == portion.token  # whatever is left of them
        assert begun.stored == portion.stored
    ends = {TP: OffsetAndMetadata(6, ""), OTHER: OffsetAndMetadata(2, "")}
    assert portion.stored == (ends if others else {TP: ends[TP]})


@pytest.mark.parametrize(
    "metadata", [None, "by a tool", "[]", '{"token":1,"ranges":[]}', '{"token":"t","ranges":[[0]]}']
)
def test_metadata_that_no_lander_wrote_begins_nothing(metadata: Any) -> None:
    assert Begun.of(TP, OffsetAndMetadata(3, metadata), KAFKA) is None


def test_an_intent_that_was_copied_to_another_offset_begins_nothing() -> None:
    """Tools that copy a group to another Kafka translate its offset and not its metadata."""
    buffers = Buffers(AT_ONCE, Time())
    buffers.add(TP, messages(range(900, 1000)))
    buffers.add(OTHER, messages(range(500, 600), partition=1))
    (portion,) = buffers.cut_due()
    for offset in (500, 600, 901):
        assert Begun.of(TP, OffsetAndMetadata(offset, portion.intents(KAFKA)[TP].metadata), KAFKA) is None


def test_an_intent_counts_in_its_own_kafka_and_one_of_an_older_version_in_any() -> None:
    buffers = Buffers(AT_ONCE, Time())
    buffers.add(TP, messages(range(3)))
    (portion,) = buffers.cut_due()
    for written, read, is_begun in ((KAFKA, KAFKA, True), (KAFKA, "another", False), ("", KAFKA, True)):
        assert (Begun.of(TP, portion.intents(written)[TP], read) is not None) == is_begun


def test_messages_received_again_get_another_token() -> None:
    """The database may have lost its rows and know the first one; so may a topic that was made anew begin at 0."""
    buffers = Buffers(AT_ONCE, Time())
    tokens = set()
    for _ in range(2):
        buffers.add(TP, messages(range(3)))
        (portion,) = buffers.cut_due()
        tokens.add(portion.token)
    assert len(tokens) == 2


def test_a_forgotten_partition_keeps_no_messages() -> None:
    buffers = Buffers(AT_ONCE, Time())
    buffers.add(TP, messages(range(3)))
    buffers.add(OTHER, messages(range(2), partition=1))
    buffers.forget(TP)
    (portion,) = buffers.cut_due()
    assert [each.partition for each in portion.ranges] == [OTHER.partition]
