"""How often Python looks for reference cycles while millions of records pass."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

OBJECTS_BETWEEN_SEARCHES: Final = 100_000
"""So seldom: records and states are trees, and have none."""


@contextmanager
def rare_cycle_searches() -> Iterator[None]:
    """Search as seldom as that until it is left."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
