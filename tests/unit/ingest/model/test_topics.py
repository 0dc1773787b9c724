"""Keys, headers and states as Kafka keeps them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.model.observation import Position
from ingest.model.records import SourceErrorRecord
from ingest.model.topics import headers_of, key_of, topics
from ingest.normalize.dead_letters import EPOCH, PAYLOAD_BYTES, Buried, payload_text, read_headers
from streams.analytics.registry import REDUCERS
from streams.fold.fold import LogState
from streams.kafka.codec import NOTHING_FOLDED, Emission, Folded, TableCodec

T0 = datetime(2026, 7, 1, 12, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TIMES = st.datetimes(timezones=st.just(UTC), min_value=datetime(1970, 1, 1))  # noqa: DTZ001  # hypothesis wants it so


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_two_logs_have_two_keys(cluster: str, node: str, other_cluster: str, other_node: str) -> None:
    same = (cluster, node) == (other_cluster, other_node)
    assert (key_of(cluster, node) == key_of(other_cluster, other_node)) == same


def test_a_slash_in_a_name_does_not_make_it_another_log_s() -> None:
    assert len({key_of("a/b", "c"), key_of("a", "b/c"), key_of("a%2Fb", "c"), key_of("a/b/c", "")}) == 4
    assert key_of("prod", "node-1") == b"prod/node-1"
    assert key_of("prod", "") == b"prod"


def test_a_record_s_headers_are_its_kind_and_cloudevents() -> None:
    record = SourceErrorRecord(ts=T0, cluster="c", node="n", resource="nodes", error="e")
    assert dict(headers_of(record, "file:7#0")) == {
        "kind": b"source_error",
        "ce_specversion": b"1.0",
        "ce_id": b"file:7#0",
        "ce_source": b"/leadsman/clusters/c",
        "ce_type": b"dev.leadsman.record.source_error.v1",
        "ce_subject": b"n",
        "ce_time": b"2026-07-01T12:00:00Z",
        "content-type": b"application/json",
    }


def test_a_record_without_a_node_is_on_its_cluster_s_log() -> None:
    catalogue = topics("x", partitions=3)
    record = SourceErrorRecord(ts=T0, cluster="c", resource="nodes", error="e")
    assert catalogue.of(record).name == "x.cluster"
    assert catalogue.of(SourceErrorRecord(ts=T0, cluster="c", node="n", resource="r", error="e")).name == "x.nodes"
    assert {topic.partitions for topic in catalogue} == {3}


@given(TEXTS, TIMES, TEXTS, TEXTS, TEXTS, TEXTS)
def test_a_dead_letter_s_headers_are_read_as_they_were_written(
    cluster: str, ts: datetime, source: str, place: str, error_type: str, reason: str
) -> None:
    buried = Buried(cluster, ts, Position(source, place), error_type, reason)
    assert read_headers(buried.headers()) == buried


@given(st.lists(st.tuples(st.sampled_from(["ts", "cluster", "reason", "x"]), st.binary(max_size=20))))
def test_headers_of_someone_else_are_read_as_far_as_they_go(headers: list[tuple[str, bytes]]) -> None:
    assert read_headers(headers).ts.tzinfo is not None


def test_a_time_without_its_zone_is_none() -> None:
    assert read_headers([("ts", b"2026-07-01T12:00:00")]).ts == EPOCH


def test_a_payload_is_cut_and_is_text_whatever_it_was() -> None:
    assert payload_text(b"\xff" * (PAYLOAD_BYTES + 1)) == "\ufffd" * PAYLOAD_BYTES


@given(TEXTS, st.integers(0, 1 << 62), st.integers(0, 1 << 20))
def test_an_emission_s_header_is_read_as_it_was_written(origin: str, offset: int, number: int) -> None:
    assert Emission.parse(Emission(origin, offset, number).header()) == Emission(origin, offset, number)


@pytest.mark.parametrize("header", [b"", b"1 2", b"a b c", b"1.0 2 c", b"\xff \xff \xff"])
def test_another_header_is_no_emission(header: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        Emission.parse(header)


def test_what_was_emitted_is_known_by_its_log_its_offset_and_its_number() -> None:
    folded = Folded(0, LogState(), {"c/n": (5, 1)})
    assert folded.has(Emission("c/n", 5, 1))
    assert folded.has(Emission("c/n", 5, 0))
    assert folded.has(Emission("c/n", 4, 9))
    assert not folded.has(Emission("c/n", 5, 2))
    assert not folded.has(Emission("c/n", 6, 0))
    assert not folded.has(Emission("c/m", 0, 0))


def test_a_state_of_a_key_that_was_never_seen_has_nothing() -> None:
    assert TableCodec(REDUCERS).decode(None) == Folded(NOTHING_FOLDED, LogState(), {})


def test_a_state_is_read_as_it_was_written() -> None:
    states = {reducer.name: reducer.state() for reducer in REDUCERS}
    folded = Folded(7, LogState(minute=3, states=states), {"c/n": (5, 1)})
    codec = TableCodec(REDUCERS)
    assert codec.decode(codec.encode(folded)) == folded
