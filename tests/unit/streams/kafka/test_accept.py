"""A message is skipped, dead-lettered or accepted, and changes the state. No Kafka, no Faust."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import pytest
from aiokafka import ConsumerRecord
from hypothesis import given
from hypothesis import strategies as st

from ingest.kafka.publish import SENT, PublisherNumber
from ingest.model.records import SourceErrorRecord
from ingest.model.topics import encode_record
from ingest.normalize.dead_letters import NOT_A_RECORD
from streams.fold.fold import LogState
from streams.kafka.accept import ORIGIN, Accepted, NotARecord, Skip, accept
from streams.kafka.codec import NOTHING_FOLDED, Emission, Folded
from streams.kafka.message import FaustEvent, Headers, Message, message_of_event, message_of_record

T0 = datetime(2026, 7, 1, 12, tzinfo=UTC)
T0_MS = 1_782_907_200_000
RECORD = SourceErrorRecord(ts=T0, cluster="c", resource="nodes", error="e")
EMPTY = Folded(NOTHING_FOLDED, LogState(), {})


def message(offset: int, value: bytes = encode_record(RECORD), headers: Headers = ()) -> Message:
    return Message("x.cluster", 0, offset, T0_MS + offset, b"c", value, headers)


def test_messages_new_to_the_state_are_accepted() -> None:
    decision = accept(EMPTY, message(0))
    assert isinstance(decision, Accepted)
    assert decision.record == RECORD
    assert (decision.folded.offset, decision.folded.newest_ms) == (0, T0_MS)


def test_messages_known_to_the_state_are_skipped_without_effect() -> None:
    folded = accept(EMPTY, message(7)).folded
    assert accept(folded, message(7)) == Skip(folded)
    assert accept(folded, message(3)) == Skip(folded)
    assert isinstance(accept(folded, message(8)), Accepted)


@pytest.mark.parametrize("value", [b"", b"{", b'{"kind":"nonesuch"}', b"\xff\xfe", b"[" * 100_000])
def test_a_message_that_is_not_a_record_is_dead_lettered_once_with_its_position(value: bytes) -> None:
    decision = accept(EMPTY, message(4, value))
    assert isinstance(decision, NotARecord)
    letter = decision.letter
    assert (letter.cluster, letter.error_type) == ("", NOT_A_RECORD)
    assert str(letter.position) == "x.cluster:0@4"
    assert letter.ts == datetime(2026, 7, 1, 12, 0, 0, 4000, tzinfo=UTC)
    assert letter.payload == value[: 64 * 1024]
    assert accept(decision.folded, message(4, value)) == Skip(decision.folded)


def test_a_repeat_by_a_publisher_is_skipped_and_advances_the_offset() -> None:
    headers = [(SENT, PublisherNumber("p", 1).header())]
    folded = accept(EMPTY, message(0, headers=headers)).folded
    again = accept(folded, message(1, headers=headers))
    assert isinstance(again, Skip)
    assert again.folded.offset == 1
    assert isinstance(accept(folded, message(1, headers=[(SENT, PublisherNumber("p", 2).header())])), Accepted)


def test_a_record_that_another_log_emits_again_is_skipped() -> None:
    known = EMPTY._replace(emitted={"c/n": (5, 1)})
    for emission, kind in (
        (Emission("c/n", 5, 1), Skip),
        (Emission("c/n", 5, 2), Accepted),
        (Emission("c/m", 0, 0), Accepted),
    ):
        decision = accept(known, message(0, headers=[(ORIGIN, emission.header())]))
        assert isinstance(decision, kind)
        assert decision.folded.offset == 0
        if isinstance(decision, Accepted):
            assert decision.emission == emission


def test_headers_of_other_programs_are_ignored() -> None:
    decision = accept(EMPTY, message(0, headers=[(SENT, b"x"), (ORIGIN, b"\xff"), ("kind", b"node")]))
    assert isinstance(decision, Accepted)
    assert decision.emission is None


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 20)), max_size=30))
def test_the_given_state_is_never_mutated(sent: list[tuple[int, int]]) -> None:
    emitted = {"c/n": (5, 1)}
    folded = EMPTY._replace(emitted=emitted)
    for offset, number in sent:
        before = (folded, dict(folded.sent), folded.log.minute)
        accept(folded, message(offset, headers=[(SENT, PublisherNumber("p", number).header())]))
        assert before == (folded, dict(folded.sent), folded.log.minute)
        folded = accept(folded, message(offset, headers=[(SENT, PublisherNumber("p", number).header())])).folded
    assert emitted == {"c/n": (5, 1)}


@given(st.integers(0, 253_402_300_799_999))
def test_both_clients_give_the_same_message_in_one_unit_of_time(ms: int) -> None:
    """Faust divides by 1,000 what aiokafka gave it."""
    headers = [("kind", b"node")]
    record: ConsumerRecord[bytes, bytes] = ConsumerRecord("t", 3, 9, ms, 0, b"k", None, None, 1, -1, headers)
    inner = SimpleNamespace(topic="t", partition=3, offset=9, timestamp=ms / 1000.0, headers=headers, generation_id=1)
    event = cast("FaustEvent", SimpleNamespace(key=b"k", value=None, message=inner))
    assert message_of_record(record) == message_of_event(event) == Message("t", 3, 9, ms, b"k", b"", headers)
