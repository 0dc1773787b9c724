"""Reads files of observations as one sequence in order of event time."""

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Final, Generic, TypeAlias, TypeVar

from common.amounts import counted
from ingest.files.capture import read_capture
from ingest.files.contexts import by_kubectl_context
from ingest.files.dumps import DumpContext, DumpFile, read_dump
from ingest.files.lines import Meter, SourceError, SourceFile
from ingest.files.sniff import FileKind, file_kind, folder_files
from ingest.files.unread import only_skipped
from ingest.model.observation import Observed, Unreadable

WINDOW: Final = timedelta(seconds=5)
"""Maximum disorder in one file that is corrected, in event time. Sources that one recorder writes differ by less."""
WINDOW_OBSERVATIONS: Final = 10_000
"""Maximum number of entries in the window of one file. A full window yields its oldest entry at once."""
WINDOW_BYTES: Final = 16 * 1024 * 1024
"""Maximum bytes in the windows of all files together, measured before conversion."""

T = TypeVar("T")
Entry: TypeAlias = Observed | Unreadable
Timed: TypeAlias = tuple[datetime, int, T]
"""The time that determines the order, the number of bytes read, and the result."""
_FIRST: Final = datetime.min.replace(tzinfo=UTC)


def timed(
    entries: Iterable[Entry], convert: Callable[[Entry], T], *, window_bytes: int = WINDOW_BYTES
) -> Iterator[Timed[T]]:
    """Yield the result of each entry with the time that determines its place in the order.

    An observation has its own time. An unreadable entry gets that of the observation before it, because a time read
    from damaged bytes could be wrong. If none came before, it gets the time of the first one. If more wait for that
    than fit a window, the earliest get a time before all others.
    """
    leading: deque[Entry] = deque()
    leading_bytes = 0
    ts: datetime | None = None
    for entry in entries:
        if isinstance(entry, Observed):
            ts = entry.observation.ts
            for early in leading:
                yield ts, len(early.raw), convert(early)
            leading.clear()
        elif ts is None:
            leading.append(entry)
            leading_bytes += len(entry.raw)
            while len(leading) > WINDOW_OBSERVATIONS or leading_bytes > window_bytes:
                early = leading.popleft()
                leading_bytes -= len(early.raw)
                yield _FIRST, len(early.raw), convert(early)
            continue
        yield ts, len(entry.raw), convert(entry)
    for early in leading:
        yield _FIRST, len(early.raw), convert(early)


class Window(Generic[T]):
    """Sorts the entries of one source by time, if their disorder is within `WINDOW`; ties keep their order.

    An entry leaves when one at least `WINDOW` newer is pushed, or when the window is full. An entry that arrives too
    late leaves at once, out of order, because its successors have left already.
    """

    def __init__(self, limit_bytes: int = WINDOW_BYTES) -> None:
        self._limit_bytes = limit_bytes
        self._heap: list[tuple[datetime, int, int, T]] = []
        self._newest = _FIRST + WINDOW  # `datetime.min - WINDOW` would overflow
        self._number = 0
        self._held_bytes = 0

    def push(self, entry: Timed[T]) -> Iterator[Timed[T]]:
        """Add an entry, and yield those whose place is now certain."""
        ts, size_bytes, result = entry
        heapq.heappush(self._heap, (ts, self._number, size_bytes, result))
        self._number += 1
        self._held_bytes += size_bytes
        return self.advance_to(ts)

    def advance_to(self, ts: datetime) -> Iterator[Timed[T]]:
        """Advance the source's time to `ts`, and yield the entries whose place is now certain."""
        self._newest = max(self._newest, ts)
        while self._heap and (
            self._heap[0][0] <= self._newest - WINDOW
            or len(self._heap) > WINDOW_OBSERVATIONS
            or self._held_bytes > self._limit_bytes
        ):
            yield self._pop()

    def drain(self) -> Iterator[Timed[T]]:
        while self._heap:
            yield self._pop()

    def _pop(self) -> Timed[T]:
        oldest, _, size_bytes, result = heapq.heappop(self._heap)
        self._held_bytes -= size_bytes
        return oldest, size_bytes, result


def in_order(entries: Iterable[Timed[T]], *, window_bytes: int = WINDOW_BYTES) -> Iterator[Timed[T]]:
    """Yield the entries of one file in order of time, as far as a `Window` can restore it."""
    window = Window[T](window_bytes)
    for entry in entries:
        yield from window.push(entry)
    yield from window.drain()


def merged(convert: Callable[[Entry], T], files: Sequence[Iterable[Entry]]) -> Iterator[T]:
    """Convert the entries of all files, and yield the results in order of time; ties in the order of files.

    An entry is converted before it waits in a window, because the result may be much smaller. A file that was split
    gives the same sequence as the whole file, if its own disorder is within the window.
    """
    window_bytes = WINDOW_BYTES // max(len(files), 1)
    streams = [
        in_order(timed(entries, convert, window_bytes=window_bytes), window_bytes=window_bytes) for entries in files
    ]
    for _, _, result in streams[0] if len(streams) == 1 else heapq.merge(*streams, key=itemgetter(0)):
        yield result


