"""Records that each reducer is given when all are folded together over every scenario and example, as in both
runtimes.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

from common.errors import BadRecord
from ingest.files.sources import read_sources
from ingest.model.observation import Observed, Unreadable
from ingest.model.records import DeadLetterRecord, Record
from ingest.normalize.normalize import normalize
from paths import CAPTURES
from streams.analytics.registry import REDUCERS
from streams.fold.fold import Fold, LogKey, LogState, Rejected
from streams.fold.reducer import LogFindings, Reducer

Given: TypeAlias = Record | LogFindings | datetime
"""The argument of a step, or the watermark that a state is to expire at."""
Logs: TypeAlias = dict[str, list[list[Given]]]
"""Records of each log, in its order, by the reducer's name."""


def given() -> Logs:
    logs: Logs = {reducer.name: [] for reducer in REDUCERS}
    for capture in CAPTURES:
        recorder = _Recorder()
        for record in records_of(read_sources([capture])):
            recorder.take(record)
        for (name, _), log in recorder.given.items():
            logs[name].append(log)
    return logs


def records_of(items: Iterable[Observed | Unreadable]) -> Iterator[Record]:
    """Return the records that reducers see, also for bad observations."""
    for item in items:
        if isinstance(item, Unreadable):
            if item.ts is not None:
                yield DeadLetterRecord(ts=item.ts, cluster=item.cluster, error_type=item.error_type)
            continue
        try:
            yield from (record.folded() for record in normalize(item.observation))
        except BadRecord as error:
            yield dead_letter(item.observation, error)


def dead_letter(of: Any, error: BadRecord) -> DeadLetterRecord:
    return DeadLetterRecord(ts=of.ts, cluster=of.cluster, error_type=error.error_type)


class _Recorder:
    def __init__(self) -> None:
        self.given: defaultdict[tuple[str, LogKey], list[Given]] = defaultdict(list)
        self._fold = Fold([self._recorded(reducer) for reducer in REDUCERS])
        self._logs: defaultdict[LogKey, LogState] = defaultdict(LogState)
        self._key = LogKey("", "")

    def take(self, record: Record) -> None:
        """Fold a record, and those that come of it."""
        self._key = LogKey(record.cluster, record.node)
        for output in self._fold.step(self._logs[self._key], record):
            if isinstance(output, Record):
                self.take(output)
            elif isinstance(output, Rejected):
                self.take(dead_letter(record, output.error))

    def _recorded(self, reducer: Reducer[Any]) -> Reducer[Any]:
        def step(state: Any, record: Any) -> Any:
            self.given[reducer.name, self._key].append(record)
            return reducer.step(state, record)

        def expire(state: Any, watermark: datetime) -> Any:
            self.given[reducer.name, self._key].append(watermark)
            return reducer.expire(state, watermark)

        return replace(reducer, step=step, expire=expire)
