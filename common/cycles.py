"""Makes Python look for reference cycles less often while millions of records pass."""

import gc
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

OBJECTS_BETWEEN_SEARCHES: Final = 1_000_000
"""Searches are rare, because records and states are trees and have no cycles. States are replaced all the time, so
even a search among young objects visits all of them: with 1,500 nodes it takes 0.2 s, and finds next to nothing.
"""


@contextmanager
def rare_cycle_searches() -> Iterator[None]:
    """Search this rarely until the block ends."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def forget_frames(error: BaseException) -> None:
    """Clear the local variables that a handled exception and its causes keep.

    A client's frames may point to it, so that only a search would free them. A connection with a refused certificate
    keeps 78 kB.
    """
    each: BaseException | None = error
    while each is not None:
        traceback.clear_frames(each.__traceback__)
        each = each.__cause__ or each.__context__
