"""Standard input as a file: what it holds is known by its first bytes, and a dump is read more than once."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from common.private import open_private

PIPED: Final = Path("-")


@contextmanager
def on_disk(paths: Sequence[Path]) -> Iterator[Sequence[Path]]:
    """The paths; `-` is a file with all of standard input, which is there while the block lasts. Raises OSError."""
    if PIPED not in paths:
        yield paths
        return
    with TemporaryDirectory(prefix="leadsman-") as folder:
        file = Path(folder) / "standard-input"
        with open_private(file, "wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield [file if path == PIPED else path for path in paths]
