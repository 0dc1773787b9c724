"""`leadsman serve` as a process, for a browser."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from components.command import start
from waiting import PATIENCE_SECONDS


@contextmanager
def serving(db: Path | str) -> Iterator[str]:
    """Its address, until the block ends."""
    process = start("serve", "--port", "0", db=db)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:[0-9]+", line)
        assert found, line
        yield found.group()
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)
