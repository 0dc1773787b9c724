"""A lander notices missing messages, before it begins and while it runs."""

import asyncio

import pytest
from aiokafka import TopicPartition

from streams.kafka.gaps import Gaps
from streams.kafka.landing.resume import ReceivedOffsets

PARTITION = TopicPartition("x.findings", 2)


def test_messages_that_follow_each_other_leave_no_gap() -> None:
    gaps = Gaps()
    arrivals = ReceivedOffsets(gaps)
    assert arrivals.start(PARTITION, committed=5, earliest=0) == 5
    arrivals.add(PARTITION, 5, 8)
    arrivals.add(PARTITION, 9, 9)
    assert arrivals.start(PARTITION, committed=9, earliest=9) == 9
    assert gaps.counts == {}
    assert list(gaps.why_not()) == []


def test_a_new_group_and_a_recreated_topic_begin_at_the_first_message() -> None:
    gaps = Gaps()
    arrivals = ReceivedOffsets(gaps)
    assert arrivals.start(PARTITION, committed=-1, earliest=0) == 0
    arrivals.start(PARTITION, committed=100, earliest=0)
    arrivals.add(PARTITION, 0, 3)
    arrivals.add(PARTITION, 4, 4)
    assert gaps.counts == {}


@pytest.mark.asyncio
async def test_messages_deleted_and_perhaps_never_stored_are_reported_as_unknown() -> None:
    """Kafka forgets what a group committed a week after its last member, when the topic has deleted as much."""
    gaps = Gaps()
    arrivals = ReceivedOffsets(gaps)
    assert arrivals.start(PARTITION, committed=-1, earliest=2000) == 2000
    arrivals.add(PARTITION, 2000, 2009)
    assert gaps.counts == {("x.findings", "unknown"): 2000}
    (why,) = gaps.why_not()
    assert why == (
        "kafka x.findings/2: gap: 2,000 messages, offsets 0 to 1999: each was deleted by retention, and Kafka has "
        "no record of whether it was read"
    )
    await asyncio.wait_for(gaps.found(), 1)


def test_messages_deleted_before_and_after_the_start_are_reported_once() -> None:
    gaps = Gaps()
    arrivals = ReceivedOffsets(gaps)
    assert arrivals.start(PARTITION, committed=5, earliest=2000) == 2000
    arrivals.add(PARTITION, 2000, 2009)
    arrivals.add(PARTITION, 2015, 2015)
    arrivals.clear()
    arrivals.start(PARTITION, committed=5, earliest=2000)
    assert gaps.counts == {("x.findings", "lost"): 1995 + 5}
    assert [each.partition(":")[0] for each in gaps.why_not()] == ["kafka x.findings/2"] * 2
