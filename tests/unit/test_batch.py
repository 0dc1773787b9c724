"""What a runtime hands to landing at once."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from components.captures import pod_stats, records, summary
from components.rows import T0, row
from ingest.records import SummaryRecord
from streams.batch import Batch
from streams.findings import Eviction, EvictionSignal, NodeEvent, NodeFit, Row

TYPES: list[type[Row]] = [NodeEvent, EvictionSignal, Eviction]
CHANGES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1), st.integers(0, 9)), max_size=30)


@given(CHANGES)
def test_of_fits_of_one_node_resource_and_time_the_last_is_landed(changes: list[tuple[str, int, int]]) -> None:
    batch = Batch()
    last: dict[tuple[str, int], NodeFit] = {}
    for node, second, pods in changes:
        fit = row(NodeFit, ts=T0 + timedelta(seconds=second), node=node, resource="cpu", pods=pods)
        batch.add([fit])
        last[node, second] = fit
    assert sorted(batch.rows[NodeFit]) == sorted(last.values())
    assert batch.size == len(last)


def test_rows_of_other_tables_are_all_landed() -> None:
    batch = Batch()
    event = row(NodeEvent, name="e")
    batch.add([event, event])
    assert batch.rows[NodeEvent] == [event, event]
    assert batch.size == 2


@given(st.lists(st.sampled_from(TYPES), max_size=30), st.integers(0, 5), CHANGES)
def test_the_largest_table_goes_out_and_all_others_stay(
    kinds: list[type[Row]], samples: int, changes: list[tuple[str, int, int]]
) -> None:
    batch = Batch()
    batch.add([row(kind) for kind in kinds])
    batch.add([row(NodeFit, node=node, pods=pods) for node, _, pods in changes])
    for record in records(*(summary("12:00:00", "n", pods=[pod_stats("p")]) for _ in range(samples))):
        assert isinstance(record, SummaryRecord)
        batch.add_summary(record)
    rows = {kind: list(rows) for kind, rows in batch.rows.items()}
    size = batch.size
    taken = batch.take_largest()
    assert taken.size == max(samples, *map(len, rows.values()), 0)
    assert batch.size == size - taken.size == sum(map(len, batch.rows.values())) + len(batch.keys)
    assert {**batch.rows, **taken.rows} == rows
    assert len(taken.rows) + bool(taken.keys) == bool(size)
    for each in (taken, batch):
        assert len(each.keys) == len(each.samples) == len(each.pod_columns["uid"])
    assert len(taken.keys) + len(batch.keys) == samples


def test_a_fit_is_replaced_only_while_it_waits() -> None:
    batch = Batch()
    batch.add([row(NodeFit, pods=1)])
    taken = batch.take_largest()
    batch.add([row(NodeFit, pods=2)])
    assert [taken.rows[NodeFit], batch.rows[NodeFit]] == [[row(NodeFit, pods=1)], [row(NodeFit, pods=2)]]
    batch.add([row(NodeFit, pods=3)])
    assert batch.rows[NodeFit] == [row(NodeFit, pods=3)]
