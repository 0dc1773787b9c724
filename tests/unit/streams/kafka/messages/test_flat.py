"""A flat message has the columns of its table, for every table, and a sample's pods a message each."""

import json

import pytest

from common.settings import SettingsError
from components.rows import T0, row, summary
from ingest.model.topics import decode_record, encode_record, topics
from leadsman.run.settings import load
from sql.database.open import Database
from streams.fold.findings import TABLES, DeadLetter, NodeEvent
from streams.kafka.messages.flat import FLAT_TABLES, columns, flat_rows, flat_samples

ROW_TYPES = [row_type for row_type in TABLES if row_type is not DeadLetter]


def test_a_flat_message_has_the_columns_of_its_table(database: Database) -> None:
    sql = """SELECT table, groupUniqArray(name) FROM system.columns
        WHERE database = currentDatabase() AND default_kind NOT IN ('MATERIALIZED', 'ALIAS') GROUP BY table"""
    stored = {table: set(names) for table, names in database.query(sql).rows if table in FLAT_TABLES}
    assert stored == {table: set(columns(table)) for table in FLAT_TABLES}


@pytest.mark.parametrize("row_type", ROW_TYPES, ids=TABLES.__getitem__)
def test_a_row_of_each_type_is_one_object(row_type: type) -> None:
    table = TABLES[row_type]
    ((found, value),) = flat_rows({table}, [row(row_type)])
    assert found == table
    assert list(json.loads(value)) == list(columns(table))


def test_only_tables_that_were_asked_for_are_published() -> None:
    assert not list(flat_rows({"evictions", "node_samples"}, [row(NodeEvent)]))


def test_a_summary_is_a_row_of_the_node_and_one_of_each_pod_with_all_its_columns() -> None:
    pods = [{"namespace": "a", "pod": name, "memory_rss_bytes": rss} for name, rss in (("x", 7), ("y", None))]
    value = encode_record(summary(T0, "n", pods, memory_working_set_bytes=5))
    record = decode_record(value)
    of_node, *of_pods = [(table, json.loads(each)) for table, each in flat_samples(FLAT_TABLES, record, value)]
    assert of_node[0] == "node_samples"
    assert (of_node[1]["node"], of_node[1]["ts"]) == ("n", "2026-07-01T12:00:00Z")
    assert (of_node[1]["memory_working_set_bytes"], of_node[1]["memory_rss_bytes"]) == (5, None)
    assert [(table, pod["pod"], pod["memory_rss_bytes"], pod["volumes"]) for table, pod in of_pods] == [
        ("pod_samples", "x", 7, ""),
        ("pod_samples", "y", None, ""),
    ]
    assert [list(pod) for _, pod in of_pods] == [list(columns("pod_samples"))] * 2


def test_a_topic_is_named_after_its_table_and_the_prefix() -> None:
    assert topics("x").flat("evictions").name == "x.flat.evictions"


def test_an_unknown_table_is_refused_and_the_known_ones_are_named() -> None:
    assert load(work={"flat": ["evictions"]}).work.flat == ("evictions",)
    with pytest.raises(SettingsError, match=r"unknown table.*evictions"):
        load(work={"flat": ["eviction"]})
