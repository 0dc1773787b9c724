"""What a runtime hands to landing at once."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from components.rows import T0, row
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


@given(st.lists(st.sampled_from(TYPES), max_size=30), st.integers(0, 30), CHANGES)
def test_the_smallest_tables_are_held_back(
    kinds: list[type[Row]], at_most: int, changes: list[tuple[str, int, int]]
) -> None:
    batch = Batch()
    batch.add([row(kind) for kind in kinds])
    batch.add([row(NodeFit, node=node, pods=pods) for node, _, pods in changes])
    before = {kind: list(rows) for kind, rows in batch.rows.items()}
    held = batch.hold_back(at_most)
    assert {**batch.rows, **held.rows} == before
    assert not batch.rows.keys() & held.rows.keys()
    assert held.size == sum(map(len, held.rows.values())) <= at_most
    assert batch.size == sum(map(len, batch.rows.values()))
    least = min((len(rows) for rows in batch.rows.values()), default=at_most + 1)
    assert held.size + least > at_most
    assert all(len(rows) <= least for rows in held.rows.values())


def test_a_fit_that_was_held_back_is_still_replaced() -> None:
    batch = Batch()
    batch.add([row(NodeFit, pods=1)])
    held = batch.hold_back(1)
    for each in (held, batch):
        each.add([row(NodeFit, pods=2)])
        assert each.rows[NodeFit] == [row(NodeFit, pods=2)]
