"""Folding records into findings: what both runtimes do with a log, and the only place that calls a reducer."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from ingest.observation import BadRecord
from ingest.records import Record
from streams.reducer import Output, Reducer

EXPIRE_EVERY: Final = timedelta(minutes=1)
_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class LogKey(NamedTuple):
    """A log that is folded in its order: a node's, or (node "") its cluster's."""

    cluster: str
    node: str


class LogState(msgspec.Struct):
    """States of all reducers over one log, by the reducer's name, and the minute that the log has reached."""

    minute: int = 0
    states: dict[str, msgspec.Struct] = {}


class Rejected(NamedTuple):
    """A record that a reducer could not make sense of."""

    reducer: str
    error: BadRecord


class Fold:
    """The reducers over the logs of one runtime. States are replaced, never changed in place."""

    def __init__(self, reducers: Sequence[Reducer[Any]]) -> None:
        self._by_log: dict[str, tuple[Reducer[Any], ...]] = {
            log: tuple(r for r in reducers if r.log == log) for log in ("node", "cluster")
        }
        self._takers: defaultdict[tuple[str, type[Record]], tuple[Reducer[Any], ...]] = defaultdict(tuple)
        for reducer in reducers:
            for record_type in reducer.takes:
                self._takers[reducer.log, record_type] += (reducer,)

    def step(self, log: LogState, record: Record) -> Iterator[Output | Rejected]:
        """Fold one record of a log into its states; yields what the reducers conclude."""
        kind = "node" if record.node else "cluster"
        minute = (record.ts - _EPOCH) // EXPIRE_EVERY
        if minute > log.minute:
            log.minute = minute
            yield from self._expire(log, kind, record.ts)
        for reducer in self._takers[kind, type(record)]:
            state = log.states.get(reducer.name)
            try:
                log.states[reducer.name], outputs = reducer.step(reducer.state() if state is None else state, record)
            except BadRecord as error:
                yield Rejected(reducer.name, error)
            else:
                for output in outputs:
                    yield Rejected(reducer.name, output) if isinstance(output, BadRecord) else output

    def _expire(self, log: LogState, kind: str, watermark: datetime) -> Iterator[Output]:
        for reducer in self._by_log[kind]:
            state = log.states.get(reducer.name)
            if state is None:
                continue
            state, outputs = reducer.expire(state, watermark)
            if state is None:
                del log.states[reducer.name]
            else:
                log.states[reducer.name] = state
            yield from outputs
