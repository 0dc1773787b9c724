"""The state of a log as a worker keeps it: what was folded is not folded again."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.kafka.publish import PublisherNumber
from streams.analytics.registry import REDUCERS
from streams.fold.checkpoints import StateCodec
from streams.fold.fold import LogState
from streams.kafka.codec import NOTHING_FOLDED, PUBLISHERS, RANGES, Emission, Folded
from streams.kafka.parts import Layout, PartsCodec, Stored

EMPTY = Folded(NOTHING_FOLDED, LogState(), {})


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 2 * RANGES)), max_size=200))
def test_a_message_is_new_if_and_only_if_it_did_not_arrive_before(messages: list[tuple[str, int]]) -> None:
    """Also one that comes later than those behind it: it must not be lost."""
    folded, arrived = EMPTY, set[tuple[str, int]]()
    for publisher, number in messages:
        sent = PublisherNumber(publisher, number)
        assert folded.was_sent(sent) == ((publisher, number) in arrived)
        if not folded.was_sent(sent):
            folded = folded.after(sent)
            arrived.add((publisher, number))


def test_beyond_the_limit_the_oldest_gap_counts_as_arrived() -> None:
    folded = EMPTY
    for number in range(1, 2 * RANGES + 2, 2):
        folded = folded.after(PublisherNumber("p", number))
    assert folded.was_sent(PublisherNumber("p", 2))
    assert not folded.was_sent(PublisherNumber("p", 4))
    assert len(folded.sent["p"]) == RANGES


def test_only_the_most_recent_publishers_are_remembered() -> None:
    folded = EMPTY.after(PublisherNumber("kept", 1))
    for number in range(PUBLISHERS - 1):
        folded = folded.after(PublisherNumber(f"other {number}", 1))
    folded = folded.after(PublisherNumber("kept", 2)).after(PublisherNumber("one more", 1))
    assert folded.was_sent(PublisherNumber("kept", 2))
    assert not folded.was_sent(PublisherNumber("other 0", 1))
    assert len(folded.sent) == PUBLISHERS


@given(st.text(st.characters(categories=["L", "N"]), min_size=1), st.integers(0, 2**62))
def test_the_header_sent_reads_back(publisher: str, number: int) -> None:
    assert PublisherNumber.parse(PublisherNumber(publisher, number).header()) == PublisherNumber(publisher, number)


@given(st.text(), st.integers(0, 2**62), st.integers(0, 99))
def test_the_header_origin_reads_back(origin: str, offset: int, number: int) -> None:
    emission = Emission(origin, offset, number)
    assert Emission.parse(emission.header()) == emission


def test_a_state_reads_back_with_all_that_reports_what_was_folded() -> None:
    codec = PartsCodec(REDUCERS)
    folded = Folded(7, LogState(3), {"c/n": (5, 1)}, 2, 12_500).after(PublisherNumber("p", 4))
    assert codec.decode(Stored(codec.encode(folded, Layout()).head)) == folded
    assert codec.decode(None) == EMPTY


@pytest.mark.parametrize("header", [b"", b"1 2", b"a b c", b"1.0 2 c", b"\xff \xff \xff"])
def test_a_foreign_header_is_not_an_emission(header: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        Emission.parse(header)


def test_an_emission_is_identified_by_log_offset_and_number() -> None:
    folded = Folded(0, LogState(), {"c/n": (5, 1)})
    assert folded.has(Emission("c/n", 5, 1))
    assert folded.has(Emission("c/n", 5, 0))
    assert folded.has(Emission("c/n", 4, 9))
    assert not folded.has(Emission("c/n", 5, 2))
    assert not folded.has(Emission("c/n", 6, 0))
    assert not folded.has(Emission("c/m", 0, 0))


def test_a_state_is_read_as_it_was_written() -> None:
    states = {reducer.name: reducer.state() for reducer in REDUCERS}
    folded = Folded(7, LogState(minute=3, states=states), {"c/n": (5, 1)})
    codec = PartsCodec(REDUCERS)
    assert codec.decode(Stored(codec.encode(folded, Layout()).head)) == folded


def test_a_state_of_a_version_that_wrote_it_as_one_record_is_taken_over() -> None:
    states = {reducer.name: reducer.state() for reducer in REDUCERS}
    log = StateCodec(REDUCERS).encode(LogState(3, dict(states)))
    before = msgspec.msgpack.encode([7, log, {"c/n": (5, 1)}, 2, 12.5, {"p": [(4, 4)]}])
    folded = Folded(7, LogState(3, states), {"c/n": (5, 1)}, 2, 12_500).after(PublisherNumber("p", 4))
    assert PartsCodec(REDUCERS).decode(Stored(before)) == folded
