"""One measurement a process, printed as JSON: `python -m tests.bench.measure NAME FOLDER FILE...`.

A process of its own, because the engine opens one folder a process and memory that was used once is seldom given back.
"""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from ingest.lines import SourceFile
from ingest.objects import Event, Node, Pod
from ingest.observation import Observation, Observed, Unreadable
from ingest.sources import read_sources
from ingest.summary import Summary
from sql.checkpoints import DatabaseCheckpoints
from sql.database import Database, connect
from sql.landing import Lander
from sql.migrate import migrate
from sql.schema import POD_SAMPLES, SCHEMAS
from streams.analytics.registry import REDUCERS
from streams.embedded import Replay

from .extract import EXTRACT, TABLE

SUMMARIES: Final = "stats/summary"


class Measured(msgspec.Struct):
    """What one process did."""

    summaries: int
    bytes: int
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int = 0
    """The most memory that the process ever held (VmHWM)."""
    stages: dict[str, float] = {}
    """CPU seconds of each part."""
    rows: dict[str, int] = {}
    """Of each table."""


class _Clock:
    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def stop(self, summaries: int, paths: list[Path]) -> Measured:
        return Measured(
            summaries=summaries,
            bytes=sum(path.stat().st_size for path in paths),
            wall_seconds=time.perf_counter() - self._wall,
            cpu_seconds=time.process_time() - self._cpu,
        )


class _Counted:
    """Passes observations on, counts the summaries, and adds up the CPU time that reading them took."""

    def __init__(self, items: Iterator[Observed | Unreadable]) -> None:
        self._items = items
        self.summaries = 0
        self.cpu_seconds = 0.0

    def __iter__(self) -> Iterator[Observed | Unreadable]:
        while True:
            begin = time.thread_time()
            item = next(self._items, None)
            self.cpu_seconds += time.thread_time() - begin
            if item is None:
                return
            if isinstance(item, Observed) and item.observation.resource == SUMMARIES:
                self.summaries += 1
            yield item


class _TimedDatabase:
    """Passes everything on to a database, and adds up the CPU time that its inserts took in the calling thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.insert = self._insert
        self.cpu_seconds = 0.0
