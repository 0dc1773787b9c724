"""Folds records into findings, for both `streams.kafka` and `streams.local`: no other module calls a reducer."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from common.errors import BadRecord
from ingest.model.records import ForgetRecord, HeartbeatRecord, InventoryRecord, LogBeganRecord, NodeRecord, Record
from ingest.normalize.times import with_possible_times
from streams.fold.forgetting import FORGOTTEN_AFTER
from streams.fold.reducer import REDUCER_FAILED, LogFindings, Output, Reducer, call_with_retry, retry

EXPIRE_EVERY: Final = timedelta(minutes=1)
MOST_FOLLOWING: Final = 8
"""Maximum length of a chain of records of one log in which each one is emitted by folding the one before."""
_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class LogKey(NamedTuple):
    """A log that is folded in its order: a node's, or a cluster's if `node` is empty."""

    cluster: str
    node: str


class LogState(msgspec.Struct):
    """States of all reducers over one log, by the reducer's name, and the minute that the log has reached."""

    minute: int = 0
    states: dict[str, msgspec.Struct] = {}
    exists: bool = False
    """True if the node of the log was seen, and not deleted since."""


class Rejected(NamedTuple):
    """A record that makes no sense to a reducer, or on which a reducer failed."""

    reducer: str
    """Empty if no single reducer failed."""
    error: BadRecord


class Fold:
    """Runs the reducers over the logs of one runtime. `step` updates a LogState in place, and replaces states."""

    def __init__(self, reducers: Sequence[Reducer[Any]]) -> None:
        self._by_log: dict[str, tuple[Reducer[Any], ...]] = {
            log: tuple(r for r in reducers if r.log == log) for log in ("node", "cluster")
        }
        self._by_record: defaultdict[tuple[str, type[Record]], tuple[Reducer[Any], ...]] = defaultdict(tuple)
        for reducer in reducers:
            for record_type in reducer.takes:
                self._by_record[reducer.log, record_type] += (reducer,)
        self._forgets = bool(self._by_record["cluster", LogBeganRecord])
        self._of_rows = {
            log: [(r, frozenset(r.row_types)) for r in of_log if r.row_types] for log, of_log in self._by_log.items()
        }

    def step(self, log: LogState, record: Record, *, keeps: bool = False) -> list[Output | Rejected]:
        """Fold one record of a log into its states; return what the reducers conclude, in the order of `reducers`.

        Impossible times are taken out of the record first, and rejected. A record that a reducer emits for the same
        log is folded right after this one; a chain of more than MOST_FOLLOWING is cut and rejected. A reducer that
        fails keeps its state, and the others fold on. MemoryError and OSError are raised: the record must then be
        folded again from the old states. A log whose last state is dropped counts as new at its next record.

        With `keeps` nothing is forgotten first: a dump is a set of facts, and no time passes between two of them.
        """
        record, impossible = with_possible_times(record)
        concluded = self._fold_or_forget(log, record, keeps=keeps)
        return concluded if impossible is None else [*concluded, Rejected("", impossible)]

    def _fold_or_forget(self, log: LogState, record: Record, *, keeps: bool) -> list[Output | Rejected]:
        """Fold the record, and forget the log first if its node has been gone for FORGOTTEN_AFTER.

        A log that is new, or new again, is registered with its cluster's log, because only that one can later order
        it to be forgotten.
        """
        if not (record.node and self._forgets):
            return self._fold(log, record)
        over_at = _EPOCH + EXPIRE_EVERY * log.minute + FORGOTTEN_AFTER
        is_over = bool(log.states) and not log.exists and record.ts >= over_at and not keeps
        if isinstance(record, ForgetRecord):
            if not log.states or log.exists:
                return []
            concluded = self._forget(log, record, over_at) if is_over else []
            return [*concluded, *(_registration(record, log) if log.states else ())]
        is_new, existed = is_over or not log.states, log.exists
        concluded = self._forget(log, record, over_at) if is_over else []
        if isinstance(record, InventoryRecord) and not log.states:
            return concluded  # the log has no state to forget
        concluded += self._fold(log, record)
        is_new |= log.exists and not existed
        return [*concluded, *(_registration(record, log) if is_new and log.states else ())]

    def _forget(self, log: LogState, record: Record, at: datetime) -> list[Output | Rejected]:
        """Fold a ForgetRecord, and drop all states but those of reducers that take it and are not initial then.

        `at` depends on the log and not on `record`, so that every runtime concludes the same rows.
        """
        order = ForgetRecord(ts=at, cluster=record.cluster, node=record.node)
        concluded = self._fold(log, order)
        initial = {reducer.name: reducer.state() for reducer in self._by_record["node", ForgetRecord]}
        log.states = {name: state for name, state in log.states.items() if name in initial and state != initial[name]}
        return concluded

    def _fold(self, log: LogState, record: Record, following: int = 0) -> list[Output | Rejected]:
        kind = "node" if record.node else "cluster"
        if isinstance(record, NodeRecord):
            log.exists = record.change != "DELETED"
        concluded: list[Output | Rejected] = []
        minute = (record.ts - _EPOCH) // EXPIRE_EVERY
        # a runtime may deliver the cluster's records anywhere in a node's log: they must not advance its minute
        is_of_cluster = isinstance(record, HeartbeatRecord) or (
            isinstance(record, InventoryRecord) and not log.exists
        )
        new_minute = minute > log.minute and not (record.node and is_of_cluster)
        if new_minute:
            log.minute = minute
            for reducer in self._by_log[kind]:
                concluded += _expire(reducer, log.states, record.ts)
        for reducer in self._by_record[kind, type(record)]:
            concluded += _step(reducer, log.states, record)
        for reducer, row_types in self._of_rows[kind]:
            rows: list[Any] = [each for each in concluded if type(each) in row_types]
            if rows or (new_minute and reducer.name in log.states):
                concluded += _step(reducer, log.states, LogFindings(record.ts, record.node, new_minute, rows))
        passed_on: list[Output | Rejected] = []
        same_log: list[Record] = []
        for each in concluded:
            if isinstance(each, Record) and each.node == record.node:
                same_log.append(each)
            else:
                passed_on.append(each)
        for each in same_log:
            passed_on += self._fold_emitted(log, each, following)
        return passed_on

    def _fold_emitted(self, log: LogState, record: Record, following: int) -> list[Output | Rejected]:
        if following < MOST_FOLLOWING:
            return self._fold(log, record, following + 1)
        return [Rejected("", BadRecord(REDUCER_FAILED, f"{type(record).__name__} follows from itself without end"))]


