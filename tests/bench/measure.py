"""One measurement a process, printed as JSON: `python -m tests.bench.measure KIND CAPTURE FOLDER`.

A process of its own, because the engine opens one folder a process, and memory that was used once is seldom given
back.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from components.proc import children, peak_bytes
from ingest.files.ahead import read_ahead
from ingest.model.objects.event import Event
from ingest.model.objects.node import Node
from ingest.model.objects.pod import Pod
from ingest.model.observation import Observation
from ingest.model.records import SampleRecord
from ingest.model.summary import Summary
from ingest.normalize.decode import Decoded
from sql.database.open import Database, connect
from sql.landing.batches import SCHEMAS, DatabaseCheckpoints, Lander, settle
from sql.schema.migrate import migrate
from streams.analytics.numa import numa_cluster, numa_skew
from streams.analytics.registry import REDUCERS
from streams.analytics.scheduling import scheduling
from streams.fold.reducer import Reducer
from streams.local.replay import Replay

from .extract import extract

SUMMARY: Final = "stats/summary"
TYPES: Final[dict[str, Any]] = {SUMMARY: Summary, "pods": Pod, "nodes": Node, "events": Event}
CLICKHOUSE_THREADS: Final = 2
READ_BYTES: Final = 8 * 1024 * 1024
"""Nodes that share a replay."""
LOOK_EVERY: Final = 1000
"""Summaries between two looks at the memory of the process that reads."""


class Measured(msgspec.Struct, kw_only=True):
    """The work of one process."""

    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int
    """The most memory that the process held at once, and beside it the one that reads for it."""
    summaries: int = 0
    listing_seconds: float = 0.0
    """Wall time until the first summary: the nodes, pods and settings that a capture begins with."""
    stages: dict[str, float] = {}
    """CPU seconds of each part of a replay."""
    rows: int = 0
    """In all tables."""


class _Items:
    """Passes on what was read, and counts the summaries."""

    def __init__(self, items: Iterator[Decoded]) -> None:
        self._items = items
        self.summaries = 0
        self.first_at = 0.0
        self.reader_bytes = 0
        """The most memory that the process which reads held, when it was last looked at."""

    def __iter__(self) -> Iterator[Decoded]:
        for item in self._items:
            if item.records and isinstance(item.records[0], SampleRecord):
                self.first_at = self.first_at or time.perf_counter()
                self.summaries += 1
                if self.summaries % LOOK_EVERY == 0:
                    with suppress(OSError):
                        self.reader_bytes = sum(map(peak_bytes, children(os.getpid())))
            yield item


class _Timed(Database):
    """A database that adds up the CPU time of its inserts' own thread."""

    cpu_seconds = 0.0

    def insert(self, table: str, columns: pa.Table, token: str | None = None) -> None:
        start = time.thread_time()
        super().insert(table, columns, token)
        self.cpu_seconds += time.thread_time() - start


class _Kept(Database):
    """A database that keeps what is inserted in files too, one an insert."""

    folder: Path
    inserts = 0

    def insert(self, table: str, columns: pa.Table, token: str | None = None) -> None:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(
            str(self.folder / f"{self.inserts:09}.{table}"), columns.schema, options=options
        ) as file:
            file.write_table(columns)
        self.inserts += 1
        super().insert(table, columns, token)


def replay(capture: Path, folder: Path) -> Measured:
    """Replay as `leadsman replay` does, into a new database, until all is stored."""
    return _replay(capture, folder, REDUCERS)


def without_numa(capture: Path, folder: Path) -> Measured:
    """The same without the analytics of NUMA and of the scheduler."""
    left_out = {numa_skew.REDUCER.name, numa_cluster.REDUCER.name, scheduling.REDUCER.name}
    return _replay(capture, folder, [each for each in REDUCERS if each.name not in left_out])


def _replay(capture: Path, folder: Path, reducers: Sequence[Reducer[Any]]) -> Measured:
    with ExitStack() as stack:
        database = stack.enter_context(connect(f"chdb://{folder}"))
        migrate(database)
        timed = _Timed(database._client, database._target, database._translated)
        items = _Items(read_ahead([capture]))
        start, cpu, main = time.perf_counter(), time.process_time(), time.thread_time()
        with Lander(timed) as lander:
            report = Replay(reducers, lander, DatabaseCheckpoints(database)).run(items)
            landing = time.clock_gettime(time.pthread_getcpuclockid(lander._thread.ident or 0))
            reading = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall, cpu, main = time.perf_counter() - start, time.process_time() - cpu, time.thread_time() - main
        reading_seconds = reading.ru_utime + reading.ru_stime
        return Measured(
            wall_seconds=wall,
            cpu_seconds=cpu + reading_seconds,
            peak_bytes=peak_bytes(os.getpid()) + items.reader_bytes,
            summaries=items.summaries,
            listing_seconds=items.first_at - start,
            stages={
                "a process of its own: read lines, order, decode": reading_seconds,
                "take what it read, fold, checkpoint": main,
                "rows to columns": landing - timed.cpu_seconds,
                "insert": cpu - main - (landing - timed.cpu_seconds),
            },
            rows=sum(report.rows.values()),
        )


