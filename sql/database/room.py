"""Free space that a writer needs before it starts or changes the schema: a definition on a full disk is cut off."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sql.database.errors import DiskFull

if TYPE_CHECKING:
    from sql.database.open import Database

NEEDED_BYTES: Final = 64 << 20
"""The engine refuses inserts below it (`min_free_disk_bytes_to_perform_insert`)."""
_FREE: Final = "SELECT free_space FROM system.disks WHERE name = 'default'"


def check_folder(folder: Path, where: str) -> None:
    """Raises DiskFull if a writer should not open that folder, which exists."""
    disk = os.statvfs(folder)
    _check(disk.f_bavail * disk.f_frsize, where)


def check_room(db: "Database") -> None:
    """Raises DiskFull if the disk of the definitions is nearly full."""
    for (free,) in db.query(_FREE).rows:
        _check(free, str(db))


def _check(free: int, where: str) -> None:
    if free < NEEDED_BYTES:
        raise DiskFull(
            f"{where}: its disk has {free >> 20} MiB free, and writing needs at least {NEEDED_BYTES >> 20} MiB. "
            "Nothing was changed. Free some space, or use another disk"
        )
