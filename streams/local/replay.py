"""The runtime without Kafka: turns observations into batches in one process, with a log for each node."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from common.cycles import rare_cycle_searches
from common.errors import BadRecord
from ingest.model.records import DeadLetterRecord, ForgetRecord, Record, SampleRecord, SettingsRecord
from ingest.model.topics import encode_record
from ingest.normalize.dead_letters import Letter
from ingest.normalize.decode import Decoded
from ingest.normalize.redact import kept
from streams.fold.batch import Batch, Sink
from streams.fold.checkpoints import Checkpoints, Entry, InMemory, KnownDigests, StateCodec, packed, unpacked
from streams.fold.findings import Row
from streams.fold.fold import Fold, LogKey, LogState, Rejected
from streams.fold.passes import Passes
from streams.fold.reducer import AnyReducer, Output, Reducer, Withdrawal


class Logs:
    """Holds a log for each cluster and node. A log's states are stored as an entry of kind `state`, by node."""

    def __init__(self, reducers: Sequence[AnyReducer]) -> None:
        self._fold = Fold(reducers)
        self._codec = StateCodec(reducers)
        self._logs: dict[LogKey, LogState] = {}
        self._changed: set[LogKey] = set()

    def step(self, record: Record, *, keeps: bool = False) -> Sequence[Output | Rejected]:
        """Fold a record into its log; return the conclusions. With `keeps` an expired log is not forgotten first."""
        key = LogKey(record.cluster, record.node)
        log = self._logs.get(key)
        if log is None:
            log = self._logs[key] = LogState()
        self._changed.add(key)
        concluded = self._fold.step(log, record, keeps=keeps)
        if not log.states:
            self._logs.pop(key, None)
        return concluded

    def has(self, record: Record) -> bool:
        return LogKey(record.cluster, record.node) in self._logs

    def resume(self, cluster: str, stored: Mapping[str, bytes]) -> None:
        """Replace all logs of a cluster with the stored ones, given by node."""
        self._changed = {key for key in self._changed if key.cluster != cluster}
        self._logs = {key: log for key, log in self._logs.items() if key.cluster != cluster}
        for node, value in stored.items():
            if value:
                self._logs[LogKey(cluster, node)] = self._codec.decode(unpacked(value))

    def changed(self, separate: Collection[str]) -> Iterator[Entry]:
        """Yield the logs changed since the last call, empty for forgotten ones; none for separate clusters."""
        for key in sorted(self._changed):
            if key.cluster not in separate:
                log = self._logs.get(key)
                yield Entry(key.cluster, "state", key.node, b"" if log is None else packed(self._codec.encode(log)))
        self._changed.clear()


BATCH_ROWS: Final = 4_000
CHECKPOINT_EVERY: Final = 100_000
"""Observations between two checkpoints of a long replay."""
NEVER: Final = datetime.max.replace(tzinfo=UTC)
SEAM: Final = timedelta(seconds=10)
"""A replay that begins at most this long before the end of the last one still continues with its states."""


@dataclass(slots=True)
class ReplayReport:
    """The result of a replay. `separate` lists clusters of which the database had later observations."""

    read: int = 0
    known: int = 0
    outside: int = 0
    """Number of observations outside `since` and `until`."""
    first: datetime | None = None
    last: datetime | None = None
    clusters: set[str] = field(default_factory=set)
    separate: set[str] = field(default_factory=set)
    rows: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)
    first_dead_letter: Letter | None = None
    in_part: Counter[str] = field(default_factory=Counter)
    """Dead letters by file."""


