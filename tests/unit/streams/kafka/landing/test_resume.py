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


def test_a_group_that_stands_where_the_store_does_goes_on() -> None:
    assert resume(PARTITION, 100, Landed(100, 7), PartitionLog(0, 300, 7)) == Resume(100)
    assert resume(PARTITION, -1, None, PartitionLog(0, 300)) == Resume(-1)
    assert resume(PARTITION, 0, None, PartitionLog(0, 300)) == Resume(0)


def test_what_is_committed_and_not_stored_is_a_gap_and_is_received_again() -> None:
    """A group that was reset to the end; a store whose newest part is gone."""
    lost = Resume(100, (gap("unstored", 100, 300),))
    assert resume(PARTITION, 300, Landed(100, 7), PartitionLog(0, 300, 7)) == lost


def test_where_the_store_has_nothing_of_a_partition_what_was_committed_holds() -> None:
    """Commits of a version that did not store its progress."""
    assert resume(PARTITION, 300, None, PartitionLog(0, 500)) == Resume(300)


def test_what_retention_has_deleted_is_not_promised_to_be_stored_again() -> None:
    assert resume(PARTITION, 300, Landed(100, 7), PartitionLog(250, 300)).gaps == (gap("unstored", 250, 300),)
    assert resume(PARTITION, 300, Landed(100, 7), PartitionLog(300, 300)).gaps == ()


def test_a_group_that_was_set_back_or_forgotten_repeats_nothing() -> None:
    assert resume(PARTITION, 0, Landed(100, 7), PartitionLog(0, 300, 7)) == Resume(100)
    assert resume(PARTITION, -1, Landed(100, 7), PartitionLog(0, 300, 7)) == Resume(100)


def test_a_log_that_was_cut_back_is_stored_from_its_beginning() -> None:
    """The cut is unknown once there are new messages, so all come again; also behind the old end."""
    assert resume(PARTITION, 100, Landed(100, 7), PartitionLog(0, 80)) == Resume(0, (gap("replaced", 80, 100),))
    assert resume(PARTITION, 100, Landed(100, 7), PartitionLog(5, 150, 8)) == Resume(5, (gap("replaced", 99, 100),))


def test_what_cannot_be_compared_is_not_taken_for_another_log() -> None:
    assert resume(PARTITION, 100, Landed(100, 7), PartitionLog(100, 150, None)) == Resume(100)
    assert resume(PARTITION, 100, Landed(100, -1), PartitionLog(0, 150, 8)) == Resume(100)


def test_where_any_of_it_may_be_lost_all_that_the_topic_has_is_stored_again_and_nothing_else_is_missing() -> None:
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


def test_a_portion_says_how_far_each_partition_is_stored_after_it() -> None:
    buffers = Buffers(SETTINGS, lambda: 0.0)
    assert portion(buffers, 5, 6).landed == {PARTITION: Landed(7, 1006)}
    assert Portion("x.findings", (Range(2, 5, 6),), [], "t").landed == {PARTITION: Landed(7, -1)}


def test_what_was_begun_behind_something_that_is_missing_is_not_stored_alone() -> None:
    begun = Begun("x.findings", (Range(2, 5, 6), Range(3, 0, 4)), "t")
    assert begun.follows({PARTITION: Landed(5, 1)})
    assert begun.follows({PARTITION: Landed(7, 1)})
    assert not begun.follows({PARTITION: Landed(4, 1)})
    assert begun.follows({})
