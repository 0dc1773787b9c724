"""Folding the records of a log: order, minutes, and what is rejected."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadRecord
from ingest.model.records import Record, SourceErrorRecord
from streams.fold.findings import DeadLetter
from streams.fold.fold import MOST_FOLLOWING, Fold, LogState, Rejected
from streams.fold.reducer import Output, Reducer

T0 = datetime(2026, 7, 1, 12, tzinfo=UTC)


class Count(msgspec.Struct, frozen=True):
    records: int = 0
    minutes: int = 0


def letter(reason: str) -> DeadLetter:
    return DeadLetter("c", T0, "", "", "", reason, "")


def count(state: Count, record: SourceErrorRecord) -> tuple[Count, Sequence[Output]]:
    counted = Count(state.records + 1, state.minutes)
    return counted, (letter(f"{record.error} {counted.records}"),)


def minute(state: Count, watermark: datetime) -> tuple[Count, Sequence[Output]]:
    return Count(state.records, state.minutes + 1), (letter(f"minute {watermark:%H:%M:%S}"),)


def record(seconds: float, error: str = "e", node: str = "n") -> SourceErrorRecord:
    return SourceErrorRecord(ts=T0 + timedelta(seconds=seconds), cluster="c", node=node, resource="r", error=error)


def reducer(name: str = "count", **changes: object) -> Reducer[Count]:
    given_ = {"log": "node", "takes": (SourceErrorRecord,), "state": Count, "step": count, "expire": minute}
    return Reducer(name=name, version=1, **(given_ | changes))  # type: ignore[arg-type]  # any field may be changed


def said(fold: Fold, log: LogState, *records: Record) -> list[str]:
    outputs = [each for one in records for each in fold.step(log, one)]
    return [each.reason if isinstance(each, DeadLetter) else str(each) for each in outputs]


def test_a_log_expires_before_the_first_record_of_each_new_minute() -> None:
    log = LogState()
    found = said(Fold([reducer()]), log, record(0), record(59), record(60), record(61), record(300))
    assert found == ["e 1", "e 2", "minute 12:01:00", "e 3", "e 4", "minute 12:05:00", "e 5"]
    assert log.states == {"count": Count(5, 2)}


def test_a_late_record_of_an_earlier_minute_expires_nothing() -> None:
    log = LogState()
    assert said(Fold([reducer()]), log, record(120), record(30), record(125)) == ["e 1", "e 2", "e 3"]


@given(st.lists(st.floats(0, 1000), max_size=30))
def test_a_log_expires_at_most_once_for_each_minute_that_it_reached(times: list[float]) -> None:
    log = LogState()
    found = said(Fold([reducer()]), log, *(record(seconds) for seconds in times))
    reached: list[int] = []
    for seconds in times:
        if not reached or seconds // 60 > reached[-1]:
            reached.append(int(seconds // 60))
    assert len([text for text in found if text.startswith("minute")]) == max(0, len(reached) - 1)


def test_a_state_that_expires_is_forgotten() -> None:
    log = LogState()
    fold = Fold([reducer(expire=lambda state, watermark: (None, (letter("gone"),)))])  # noqa: ARG005  # the contract's names
    assert said(fold, log, record(0), record(60)) == ["e 1", "gone", "e 1"]


def test_reducers_take_only_their_log_and_their_records() -> None:
    class Other(Record, frozen=True, tag="other"):
        pass

    fold = Fold([reducer("on_node"), reducer("on_cluster", log="cluster"), reducer("others", takes=(Other,))])
    node, cluster = LogState(), LogState()
    assert said(fold, node, record(0)) == ["e 1"]
    assert said(fold, cluster, record(0, node="")) == ["e 1"]
    assert node.states.keys() == {"on_node"}
    assert cluster.states.keys() == {"on_cluster"}


def test_outputs_come_in_the_order_of_the_reducers() -> None:
    def speaker(name: str) -> Reducer[Count]:
        return reducer(name, step=lambda state, _: (state, (letter(name),)))

    assert said(Fold([speaker("b"), speaker("a"), speaker("c")]), LogState(), record(0)) == ["b", "a", "c"]


def refuse(state: Count, record_: SourceErrorRecord) -> tuple[Count, Sequence[Output]]:
    if record_.error == "bad":
        raise BadRecord("wrong_value", "no sense")
    return count(state, record_)


def test_a_record_that_one_reducer_refuses_reaches_the_others() -> None:
    log = LogState()
    fold = Fold([reducer("strict", step=refuse), reducer("lenient")])
    rejected, passed = fold.step(log, record(0, "bad"))
    assert isinstance(rejected, Rejected)
    assert (rejected.reducer, rejected.error.error_type) == ("strict", "wrong_value")
    assert passed == letter("bad 1")
    assert "strict" not in log.states


def test_a_refusal_among_the_outputs_keeps_the_new_state() -> None:
    def half(state: Count, _: SourceErrorRecord) -> tuple[Count, Sequence[Output | BadRecord]]:
        return Count(state.records + 1), (letter("known"), BadRecord("unknown_text", "the rest"))

    log = LogState()
    known, rejected = Fold([reducer(step=half)]).step(log, record(0))
    assert known == letter("known")
    assert isinstance(rejected, Rejected)
    assert rejected.error.error_type == "unknown_text"
    assert log.states == {"count": Count(1)}


def test_a_reducer_that_fails_twice_loses_the_record_but_not_its_state() -> None:
    def fail(state: Count, given_: SourceErrorRecord) -> tuple[Count, Sequence[Output]]:
        if given_.error == "poison":
            raise ZeroDivisionError(state)
        return count(state, given_)

    log = LogState()
    fold = Fold([reducer("frail", step=fail), reducer("sound")])
    fold.step(log, record(0))
    rejected, passed = fold.step(log, record(1, "poison"))
    assert isinstance(rejected, Rejected)
    assert (rejected.reducer, rejected.error.error_type) == ("frail", "reducer_failed")
    assert isinstance(rejected.error.__cause__, ZeroDivisionError)
    assert passed == letter("poison 2")
    assert log.states == {"frail": Count(1), "sound": Count(2)}
    assert said(fold, log, record(2)) == ["e 2", "e 3"]


def test_a_single_failure_of_a_reducer_is_retried() -> None:
    tried: list[Count] = []

    def fail_once(state: Count, given_: SourceErrorRecord) -> tuple[Count, Sequence[Output]]:
        tried.append(state)
        if len(tried) == 1:
            raise RuntimeError
        return count(state, given_)

    assert said(Fold([reducer(step=fail_once)]), LogState(), record(0)) == ["e 1"]
    assert tried == [Count(), Count()]


def test_an_endless_chain_of_records_is_rejected_and_the_log_continues() -> None:
    def echo(state: Count, given_: SourceErrorRecord) -> tuple[Count, Sequence[Output]]:
        return count(state, given_)[0], [given_] if given_.error == "echo" else []

    log = LogState()
    fold = Fold([reducer("echo", step=echo), reducer("sound")])
    *passed, rejected = fold.step(log, record(0, "echo"))
    assert isinstance(rejected, Rejected)
    assert (rejected.reducer, rejected.error.error_type) == ("", "reducer_failed")
    assert len(passed) == MOST_FOLLOWING + 1
    assert said(fold, log, record(1)) == [f"e {MOST_FOLLOWING + 2}"]


def test_a_state_that_cannot_expire_stays_and_its_log_goes_on() -> None:
    def fail(_: Count, watermark: datetime) -> tuple[Count, Sequence[Output]]:
        raise OverflowError(watermark)

    log = LogState()
    fold = Fold([reducer("frail", expire=fail), reducer("sound")])
    fold.step(log, record(0))
    rejected, *passed = fold.step(log, record(60))
    assert isinstance(rejected, Rejected)
    assert (rejected.reducer, rejected.error.error_type) == ("frail", "reducer_failed")
    assert passed == [letter("minute 12:01:00"), letter("e 2"), letter("e 2")]
    assert log.states == {"frail": Count(2), "sound": Count(2, 1)}


@pytest.mark.parametrize("error", [MemoryError, OSError, KeyboardInterrupt, asyncio.CancelledError])
def test_an_error_that_is_not_the_records_fault_ends_the_fold(error: type[BaseException]) -> None:
    def fail(_: Count, __: SourceErrorRecord) -> tuple[Count, Sequence[Output]]:
        raise error

    log = LogState()
    with pytest.raises(error):
        Fold([reducer(step=fail)]).step(log, record(0))
    assert log.states == {}