class Replay:
    """Folds observations into a sink: `run` reads a whole source, `take` and `checkpoint` follow a live one."""

    def __init__(
        self,
        reducers: Sequence[Reducer[Any]],
        sink: Sink,
        checkpoints: Checkpoints | None,
        passes: Passes | None = None,
        *,
        resumes: bool = False,
    ) -> None:
        """Without checkpoints, no other replay can continue this one, and the states of logs are not saved.

        `passes` withdraw conclusions of earlier passes over a dump that this one replaces. With `resumes`, everything
        follows the database's content, independent of its time, because clocks may be set back.
        """
        self.report = ReplayReport()
        self._resumes = resumes
        self._logs = Logs(reducers)
        self._sink = sink
        self._checkpoints = InMemory() if checkpoints is None else checkpoints
        self._is_last = checkpoints is None
        self._seen = KnownDigests(self._checkpoints)
        self._until: dict[str, datetime] = {}
        self._apart: dict[str, datetime] = {}
        """Clusters folded without their stored states, with the end of the stored data, where those states resume."""
        self._answered: set[LogKey] = set()
        """Logs of nodes whose kubelets answered with their settings."""
        self._facts: set[str] = set()
        """Clusters with a dump that is folded without the stored states."""
        self._passes = passes
        self._batch = Batch()

    def run(self, items: Iterable[Decoded]) -> ReplayReport:
        """Replay all. Everything read is stored when it returns, and also when a source raises in the middle."""
        due = CHECKPOINT_EVERY
        with rare_cycle_searches():
            for item in self._read(items):
                self.take(item)
                if self._batch.size >= BATCH_ROWS:
                    self.write()
                if self.report.read >= due:
                    due = self.report.read + CHECKPOINT_EVERY
                    self.store()
                    self.checkpoint([*self._passes.unsaved()] if self._passes else ())
            self._end()
        return self.report

    def _read(self, items: Iterable[Decoded]) -> Iterator[Decoded]:
        """Yield all items; if the source fails, the items before that are stored."""
        try:
            yield from items
        except Exception:
            self._end()
            raise

    def _end(self) -> None:
        self.store()
        if self._passes is None:
            self.checkpoint()
            return
        rows, entries = self._passes.end_pass()
        again = Batch()
        again.add(rows)
        if again.size:
            self._sink.write(again)
        self.checkpoint(entries)

    def take(self, item: Decoded) -> None:
        """Fold one observation. One that the database holds is skipped, unless its dump is folded separately."""
        if self._is_new(item):
            for record in item.records:
                if item.numbers is not None and isinstance(record, SampleRecord):
                    self._batch.add_sample(record, item.numbers)
            self._fold(item)

    def _is_new(self, item: Decoded) -> bool:
        """Count an item, and tell whether it must be folded. If so, its cluster's time advances to the item's."""
        counts = not item.is_implied
        self.report.read += counts
        if item.outside:
            self.report.outside += counts
            return False
        if item.observed:
            self.report.clusters.add(item.cluster)
        is_known = not self._seen.add(item.cluster, item.ts, item.digest)
        self.report.known += is_known and counts
        if item.fact and item.ts is not None and item.cluster not in self._until:
            self._start_dump(item.cluster, item.ts)
        if self._passes:
            self._passes.read(item)
        if is_known and not (item.cluster in self._facts and (item.fact or not item.observed)):
            return False
        if item.ts is not None:
            self._advance(item.cluster, item.ts)
        return True

    def _start_dump(self, cluster: str, ts: datetime) -> None:
        """Begin a dump of a cluster. If the database has the cluster already, the dump is folded without its states.

        Rows with the same identity replace each other.
        """
        if self._passes:
            self._passes.start_pass(cluster)
        if self._checkpoints.load(cluster, "until").get("") is None:
            self._start_cluster(cluster, ts)
        else:
            self._until[cluster] = ts
            self._facts.add(cluster)
            self._apart[cluster] = NEVER

    def _fold(self, item: Decoded) -> None:
        for record in item.records:
            self._fold_record(record, item)
        if item.bad is not None:
            error_type, reason, raw = item.bad
            self._dead_letter(item.cluster, item.ts, item, BadRecord(error_type, reason), raw)

    def _advance(self, cluster: str, ts: datetime) -> None:
        if cluster not in self._until:
            self._start_cluster(cluster, ts)
        elif cluster in self._apart and ts >= self._apart[cluster] - SEAM:
            self._resume(cluster, self._apart.pop(cluster))
        self._until[cluster] = max(self._until[cluster], ts)
        report = self.report
        report.first = min(report.first or ts, ts)
        report.last = max(report.last or ts, ts)

    def _start_cluster(self, cluster: str, ts: datetime) -> None:
        self._until[cluster] = ts
        stored = self._checkpoints.load(cluster, "until").get("")
        if stored is None:
            return
        end = datetime.fromisoformat(stored.decode())
        if ts < end - SEAM and not self._resumes:
            self.report.separate.add(cluster)
            self._apart[cluster] = end
        else:
            self._resume(cluster, end)

    def _resume(self, cluster: str, end: datetime) -> None:
        """Continue with the stored states, which are those of `end`."""
        self._until[cluster] = end
        self._logs.resume(cluster, self._checkpoints.load(cluster, "state"))

    def _fold_record(self, record: Record, item: Decoded) -> None:
        if isinstance(record, SettingsRecord):
            key = LogKey(record.cluster, record.node)
            if record.intended_by and key in self._answered:
                return
            if not record.intended_by:
                self._answered.add(key)
        rows: list[Row] = []
        for output in self._logs.step(record, keeps=bool(item.fact)):
            if isinstance(output, Record):
                self._fold_record(output, item)
            elif isinstance(output, Rejected):
                raw = encode_record(item.published(record))
                counted = not isinstance(record, DeadLetterRecord)
                self._dead_letter(record.cluster, record.ts, item, output.error, raw, counted=counted)
            elif not isinstance(output, Withdrawal):
                rows.append(output)
        self._batch.add(rows)
        if isinstance(record, ForgetRecord) and not self._logs.has(record):
            self._answered.discard(LogKey(record.cluster, record.node))

    def _dead_letter(
        self, cluster: str, ts: datetime | None, item: Decoded, error: BadRecord, raw: bytes, *, counted: bool = True
    ) -> None:
        """Add a dead letter.

        One caused by another dead letter's record is not counted again, because that could repeat forever.
        """
        letter = Letter.of(cluster, ts, item.position, error, kept(raw))
        self.report.dead_letters[letter.error_type] += 1
        self.report.first_dead_letter = self.report.first_dead_letter or letter
        self.report.in_part[item.position.source] += 1
        self._batch.add_dead_letter(letter)
        if counted and (record := letter.record()) is not None:
            self._fold_record(record, item)

    @property
    def waiting_rows(self) -> int:
        """Return the size of the rows that the sink does not have yet, as `Batch.size` counts it."""
        return self._batch.size

    def store(self) -> None:
        """Store all rows so far, and return when the sink has them. This saves no checkpoint."""
        self.write()
        self._sink.drain()

    def write(self) -> None:
        """Hand the rows since the last call to the sink."""
        if self._batch.size:
            for row_type, rows in self._batch.rows.items():
                self.report.rows[row_type.__name__] += len(rows)
                if self._passes:
                    self._passes.concluded(row_type, rows)
            self._sink.write(self._batch)
            self._batch = Batch()

    def checkpoint(self, entries: Sequence[Entry] = ()) -> None:
        """Store all rows, then save `entries` and what the next replay resumes from, all or none."""
        self.store()
        entries = [*entries, *self._seen.entries()]
        if not self._is_last:
            for cluster in sorted(self._until.keys() - self._apart.keys()):
                entries.append(Entry(cluster, "until", "", self._until[cluster].isoformat().encode()))
            entries += self._logs.changed(self._apart)
        if entries:
            self._checkpoints.save(entries)
