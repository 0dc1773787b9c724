"""The runtime without Kafka: observations in, batches out, in one process."""

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from ingest.dead_letters import EPOCH, payload_text
from ingest.identity import digest
from ingest.normalize import normalize
from ingest.observation import BadRecord, Observation, Observed, Unreadable
from ingest.records import DeadLetterRecord, Record, SummaryRecord
from ingest.topics import encode_record
from streams.batch import Batch, Sink
from streams.checkpoints import Checkpoints, Entry, Seen, StateCodec, packed, unpacked
from streams.findings import DeadLetter, Row
from streams.fold import Fold, LogKey, LogState, Rejected
from streams.reducer import Reducer

BATCH_ROWS: Final = 10_000
HELD_PART: Final = 5
"""One part in so many of a batch, the rows of its smallest tables, waits for the next one, or for the checkpoint."""
CHECKPOINT_EVERY: Final = 100_000
"""Observations between two checkpoints of a long replay."""
OBJECTS_BETWEEN_SEARCHES: Final = 100_000
"""Python looks for reference cycles so seldom while a replay runs: records and states are trees, and have none."""
SEAM: Final = timedelta(seconds=10)
"""How far before the end of the last replay the next one may begin and still go on with its states."""


@dataclass(slots=True)
class ReplayReport:
    """What a replay did. `apart` are clusters whose observations lie before those already in the database."""

    read: int = 0
    known: int = 0
    outside: int = 0
    """Not between `since` and `until`."""
    first: datetime | None = None
    last: datetime | None = None
    clusters: set[str] = field(default_factory=set)
    apart: set[str] = field(default_factory=set)
    rows: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)
    first_dead_letter: DeadLetter | None = None


