"""A partition resumes by what is stored, committed and in the topic."""

from aiokafka import TopicPartition

from streams.kafka.landing.portion import Begun, Buffers, Portion, Range
from streams.kafka.landing.resume import UNKNOWN, Landed, PartitionLog, Resume, resume
from streams.kafka.message import Message
from streams.kafka.settings import LandSettings
from streams.kafka.takeover import Gap

PARTITION = TopicPartition("x.findings", 2)
SETTINGS = LandSettings.model_construct(batch_seconds=0)


def gap(kind: str, first: int, end: int) -> Gap:
    return Gap(kind, "x.findings", 2, first, end)  # type: ignore[arg-type]


def test_a_group_at_the_stores_progress_continues() -> None:
    assert resume(PARTITION, 100, Landed(100, 7), PartitionLog(0, 300, 7)) == Resume(100)
    assert resume(PARTITION, -1, None, PartitionLog(0, 300)) == Resume(-1)
    assert resume(PARTITION, 0, None, PartitionLog(0, 300)) == Resume(0)


def test_committed_but_unstored_messages_are_a_gap_and_received_again() -> None:
    """A group that was reset to the end; a store whose newest part is gone."""
    lost = Resume(100, (gap("unstored", 100, 300),))
    assert resume(PARTITION, 300, Landed(100, 7), PartitionLog(0, 300, 7)) == lost


def test_without_stored_progress_the_committed_offset_decides() -> None:
    """Commits of a version that did not store its progress."""
    assert resume(PARTITION, 300, None, PartitionLog(0, 500)) == Resume(300)


def test_messages_deleted_by_retention_are_not_announced_as_stored_again() -> None:
    assert resume(PARTITION, 300, Landed(100, 7), PartitionLog(250, 300)).gaps == (gap("unstored", 250, 300),)
    assert resume(PARTITION, 300, Landed(100, 7), PartitionLog(300, 300)).gaps == ()


def test_a_group_that_was_reset_or_forgotten_repeats_nothing() -> None:
    assert resume(PARTITION, 0, Landed(100, 7), PartitionLog(0, 300, 7)) == Resume(100)
    assert resume(PARTITION, -1, Landed(100, 7), PartitionLog(0, 300, 7)) == Resume(100)


def test_a_truncated_log_is_stored_from_its_beginning() -> None:
    """The cut is unknown once there are new messages, so all come again; also behind the old end."""
    assert resume(PARTITION, 100, Landed(100, 7), PartitionLog(0, 80)) == Resume(0, (gap("replaced", 80, 100),))
    assert resume(PARTITION, 100, Landed(100, 7), PartitionLog(5, 150, 8)) == Resume(5, (gap("replaced", 99, 100),))


def test_a_log_that_cannot_be_compared_does_not_count_as_replaced() -> None:
    assert resume(PARTITION, 100, Landed(100, 7), PartitionLog(100, 150, None)) == Resume(100)
    assert resume(PARTITION, 100, Landed(100, -1), PartitionLog(0, 150, 8)) == Resume(100)


def test_with_possible_loss_the_whole_topic_is_stored_again_without_further_gaps() -> None:
    """The messages that retention deleted since were stored long ago, as far as anybody knows."""
    again = Resume(250, (gap("unstored", 250, 300),))
    assert resume(PARTITION, 300, UNKNOWN, PartitionLog(250, 300)) == again
    assert resume(PARTITION, 300, UNKNOWN, PartitionLog(300, 300)) == Resume(300)


def message(offset: int) -> Message:
    return Message("x.findings", 2, offset, 1000 + offset, b"", b"v", ())


def portion(buffers: Buffers, *offsets: int) -> Portion:
    buffers.add(PARTITION, [message(offset) for offset in offsets])
    (only,) = buffers.cut_due()
    return only


def test_a_portion_carries_the_progress_of_each_partition() -> None:
    buffers = Buffers(SETTINGS, lambda: 0.0)
    assert portion(buffers, 5, 6).landed == {PARTITION: Landed(7, 1006)}
    assert Portion("x.findings", (Range(2, 5, 6),), [], "t").landed == {PARTITION: Landed(7, -1)}


def test_a_begun_portion_behind_missing_messages_is_not_stored_alone() -> None:
    begun = Begun("x.findings", (Range(2, 5, 6), Range(3, 0, 4)), "t")
    assert begun.follows({PARTITION: Landed(5, 1)})
    assert begun.follows({PARTITION: Landed(7, 1)})
    assert not begun.follows({PARTITION: Landed(4, 1)})
    assert begun.follows({})
