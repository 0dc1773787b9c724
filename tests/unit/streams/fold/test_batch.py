"""A runtime hands batches to landing."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from components.rows import T0, row
from streams.fold.batch import Batch
from streams.fold.findings import NodeEvent, NodeFit

CHANGES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1), st.integers(0, 9)), max_size=30)


@given(CHANGES)
def test_only_the_last_fit_of_a_node_resource_and_time_is_landed(changes: list[tuple[str, int, int]]) -> None:
    batch = Batch()
    last: dict[tuple[str, int], NodeFit] = {}
    for node, second, pods in changes:
        fit = row(NodeFit, ts=T0 + timedelta(seconds=second), node=node, resource="cpu", pods=pods)
        batch.add([fit])
        last[node, second] = fit
    assert sorted(map(tuple, batch.rows[NodeFit])) == sorted(map(tuple, last.values()))
    assert batch.size == len(last)


def test_rows_of_other_tables_are_all_landed() -> None:
    batch = Batch()
    event = row(NodeEvent, name="e")
    batch.add([event, event])
    assert batch.rows[NodeEvent] == [event, event]
    assert batch.size == 2
