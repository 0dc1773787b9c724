"""Keys and headers as Kafka keeps them."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from ingest.model.records import SourceErrorRecord
from ingest.model.topics import headers_of, key_of, topics

T0 = datetime(2026, 7, 1, 12, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


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
