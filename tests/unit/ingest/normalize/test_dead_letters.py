"""Dead letters as Kafka and a row keep them."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadRecord
from ingest.model.observation import Position
from ingest.model.records import DeadLetterRecord
from ingest.normalize.dead_letters import EPOCH, NOT_A_RECORD, PAYLOAD_BYTES, Letter
from ingest.normalize.redact import kept

T0 = datetime(2026, 7, 1, 12, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TIMES = st.integers(0, 230 * 365 * 24 * 3600 - 1).map(lambda seconds: EPOCH + timedelta(seconds=seconds))
"""In 1970 to 2199."""


@given(TEXTS, TIMES, TEXTS, TEXTS, TEXTS, TEXTS, st.binary(max_size=20))
def test_a_dead_letter_is_read_as_it_was_written(
    cluster: str, ts: datetime, source: str, place: str, error_type: str, reason: str, payload: bytes
) -> None:
    letter = Letter(cluster, ts, Position(source, place), error_type, reason, payload)
    assert Letter.read(letter.headers(), letter.payload) == letter


@given(st.lists(st.tuples(st.sampled_from(["ts", "cluster", "reason", "x"]), st.binary(max_size=20))))
def test_headers_of_someone_else_are_read_as_far_as_they_go(headers: list[tuple[str, bytes]]) -> None:
    assert Letter.read(headers, b"").ts.tzinfo is not None


def test_a_time_without_its_zone_is_none() -> None:
    assert Letter.read([("ts", b"2026-07-01T12:00:00")], b"").ts == EPOCH


def test_a_payload_is_cut_wherever_it_comes_from_and_is_text_whatever_it_was() -> None:
    long = b"\xff" * (PAYLOAD_BYTES + 1)
    of = Letter.of("c", T0, Position("f", "1"), BadRecord("not_json", "cut"), long)
    read = Letter.read(of.headers(), long)
    assert of.text == read.text == "\ufffd" * PAYLOAD_BYTES
    assert kept(long) == long[:PAYLOAD_BYTES]


def test_the_analytics_count_one_that_has_a_time() -> None:
    error, position = BadRecord("not_json", "cut"), Position("f", "1")
    assert Letter.of("c", T0, position, error, b"").record() == DeadLetterRecord(
        ts=T0, cluster="c", error_type="not_json"
    )
    assert Letter.of("c", None, position, error, b"").record() is None


def test_a_message_that_is_no_record_is_of_no_cluster() -> None:
    letter = Letter.undecodable(Position("x.nodes", "0@7"), T0, b"{", ValueError("truncated"))
    assert letter == Letter("", T0, Position("x.nodes", "0@7"), NOT_A_RECORD, "truncated", b"{")