def kept_inserts(capture: Path, folder: Path) -> Measured:
    """A replay that leaves its inserts for `same_inserts` in the folder `inserts` beside the capture."""
    with connect(f"chdb://{folder}") as database:
        migrate(database)
        kept = _Kept(database._client, database._target, database._translated)
        kept.folder = capture.parent / "inserts"
        kept.folder.mkdir()
        began = time.perf_counter()
        with Lander(kept) as lander:
            report = Replay(REDUCERS, lander, DatabaseCheckpoints(kept)).run(read_ahead([capture]))
        settle(database)
        return _measured(began, sum(report.rows.values()))


def same_inserts(capture: Path, folder: Path) -> Measured:
    """A process that has the engine and gives it what a replay of the capture inserts, and nothing else."""
    began = time.perf_counter()
    with connect(f"chdb://{folder}") as database:
        migrate(database)
        rows = 0
        with Lander(database) as lander:
            for path in sorted((capture.parent / "inserts").iterdir()):
                columns = pa.ipc.open_stream(path.read_bytes()).read_all()
                lander._insert(path.suffix[1:], columns)
                rows += columns.num_rows
        settle(database)
    return _measured(began, rows)


def decode(capture: Path, _: Path) -> Measured:
    """Bare typed decoding of the same lines on one core: envelopes and what is in them, kept nowhere.

    Lines are read outside of what is measured, many at once, for to ask for the time takes time.
    """
    envelope = msgspec.json.Decoder(Observation).decode
    decoders = {resource: msgspec.json.Decoder(kind).decode for resource, kind in TYPES.items()}
    raw = msgspec.json.Decoder(msgspec.Raw).decode
    summaries = 0
    wall, cpu = 0.0, 0.0
    with capture.open("rb") as file:
        while lines := file.readlines(READ_BYTES):
            start, cpu_begin = time.perf_counter(), time.thread_time()
            for line in lines:
                observation = envelope(line)
                decoders.get(observation.resource, raw)(observation.object)
                summaries += observation.resource == SUMMARY
            wall += time.perf_counter() - start
            cpu += time.thread_time() - cpu_begin
    return Measured(wall_seconds=wall, cpu_seconds=cpu, peak_bytes=peak_bytes(os.getpid()), summaries=summaries)


def each_field(capture: Path, folder: Path) -> Measured:
    """ClickHouse's own way with the same lines, as its documentation shows it."""
    return _extracted(capture, folder, "each_field")


def one_tuple(capture: Path, folder: Path) -> Measured:
    """The same in the fastest form."""
    return _extracted(capture, folder, "one_tuple")


def _extracted(capture: Path, folder: Path, form: str) -> Measured:
    start, cpu = time.perf_counter(), time.process_time()
    rows = extract(capture, folder, CLICKHOUSE_THREADS, form)
    return Measured(
        wall_seconds=time.perf_counter() - start,
        cpu_seconds=time.process_time() - cpu,
        peak_bytes=peak_bytes(os.getpid()),
        rows=rows,
    )


def engine(_: Path, folder: Path) -> Measured:
    """A process that has the engine and puts one row into each table, and nothing else."""
    began = time.perf_counter()
    with connect(f"chdb://{folder}") as database:
        migrate(database)
        for table in SCHEMAS:
            database.command(f"INSERT INTO {table} (cluster) VALUES ('bench')")
    return _measured(began, len(SCHEMAS))


def _measured(began: float, rows: int) -> Measured:
    """Measure this process, which did nothing else."""
    wall_seconds = time.perf_counter() - began
    return Measured(
        wall_seconds=wall_seconds, cpu_seconds=time.process_time(), peak_bytes=peak_bytes(os.getpid()), rows=rows
    )


def measure_separately(kind: str, capture: Path, folder: Path) -> Measured:
    """One of KINDS in a process of its own, with a database in `folder`."""
    command = [sys.executable, "-m", __name__, kind, str(capture), str(folder)]
    return msgspec.json.decode(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout, type=Measured)


KINDS: Final[Mapping[str, Callable[[Path, Path], Measured]]] = {
    each.__name__: each
    for each in (replay, without_numa, kept_inserts, same_inserts, decode, each_field, one_tuple, engine)
}

if __name__ == "__main__":
    kind, capture_path, database_folder = sys.argv[1:]
    measured = KINDS[kind](Path(capture_path), Path(database_folder))
    sys.stdout.buffer.write(msgspec.json.encode(measured))
