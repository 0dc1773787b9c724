"""Any files that hold observations, as one sequence in order of event time."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

from common.amounts import counted
from ingest.files.capture import read_capture
from ingest.files.dumps import DumpFile, Snapshot, read_dump
from ingest.files.lines import Meter, SourceError, SourceFile
from ingest.files.sniff import FileKind, file_kind, folder_files
from ingest.model.observation import Observed, Unreadable

WINDOW: Final = timedelta(seconds=5)
"""Event time over which the observations of one file are put in order; sources of one recorder race by less."""
WINDOW_OBSERVATIONS: Final = 10_000
WINDOW_BYTES: Final = 16 * 1024 * 1024
"""Bounds of the window, over all files together, counted as it was read; beyond them the oldest goes out at once."""

T = TypeVar("T")
Entry: TypeAlias = Observed | Unreadable
Timed: TypeAlias = tuple[datetime, int, T]
"""The keys of the order, the original bytes, and the result made of them."""
_FIRST: Final = datetime.min.replace(tzinfo=UTC)


def timed(entries: Iterable[Entry], made: Callable[[Entry], T]) -> Iterator[Timed[T]]:
    """Yield the result of each entry with the time that decides its place in the order.

    An observation's is its own. An unreadable entry stays behind its neighbour in the file (before the first
    observation: in front of it), because a time read from damaged bytes must not move anything.
    """
    leading: list[Entry] = []
    ts: datetime | None = None
    for entry in entries:
        if isinstance(entry, Observed):
            ts = entry.observation.ts
            for early in leading:
                yield ts, len(early.raw), made(early)
            leading.clear()
        elif ts is None and len(leading) < WINDOW_OBSERVATIONS:
            leading.append(entry)
            continue
        yield ts or _FIRST, len(entry.raw), made(entry)
    for early in leading:
        yield _FIRST, len(early.raw), made(early)


class Window(Generic[T]):
    """Puts the entries of one source in order of time, ties as they came, where disorder is within `WINDOW`.

    An entry goes out when one is pushed that is `WINDOW` later, or when the window is full. One that comes later than
    that goes out at once, out of order: what it is late for has gone.
    """

    def __init__(self, limit_bytes: int = WINDOW_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._heap: list[tuple[datetime, int, int, T]] = []
        self._newest = _FIRST + WINDOW
        self._number = 0
        self._held_bytes = 0

    def push(self, entry: Timed[T]) -> Iterator[Timed[T]]:
        """Yield what goes out now that this one is in."""
        ts, size_bytes, made = entry
        heapq.heappush(self._heap, (ts, self._number, size_bytes, made))
        self._number += 1
        self._held_bytes += size_bytes
        return self.reached(ts)

    def reached(self, ts: datetime) -> Iterator[Timed[T]]:
        """Yield what goes out now that the source's time is `ts`."""
        self._newest = max(self._newest, ts)
        while self._heap and (
            self._heap[0][0] <= self._newest - WINDOW
            or len(self._heap) > WINDOW_OBSERVATIONS
            or self._held_bytes > self._limit_bytes
        ):
            yield self._pop()

    def rest(self) -> Iterator[Timed[T]]:
        """Yield what is left."""
        while self._heap:
            yield self._pop()

    def _pop(self) -> Timed[T]:
        oldest, _, size_bytes, made = heapq.heappop(self._heap)
        self._held_bytes -= size_bytes
        return oldest, size_bytes, made


def smoothed(entries: Iterable[Timed[T]], *, window_bytes: int = WINDOW_BYTES) -> Iterator[Timed[T]]:
    """Yield the entries of one file through a `Window`."""
    window = Window[T](window_bytes)
    for entry in entries:
        yield from window.push(entry)
    yield from window.rest()


def merged(made: Callable[[Entry], T], files: Sequence[Iterable[Entry]]) -> Iterator[T]:
    """Yield what is made of the entries of all files by time, each file smoothed; ties in the order of files.

    It is made as soon as an entry is read, because it may be much smaller than its bytes. A file that was cut in
    pieces gives the same sequence as the whole one, as long as its own disorder is within the window.
    """
    window_bytes = WINDOW_BYTES // max(len(files), 1)
    streams = [smoothed(timed(entries, made), window_bytes=window_bytes) for entries in files]
    for _, _, entry in streams[0] if len(streams) == 1 else heapq.merge(*streams, key=itemgetter(0)):
        yield entry