class Replay:
    """Replays observations into a sink. One use: `run` once."""

    def __init__(self, reducers: Sequence[Reducer[Any]], sink: Sink, checkpoints: Checkpoints) -> None:
        self.report = ReplayReport()
        self._fold = Fold(reducers)
        self._codec = StateCodec(reducers)
        self._sink = sink
        self._checkpoints = checkpoints
        self._seen = Seen(checkpoints)
        self._logs: dict[LogKey, LogState] = {}
        self._changed: set[LogKey] = set()
        self._until: dict[str, datetime] = {}
        self._apart: dict[str, datetime] = {}
        """Of clusters that are folded by themselves: the end of what the database holds, where its states go on."""
        self._batch = Batch()

    def run(
        self,
        items: Iterable[Observed | Unreadable],
        *,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> ReplayReport:
        """Replay all; `since` is inclusive, `until` exclusive.

        What was read is stored when it returns, and also when a source raises in the middle.
        """
        with _rare_cycle_searches():
            for item in self._read(items):
                self._replay(item, since, until)
                if self._batch.size >= BATCH_ROWS:
                    self._flush(BATCH_ROWS // HELD_PART)
                if self.report.read % CHECKPOINT_EVERY == 0:
                    self._checkpoint()
            self._checkpoint()
        return self.report

    def _read(self, items: Iterable[Observed | Unreadable]) -> Iterator[Observed | Unreadable]:
        """All items; what came before one that a source could not give is stored."""
        try:
            yield from items
        except Exception:
            self._checkpoint()
            raise

    def _replay(self, item: Observed | Unreadable, since: datetime | None, until: datetime | None) -> None:
        self.report.read += 1
        if isinstance(item, Unreadable):
            self._bury_unreadable(item)
        else:
            self._observe(item, since, until)

    def _observe(self, item: Observed, since: datetime | None, until: datetime | None) -> None:
        observation = item.observation
        ts, cluster = observation.ts, observation.cluster
        if (since and ts < since) or (until and ts >= until):
            self.report.outside += 1
            return
        self.report.clusters.add(cluster)
        if not self._seen.add(cluster, ts, digest(observation)):
            self.report.known += 1
            return
        self._advance(cluster, ts)
        try:
            for record in normalize(observation):
                self._take(record, item)
        except BadRecord as error:
            self._bury(observation, item, error.error_type, str(error))

    def _advance(self, cluster: str, ts: datetime) -> None:
        if cluster not in self._until:
            self._begin(cluster, ts)
        elif cluster in self._apart and ts >= self._apart[cluster] - SEAM:
            self._resume(cluster, self._apart.pop(cluster))
        self._until[cluster] = max(self._until[cluster], ts)
        report = self.report
        report.first = min(report.first or ts, ts)
        report.last = max(report.last or ts, ts)

    def _begin(self, cluster: str, ts: datetime) -> None:
        """Decide whether this replay goes on where the last one of the cluster ended."""
        self._until[cluster] = ts
        stored = self._checkpoints.load(cluster, "until").get("")
        if stored is None:
            return
        end = datetime.fromisoformat(stored.decode())
        if ts < end - SEAM:
            self.report.apart.add(cluster)
            self._apart[cluster] = end
        else:
            self._resume(cluster, end)

    def _resume(self, cluster: str, end: datetime) -> None:
        """Go on with the states that the database holds, which are those of `end`."""
        self._until[cluster] = end
        self._changed = {key for key in self._changed if key.cluster != cluster}
        self._logs = {key: log for key, log in self._logs.items() if key.cluster != cluster}
        for node, value in self._checkpoints.load(cluster, "state").items():
            self._logs[LogKey(cluster, node)] = self._codec.decode(unpacked(value))

    def _take(self, record: Record, item: Observed | Unreadable) -> None:
        key = LogKey(record.cluster, record.node)
        log = self._logs.get(key)
        if log is None:
            log = self._logs[key] = LogState()
        self._changed.add(key)
        if isinstance(record, SummaryRecord):
            self._batch.add_summary(record)
        rows: list[Row] = []
        for output in self._fold.step(log, record):
            if isinstance(output, Record):
                self._take(output, item)
            elif isinstance(output, Rejected):
                self._bury_record(record, item, output)
            else:
                rows.append(output)
        self._batch.add(rows)

    def _bury(self, observation: Observation, item: Observed, error_type: str, reason: str) -> None:
        self._dead_letter(observation.cluster, observation.ts, item, error_type, reason, item.raw)

    def _bury_record(self, record: Record, item: Observed | Unreadable, rejected: Rejected) -> None:
        error = rejected.error
        self._dead_letter(record.cluster, record.ts, item, error.error_type, str(error), encode_record(record))

    def _bury_unreadable(self, item: Unreadable) -> None:
        if not self._seen.add(item.cluster, item.ts, digest(item)):
            self.report.known += 1
            return
        if item.ts is not None:
            self._advance(item.cluster, item.ts)
        self._dead_letter(item.cluster, item.ts or EPOCH, item, item.error_type, item.reason, item.raw)

    def _dead_letter(
        self, cluster: str, ts: datetime, item: Observed | Unreadable, error_type: str, reason: str, raw: bytes
    ) -> None:
        position = item.position
        letter = DeadLetter(cluster, ts, position.source, str(position), error_type, reason, payload_text(raw))
        self.report.dead_letters[error_type] += 1
        self.report.first_dead_letter = self.report.first_dead_letter or letter
        self._batch.add((letter,))
        if ts != EPOCH:
            self._take(DeadLetterRecord(ts=ts, cluster=cluster, error_type=error_type), item)

    def _flush(self, hold_back: int = 0) -> None:
        """Hand the batch over, but for at most so many rows of its smallest tables."""
        held = self._batch.hold_back(hold_back)
        if self._batch.size:
            for row_type, rows in self._batch.rows.items():
                self.report.rows[row_type.__name__] += len(rows)
            self._sink.write(self._batch)
        self._batch = held

    def _checkpoint(self) -> None:
        """Store all rows, then, at once, what makes the next replay go on after them."""
        self._flush()
        self._sink.drain()
        entries = self._seen.entries()
        for cluster in sorted(self._until.keys() - self._apart.keys()):
            entries.append(Entry(cluster, "until", "", self._until[cluster].isoformat().encode()))
        entries += [
            Entry(key.cluster, "state", key.node, packed(self._codec.encode(self._logs[key])))
            for key in sorted(self._changed)
            if key.cluster not in self._apart
        ]
        self._changed.clear()
        if entries:
            self._checkpoints.save(entries)


@contextmanager
def _rare_cycle_searches() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
