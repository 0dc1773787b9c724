"""When unread messages are near the end of their retention (delivery.md#gaps)."""

from typing import Any

import pytest

from streams.kafka.retention import Limits, Unread

HOUR_MS = 3_600_000


def unread(**values: Any) -> Unread:
    """A hundred messages, from 100 to 199, of which those from 150 on are young; the group has read up to 180."""
    given = {"first": 180, "end": 200, "earliest": 100, "recent": 150, "limits": Limits(168 * HOUR_MS)}
    return Unread(**{"topic": "t", "partition": 3, **given, **values})


def test_what_is_read_before_it_is_old_is_not_near() -> None:
    assert not unread().is_near
    assert not unread(first=150).is_near


def test_an_old_message_that_is_not_read_is_near_and_the_words_have_how_many() -> None:
    near = unread(first=149)
    assert near.is_near
    assert near.resource == "kafka t/3"
    assert near.error.startswith("behind: 51 messages from offset 149 on are unread, and 75% of the topic's ")
    assert "retention.ms, 168 h" in near.error


def test_where_all_is_read_nothing_is_near_however_old_it_is() -> None:
    assert not unread(first=200, recent=200).is_near


def test_a_topic_that_keeps_for_ever_deletes_nothing() -> None:
    assert not unread(first=100, recent=200, limits=Limits(-1)).is_near


@pytest.mark.parametrize(
    ("first", "earliest", "near"),
    [(124, 100, True), (125, 100, False), (0, 0, False)],
    ids=["oldest quarter", "behind it", "nothing was deleted yet"],
)
def test_by_size_the_oldest_quarter_is_near_once_kafka_deletes(first: int, earliest: int, near: bool) -> None:
    limited = unread(first=first, earliest=earliest, recent=first, limits=Limits(-1, 1 << 30))
    assert limited.is_near == near
    assert "retention.bytes" in limited.error