def _registration(record: Record, log: LogState) -> list[Output | Rejected]:
    """Return the record that registers a node's log with its cluster's, at the minute that the node's log has
    reached.
    """
    at = _EPOCH + EXPIRE_EVERY * log.minute
    uid = record.object.metadata.uid if isinstance(record, NodeRecord) else ""
    return [LogBeganRecord(ts=at, cluster=record.cluster, target=record.node, uid=uid)]


def _step(reducer: Reducer[Any], states: dict[str, msgspec.Struct], given: Any) -> Sequence[Output | Rejected]:
    name = reducer.name
    state = states.get(name)
    if state is None:
        state = reducer.state()
    try:
        states[name], outputs = reducer.step(state, given)
    except Exception as error:  # noqa: BLE001  # as `call_with_retry` does, without its call for every record
        try:
            states[name], outputs = retry(name, error, reducer.step, state, given)
        except BadRecord as bad:
            return [Rejected(name, bad)]
    return [Rejected(name, each) if isinstance(each, BadRecord) else each for each in outputs] if outputs else ()


def _expire(
    reducer: Reducer[Any], states: dict[str, msgspec.Struct], watermark: datetime
) -> Sequence[Output | Rejected]:
    state = states.get(reducer.name)
    if state is None:
        return ()
    try:
        state, outputs = call_with_retry(reducer.name, reducer.expire, state, watermark)
    except BadRecord as error:
        return [Rejected(reducer.name, error)]
    if state is None:
        del states[reducer.name]
    else:
        states[reducer.name] = state
    return outputs