def itself(entry: Entry) -> Entry:
    """Return the entry itself, if nothing is made of it."""
    return entry


Progress: TypeAlias = Callable[[int, int, int], None]
"""A callback for bytes read, bytes in all (both on disk, compressed or not), and observations so far."""

_PROGRESS_EVERY: Final = 256
_MOST_NAMED: Final = 5
"""Files that cannot be used, in one message."""


def read_as(
    made: Callable[[Entry], T],
    paths: Sequence[Path],
    *,
    cluster: str = "default",
    node: str = "",
    at: datetime | None = None,
    progress: Progress | None = None,
    skipped: Counter[str] | None = None,
    summaries: bool = False,
) -> Iterator[T]:
    """Yield the results of everything in the paths, in order of `ts`, ties in the order of the paths.

    A path is a capture file, a file of `kubectl get` or of a kubelet's answer, or a folder with any of these files.
    A folder can be a `kubectl cluster-info dump`, a support bundle, a must-gather or a sosreport. `cluster`, `node`
    and `at` (aware) complete a dump; a capture needs none of them. `skipped` counts the kinds of a dump's objects
    that Leadsman does not use. With `summaries` a capture's summaries are decoded at once, for a `made` that uses
    them.

    The same paths give the same sequence. Raises `SourceError` before anything is read for a missing path, or a
    folder without anything known. For files without an observation, or without a place, it raises after all the
    others.
    """
    meter = Meter()
    refused: list[SourceError] = []
    by_kind: Counter[str] = Counter() if skipped is None else skipped
    snapshot = Snapshot(cluster=cluster, node=node, at=at, skipped=by_kind, refused=refused)
    files = [noting(entries, refused) for entries in _read_paths(paths, meter, snapshot, summaries=summaries)]
    observations = 0

    def made_and_counted(entry: Entry) -> T:
        nonlocal observations
        observations += isinstance(entry, Observed) and not entry.is_implied
        return made(entry)

    for number, entry in enumerate(merged(made_and_counted, files), start=1):
        if progress is not None and number % _PROGRESS_EVERY == 0:
            progress(meter.read_bytes, meter.total_bytes, observations)
        yield entry
    if progress is not None:
        progress(meter.read_bytes, meter.total_bytes, observations)
    if refused:
        more = f"; and {counted(len(refused) - _MOST_NAMED, 'more file')}" if len(refused) > _MOST_NAMED else ""
        raise SourceError("; ".join(map(str, refused[:_MOST_NAMED])) + more)


read_sources: Final = partial(read_as, itself)
"""Give everything that the paths hold, as it was read."""


def noting(entries: Iterator[Observed | Unreadable], refused: list[SourceError]) -> Iterator[Observed | Unreadable]:
    """Yield the entries; why they end early is in `refused`, and does not stop others from being read."""
    try:
        yield from entries
    except SourceError as error:
        refused.append(error)


def _read_paths(
    paths: Sequence[Path], meter: Meter, snapshot: Snapshot, *, summaries: bool
) -> Iterator[Iterator[Observed | Unreadable]]:
    """Yield one sequence for each capture, and one for the files of all dumps together."""
    dump: list[DumpFile] = []
    for path in paths:
        captures: list[Path] = []
        if path.is_dir():
            captures, dumps = folder_files(path, snapshot.refused, snapshot.skipped)
            dump += [DumpFile(file, in_folder=True) for file in dumps]
        elif file_kind(path) is FileKind.CAPTURE:
            captures = [path]
        else:
            dump.append(DumpFile(path, in_folder=False))
        for capture in captures:
            meter.total_bytes += capture.stat().st_size
            yield _read_capture(capture, meter, summaries=summaries)
    if dump:
        meter.total_bytes += sum(file.path.stat().st_size for file in dump)
        yield read_dump(dump, meter, snapshot)


def _read_capture(path: Path, meter: Meter, *, summaries: bool) -> Iterator[Observed | Unreadable]:
    with SourceFile(path, meter) as file:
        yield from read_capture(file, summaries=summaries)
