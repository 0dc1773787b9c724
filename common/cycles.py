"""How often Python looks for reference cycles while millions of records pass."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

OBJECTS_BETWEEN_SEARCHES: Final = 100_000
"""Rarely: records and states are trees and have no cycles."""


@contextmanager
def rare_cycle_searches() -> Iterator[None]:
    """Search this rarely until the block ends."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS_BETWEEN_SEARCHES, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
