"""What every reducer promises, over the records of the real recording (style.md 15)."""

import copy
import inspect
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.errors import BadRecord
from ingest.files.sources import read_sources
from ingest.model.observation import Observed
from ingest.model.records import Record
from ingest.normalize.normalize import normalize
from streams.analytics.registry import REDUCERS
from streams.fold.fold import Fold, LogKey, LogState, Rejected
from streams.fold.reducer import Output, Reducer

EXAMPLES = sorted(Path(__file__).parents[2].glob("examples/*.jsonl.gz"))


def records() -> list[Record]:
    found: list[Record] = []
    for item in read_sources(EXAMPLES):
        assert isinstance(item, Observed), item
        found += normalize(item.observation)
    return found


@pytest.fixture(scope="module")
def logs() -> dict[LogKey, list[Record]]:
    """Records by log, in their order."""
    found: dict[LogKey, list[Record]] = {}
    for record in records():
        found.setdefault(LogKey(record.cluster, record.node), []).append(record)
    return found


def fold(reducer: Reducer[Any], log: list[Record], state: LogState | None = None) -> tuple[LogState, list[Output]]:
    folded = LogState() if state is None else state
    outputs = [each for record in log for each in Fold([reducer]).step(folded, record)]
    assert not [each for each in outputs if isinstance(each, Rejected)]
    return folded, [each for each in outputs if not isinstance(each, Rejected)]


def of_kind(reducer: Reducer[Any], logs: dict[LogKey, list[Record]]) -> Iterator[list[Record]]:
    for key, log in logs.items():
        if bool(key.node) == (reducer.log == "node"):
            yield log


@pytest.mark.parametrize("reducer", REDUCERS, ids=lambda r: r.name)
def test_the_same_log_gives_the_same_rows_and_state(reducer: Reducer[Any], logs: dict[LogKey, list[Record]]) -> None:
    for log in of_kind(reducer, logs):
        assert fold(reducer, log) == fold(reducer, log)


@pytest.mark.parametrize("reducer", REDUCERS, ids=lambda r: r.name)
def test_a_state_that_is_stored_and_read_again_goes_on_the_same(
    reducer: Reducer[Any], logs: dict[LogKey, list[Record]]
) -> None:
    for log in of_kind(reducer, logs):
        whole = fold(reducer, log)
        for cut in (1, len(log) // 3, len(log) // 2, len(log) - 1):
            before, first = fold(reducer, log[:cut])
            stored = {name: msgspec.msgpack.encode(state) for name, state in before.states.items()}
            read = {name: msgspec.msgpack.decode(value, type=reducer.state) for name, value in stored.items()}
            assert read == before.states
            after, second = fold(reducer, log[cut:], LogState(before.minute, read))
            assert (after, first + second) == whole


@pytest.mark.parametrize("reducer", REDUCERS, ids=lambda r: r.name)
def test_a_step_changes_neither_state_nor_record(reducer: Reducer[Any], logs: dict[LogKey, list[Record]]) -> None:
    for log in of_kind(reducer, logs):
        state = reducer.state()
        for record in (r for r in log[:400] if isinstance(r, reducer.takes)):
            kept = (copy.deepcopy(state), copy.deepcopy(record))
            after, _ = reducer.step(state, record)
            assert (state, record) == kept
            state = after


@pytest.mark.parametrize("reducer", REDUCERS, ids=lambda r: r.name)
def test_a_state_is_frozen_and_made_without_arguments(reducer: Reducer[Any]) -> None:
    assert issubclass(reducer.state, msgspec.Struct)
    assert reducer.state.__struct_config__.frozen
    assert reducer.state() == reducer.state()


@pytest.mark.parametrize("reducer", REDUCERS, ids=lambda r: r.name)
def test_a_record_that_is_delivered_twice_in_a_row_changes_no_final_state(
    reducer: Reducer[Any], logs: dict[LogKey, list[Record]]
) -> None:
    for log in of_kind(reducer, logs):
        once, rows = fold(reducer, log)
        twice, doubled = fold(reducer, [record for record in log for _ in range(2)])
        assert {repr(row) for row in rows} == {repr(row) for row in doubled}
        if reducer.name != "evictions":  # it keeps the last two samples, and twice the same is two
            assert once == twice


def test_names_are_unique_and_modules_are_named_for_them() -> None:
    names = [reducer.name for reducer in REDUCERS]
    assert len(set(names)) == len(names)


def test_no_analytic_or_rule_reads_a_clock() -> None:
    for reducer in REDUCERS:
        source = inspect.getsource(inspect.getmodule(reducer.step))  # type: ignore[arg-type]
        assert "now(" not in source
        assert "today(" not in source


def test_a_rejected_record_leaves_the_state_as_it_was() -> None:
    class Count(msgspec.Struct, frozen=True):
        seen: int = 0

    def step(state: Count, record: Record) -> tuple[Count, tuple[Output, ...]]:
        if record.cluster == "bad":
            raise BadRecord("wrong_value", "no")
        return Count(state.seen + 1), ()

    reducer = Reducer("count", 1, "cluster", (Record,), Count, step)
    log = LogState()
    made = [
        Record(ts=datetime.fromisoformat("2026-01-01T00:00:00Z"), cluster=name) for name in ("good", "bad", "good")
    ]
    rejected = [each for record in made for each in Fold([reducer]).step(log, record)]
    assert [each.error.error_type for each in rejected if isinstance(each, Rejected)] == ["wrong_value"]
    assert log.states["count"] == Count(2)
