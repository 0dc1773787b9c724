"""Makes Python search for reference cycles less often while millions of records pass."""

import gc
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

OBJECTS_BETWEEN_SEARCHES: Final = 1_000_000
"""Number of new objects between two searches.

Records and states are trees without cycles, so searches rarely find any. States are replaced all the time, so even a
search among young objects visits all of them: 0.2 s with 1,500 nodes.
"""
FULL_SEARCH_SECONDS: Final = 300.0
YOUNG_SEARCH_SECONDS: Final = 5.0
SHARE: Final = 500
"""Searches of one kind take at most one part in this many of the CPU time."""
_YOUNG, _ALL = 1, 2
"""Generations of Python's garbage collector."""


@contextmanager
def rare_cycle_searches() -> Iterator[None]:
    """Search rarely until the block ends."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@asynccontextmanager
async def timed_searches() -> AsyncIterator[None]:
    """Search by time until the block ends: for a process that runs for months.

    - Young objects: once in YOUNG_SEARCH_SECONDS. A failed request leaves a cycle of its exception and its
      connection, and while Kafka is down a client makes tens of them a second. Python's own search would come after
      OBJECTS_BETWEEN_SEARCHES. Until then they spread over memory that is not returned to the system.
    - All objects: once in FULL_SEARCH_SECONDS, for those that survived a search. Python's own would come after a
      hundred searches of young objects, which no process reaches.

    After a search of all objects, freed memory is returned to the system. glibc keeps it if anything behind it is in
    use: a worker that had read its states three times held 109 MiB like this, of 134.
    """
    from common.tasks import detached  # noqa: PLC0415  # as below

    searching = [detached(_search(_YOUNG, YOUNG_SEARCH_SECONDS)), detached(_search(_ALL, FULL_SEARCH_SECONDS))]
    try:
        yield
    finally:
        for each in searching:
            each.cancel()


async def _search(generation: int, pause_seconds: float) -> None:
    import asyncio  # noqa: PLC0415  # commands that end soon do without it

    took = 0.0
    while True:
        await asyncio.sleep(max(pause_seconds, SHARE * took))
        began = time.thread_time()
        gc.collect(generation)
        if generation == _ALL:
            _give_back()
        took = time.thread_time() - began


def _give_back() -> None:
    """Do nothing unless the C library is glibc."""
    from ctypes import CDLL  # noqa: PLC0415  # commands that end soon do without it

    give_back = getattr(CDLL(None), "malloc_trim", None)
    if give_back is not None:
        give_back(0)


def forget_frames(error: BaseException) -> None:
    """Clear the local variables that a handled exception and its causes keep.

    A client's frames can point back to the exception, so that only a search would free them. A connection with a
    refused certificate keeps 78 kB.
    """
    each: BaseException | None = error
    while each is not None:
        traceback.clear_frames(each.__traceback__)
        each = each.__cause__ or each.__context__
