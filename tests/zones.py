"""The reader's time zone, for a while."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def reader_in(zone: str) -> Iterator[None]:
    """The zone as TZ names it, such as `Europe/Berlin`."""
    before = os.environ.get("TZ")
    try:
        os.environ["TZ"] = zone
        time.tzset()
        yield
    finally:
        if before is None:
            del os.environ["TZ"]
        else:
            os.environ["TZ"] = before
        time.tzset()
