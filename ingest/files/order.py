"""Observations of several files in one order, that of event time."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Final, TypeAlias, TypeVar

from ingest.model.observation import Observed, Unreadable

WINDOW: Final = timedelta(seconds=5)
"""Event time over which the observations of one file are put in order; sources of one recorder race by less."""
WINDOW_OBSERVATIONS: Final = 10_000
WINDOW_BYTES: Final = 16 * 1024 * 1024
"""Bounds of the window, over all files together, counted as it was read; beyond them the oldest goes out at once."""

T = TypeVar("T")
Entry: TypeAlias = Observed | Unreadable
Timed: TypeAlias = tuple[datetime, int, T]
"""What decides the place in the order, bytes as they were read, and what was made of them."""
_FIRST: Final = datetime.min.replace(tzinfo=UTC)


def timed(entries: Iterable[Entry], made: Callable[[Entry], T]) -> Iterator[Timed[T]]:
    """Yield what is made of each entry with the time that decides its place in the order.

    An observation's is its own; an unreadable entry stays behind its neighbour in the file (before the first
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


def smoothed(entries: Iterable[Timed[T]], *, window_bytes: int = WINDOW_BYTES) -> Iterator[Timed[T]]:
    """Yield the entries of one file in order of time, ties in file order, where disorder is within the window.

    An entry goes out when one is read that is `WINDOW` later, or when the window is full. One that comes later than
    that goes out at once, out of order: what it is late for has gone.
    """
    heap: list[tuple[datetime, int, int, T]] = []
    newest = _FIRST + WINDOW
    held_bytes = 0
    for number, (ts, size_bytes, entry) in enumerate(entries):
        heapq.heappush(heap, (ts, number, size_bytes, entry))
        held_bytes += size_bytes
        newest = max(newest, ts)
        while heap and (
            heap[0][0] <= newest - WINDOW or len(heap) > WINDOW_OBSERVATIONS or held_bytes > window_bytes
        ):
            oldest, _, size_out, entry_out = heapq.heappop(heap)
            held_bytes -= size_out
            yield oldest, size_out, entry_out
    while heap:
        oldest, _, size_out, entry_out = heapq.heappop(heap)
        yield oldest, size_out, entry_out


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
    """Of which nothing is made."""
    return entry
