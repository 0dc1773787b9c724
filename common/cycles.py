"""Makes Python look for reference cycles less often while millions of records pass."""

import asyncio
import gc
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from common.tasks import detached

OBJECTS_BETWEEN_SEARCHES: Final = 1_000_000
"""Searches are rare, because records and states are trees and have no cycles. States are replaced all the time, so
even a search among young objects visits all of them: with 1,500 nodes it takes 0.2 s, and finds next to nothing.
"""
FULL_SEARCH_SECONDS: Final = 300.0
SHARE: Final = 500
"""Full searches take at most one part in this many of the time."""


@contextmanager
def rare_cycle_searches() -> Iterator[None]:
    """Search this rarely until the block ends."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


@asynccontextmanager
async def full_searches() -> AsyncIterator[None]:
    """Search everything once in FULL_SEARCH_SECONDS until the block ends: for a process that runs for months.

    Python's own full search would come after a hundred searches among young objects: in no process's life. A failed
    request leaves a cycle of its exception and its connection, which may have outlived a search by then.
    """
    searching = detached(_search_fully())
    try:
        yield
    finally:
        searching.cancel()


async def _search_fully() -> None:
    took = 0.0
    while True:
        await asyncio.sleep(max(FULL_SEARCH_SECONDS, SHARE * took))
        began = time.perf_counter()
        gc.collect()
        took = time.perf_counter() - began


def forget_frames(error: BaseException) -> None:
    """Clear the local variables that a handled exception and its causes keep.

    A client's frames may point to it, so that only a search would free them. A connection with a refused certificate
    keeps 78 kB.
    """
    each: BaseException | None = error
    while each is not None:
        traceback.clear_frames(each.__traceback__)
        each = each.__cause__ or each.__context__