def identity(entry: Entry) -> Entry:
    """Return the entry itself, for readers that convert nothing."""
    return entry


Progress: TypeAlias = Callable[[int, int, int], None]
"""A callback for bytes read, bytes in all (both on disk, compressed or not), and observations so far."""

_PROGRESS_EVERY: Final = 256
_MOST_NAMED: Final = 5
"""Maximum number of unusable files that one error names."""


def read_converted(
    convert: Callable[[Entry], T],
    paths: Sequence[Path],
    *,
    cluster: str = "default",
    node: str = "",
    at: datetime | None = None,
    progress: Progress | None = None,
    skipped: Counter[str] | None = None,
    summaries: bool = False,
) -> Iterator[T]:
    """Yield the results of everything in the paths, in order of `ts`; ties: captures in path order, then dumps.

    A path is a capture, a file of a dump, or a folder with such files. A file of a dump has Kubernetes objects, a
    kubelet's answer, metrics, tables and other pasted text, or log lines. A folder can be a
    `kubectl cluster-info dump`, a support bundle, a must-gather or a sosreport. `cluster`, `node` and `at` (aware)
    complete a dump; a capture needs none of them. `skipped` counts the kinds of a dump's objects that Leadsman does
    not use. With `summaries`, a capture's summaries are decoded at once, for a `convert` that uses them. The same
    paths give the same sequence.

    Raises `SourceError` before anything is yielded for a missing path, or a folder without known files. Files without
    an observation, or without a known node, are skipped; one `SourceError` at the end names up to five of them.
    Another says so if everything was skipped.
    """
    meter = Meter()
    errors: list[SourceError] = []
    by_kind: Counter[str] = Counter() if skipped is None else skipped
    dump_context = DumpContext(cluster=cluster, node=node, at=at, skipped=by_kind, errors=errors)
    files = [
        collecting_errors(entries, errors) for entries in _read_paths(paths, meter, dump_context, summaries=summaries)
    ]
    observations = 0

    def convert_and_count(entry: Entry) -> T:
        nonlocal observations
        observations += isinstance(entry, Observed) and not entry.is_implied
        return convert(entry)

    number = 0
    for number, result in enumerate(merged(convert_and_count, files), start=1):
        if progress is not None and number % _PROGRESS_EVERY == 0:
            progress(meter.read_bytes, meter.total_bytes, observations)
        yield result
    if progress is not None:
        progress(meter.read_bytes, meter.total_bytes, observations)
    if by_kind and not number and not errors:
        raise only_skipped(", ".join(map(str, paths)), by_kind)
    if errors:
        more = f"; and {counted(len(errors) - _MOST_NAMED, 'more file')}" if len(errors) > _MOST_NAMED else ""
        raise SourceError("; ".join(map(str, errors[:_MOST_NAMED])) + more)


read_sources: Final = partial(read_converted, identity)
"""Yields everything in the paths as it was read."""


def collecting_errors(
    entries: Iterator[Observed | Unreadable], errors: list[SourceError]
) -> Iterator[Observed | Unreadable]:
    """Yield entries. A SourceError ends them and is added to `errors`, so that other files are still read."""
    try:
        yield from entries
    except SourceError as error:
        errors.append(error)


def _read_paths(
    paths: Sequence[Path], meter: Meter, dump_context: DumpContext, *, summaries: bool
) -> Iterator[Iterator[Observed | Unreadable]]:
    """Yield one sequence for each capture, and one for the dump files of each kubectl context."""
    dump_files: list[DumpFile] = []
    for path in paths:
        captures: list[Path] = []
        if path.is_dir():
            captures, found = folder_files(path, dump_context.errors, dump_context.skipped)
            dump_files += [DumpFile(file, in_folder=True) for file in found]
        elif file_kind(path) is FileKind.CAPTURE:
            captures = [path]
        else:
            dump_files.append(DumpFile(path, in_folder=False))
        for capture in captures:
            meter.total_bytes += capture.stat().st_size
            yield _read_capture(capture, meter, summaries=summaries)
    for cluster, files in by_kubectl_context(dump_files, dump_context.errors).items():
        meter.total_bytes += sum(file.path.stat().st_size for file in files)
        yield read_dump(files, meter, dump_context._replace(cluster=cluster or dump_context.cluster))


def _read_capture(path: Path, meter: Meter, *, summaries: bool) -> Iterator[Observed | Unreadable]:
    with SourceFile(path, meter) as file:
        yield from read_capture(file, summaries=summaries)
