"""Makes a second folder with the rows of an embedded database, because only one process at a time can open a folder.

The files of a part never change, so they are hard links, which cost no space and survive a merge. The few other files
are copied.
"""

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sql.database.errors import DatabaseError

_PREFIX: Final = "asked-"
_LEFT_OUT: Final = ("tmp", "delete_tmp_", "detached")
"""Prefixes of files that are not rows: temporary and broken parts."""
_ROWS: Final = frozenset({"data", "metadata", "store"})
"""Folders in which the engine keeps rows; a socket or a journal may be next to them."""
_PART: Final = "checksums.txt"
_TIMES: Final = 5
_used: set[Path] = set()


@contextmanager
def snapshot(folder: Path) -> Iterator[Path]:
    """Link the open folder's content until the block ends. Raises DatabaseError without hard links or space."""
    for left in set(folder.glob(f"{_PREFIX}*")) - _used:  # left by a killed process
        shutil.rmtree(left, ignore_errors=True)
    try:
        made = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder))
    except OSError as error:
        raise _failed(folder, error) from None
    _used.add(made)
    try:
        _fill(folder, made / "db")
        yield made / "db"
    except OSError as error:
        raise _failed(folder, error) from None
    finally:
        shutil.rmtree(made, ignore_errors=True)
        _used.discard(made)


def _failed(folder: Path, error: OSError) -> DatabaseError:
    return DatabaseError(
        f"chdb://{folder}: your own SQL needs a folder of hard links inside this one: {error.strerror}. "
        "Ask a saved question, or put the database on a file system that supports them"
    )


def _fill(folder: Path, made: Path) -> None:
    """Link all parts; start again if a merge removes one meanwhile."""
    for left in reversed(range(_TIMES)):
        try:
            return _copy(folder, made, _ROWS)
        except FileNotFoundError:
            shutil.rmtree(made)
            if not left:
                raise
    return None


def _copy(folder: Path, made: Path, only: Collection[str] = ()) -> None:
    made.mkdir(0o700)
    entries = [entry for entry in os.scandir(folder) if not entry.name.startswith(_LEFT_OUT)]
    if only:
        entries = [entry for entry in entries if entry.name in only]
    copy = os.link if any(entry.name == _PART for entry in entries) else shutil.copyfile
    for entry in entries:
        target = made / entry.name
        if entry.is_symlink():
            target.symlink_to(Path(entry.path).readlink())
        elif entry.is_dir():
            _copy(Path(entry.path), target)
        else:
            copy(entry.path, target)
