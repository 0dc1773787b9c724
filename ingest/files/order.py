"""Observations of several files in one order, that of event time."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Final, Generic, TypeAlias, TypeVar

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
