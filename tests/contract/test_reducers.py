"""Promises that every reducer keeps over all scenarios and examples."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

import msgspec
import pytest

from common.errors import BadRecord
from contract.given import Given, Logs, given
from ingest.model.records import Record
from streams.analytics.registry import REDUCERS
from streams.fold.fold import Fold, LogState, Rejected
from streams.fold.reducer import Output, Reducer

NEVER_EXPIRES = next(field.default for field in fields(Reducer) if field.name == "expire")
KEEPS_HISTORY = {"evictions", "numa_cluster"}
"""Their states hold a record that came twice in a row twice."""
every_reducer = pytest.mark.parametrize("reducer", REDUCERS, ids=lambda r: r.name)
encode = msgspec.msgpack.encode


@pytest.fixture(scope="module")
def logs() -> Logs:
    return given()


def call(reducer: Reducer[Any], state: Any, what: Given) -> tuple[Any, Sequence[Any]]:
    """The next state, of a key that was never seen or is forgotten where it is None; and all that comes out."""
    if isinstance(what, datetime):
        return reducer.expire(state, what)
    state = reducer.state() if state is None else state
    try:
        return reducer.step(state, what)
    except BadRecord as error:
        return state, (error,)


def run(
    reducer: Reducer[Any], log: Sequence[Given], between: Callable[[Any], Any] = lambda s: s
) -> tuple[Any, list[str]]:
    """The last state and what came out, with something done to the state between two calls."""
    state: Any = None
    outputs: list[str] = []
    for what in log:
        state, found = call(reducer, state, what)
        outputs += map(repr, found)
        state = between(state)
    return state, outputs


@every_reducer
def test_a_reducer_is_reached_and_concludes_something(reducer: Reducer[Any], logs: Logs) -> None:
    calls = [what for log in logs[reducer.name] for what in log]
    expired = sum(isinstance(what, datetime) for what in calls)
    assert len(calls) > expired, "no scenario and no example reaches its step"
    assert expired or reducer.expire is NEVER_EXPIRES, "no scenario and no example lasts until it expires"
    assert any(run(reducer, log)[1] for log in logs[reducer.name])


@every_reducer
def test_the_same_log_gives_the_same_rows_and_state(reducer: Reducer[Any], logs: Logs) -> None:
    for log in logs[reducer.name]:
        assert run(reducer, log) == run(reducer, log)


@every_reducer
def test_a_state_that_is_stored_and_read_again_anywhere_goes_on_the_same(reducer: Reducer[Any], logs: Logs) -> None:
    decode = msgspec.msgpack.Decoder(reducer.state).decode

    def stored(state: Any) -> Any:
        read = None if state is None else decode(encode(state))
        assert read == state
        return read

    for log in logs[reducer.name]:
        assert run(reducer, log, stored) == run(reducer, log)


@every_reducer
def test_a_call_changes_neither_the_state_nor_what_it_is_given(reducer: Reducer[Any], logs: Logs) -> None:
    for log in logs[reducer.name]:
        state: Any = None
        for what in log:
            before = encode((state, what))
            after, _ = call(reducer, state, what)
            assert encode((state, what)) == before
            state = after


@every_reducer
def test_a_state_is_frozen_and_made_without_arguments(reducer: Reducer[Any]) -> None:
    assert issubclass(reducer.state, msgspec.Struct)
    assert reducer.state.__struct_config__.frozen
    assert reducer.state() == reducer.state()


@pytest.mark.parametrize("reducer", [r for r in REDUCERS if not r.row_types], ids=lambda r: r.name)
def test_a_record_that_is_delivered_twice_in_a_row_changes_no_final_state(reducer: Reducer[Any], logs: Logs) -> None:
    for log in logs[reducer.name]:
        once, rows = run(reducer, log)
        twice, doubled = run(reducer, [what for what in log for _ in range(1 if isinstance(what, datetime) else 2)])
        assert set(rows) == set(doubled)
        assert once == twice or reducer.name in KEEPS_HISTORY


def test_names_are_unique() -> None:
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
