"""The embedded engine: chDB over a folder with enough free space, open in one process at a time.

A full disk or a power loss can truncate the definition of a view, and the engine refuses such a folder. `migrate`
recreates every missing view, so the definition can be deleted.
"""

import fcntl
import os
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, closing
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from common.private import FOLDER
from sql.database.dsn import Embedded
from sql.database.errors import DatabaseError, DatabaseHeld, DiskFull, EngineMissing
from sql.database.without import without

VIEWS: Final = Path(__file__).parents[1] / "schema" / "views"
_HALF_REPLACED: Final = "_tmp_replace_"
"""Prefix of the name of a view that will replace another one."""


def mend(folder: Path) -> list[Path]:
    """Delete such definitions and return them; change nothing else. Raises OSError."""
    views = {file.stem for file in VIEWS.glob("*.sql")}
    damaged = [
        file
        for file in folder.glob("metadata/*/*.sql")
        if (file.stem in views or file.stem.startswith(_HALF_REPLACED)) and not _is_whole(file)
    ]
    for file in damaged:
        file.unlink()
    return damaged


def _is_whole(file: Path) -> bool:
    text = file.read_bytes()
    return text.endswith(b"\n") and b"\0" not in text


if TYPE_CHECKING:
    from sql.database.open import Database

NEEDED_BYTES: Final = 64 << 20
"""Free bytes below which the engine refuses inserts (`min_free_disk_bytes_to_perform_insert`)."""
_FREE: Final = "SELECT free_space FROM system.disks WHERE name = 'default'"


def check_folder(folder: Path, where: str) -> None:
    """Check the disk of an existing folder. Raises DiskFull if a writer should not open it."""
    disk = os.statvfs(folder)
    _check(disk.f_bavail * disk.f_frsize, where)


def check_room(db: "Database") -> None:
    """Check the disk of the definitions. Raises DiskFull if it is nearly full."""
    for (free,) in db.query(_FREE).rows:
        _check(free, str(db))


def _check(free: int, where: str) -> None:
    if free < NEEDED_BYTES:
        raise DiskFull(
            f"{where}: its disk has {free >> 20} MiB free, and writing needs at least {NEEDED_BYTES >> 20} MiB. "
            "Nothing was changed. Free some space, or use another disk"
        )


ENGINE_SETTINGS: Final = Path(__file__).parent / "embedded.xml"
"""Settings of the engine itself, not of a connection."""
READER: Final = Path(__file__).parent / "reader.xml"
"""The engine's user if the database is opened to read: it has no grant to write, nor for files or addresses."""
ALLOCATOR: Final = "dirty_decay_ms:200,muzzy_decay_ms:0"
"""Settings of the engine's jemalloc, which by default keeps freed memory for seconds: 50 to 150 MiB during a
replay.
"""
ENGINE_FILES: Final = frozenset({"status", "metadata", "store"})
"""Content of a database's folder; a database without tables has only `tmp`."""
REASON: Final = 2000
"""Number of characters of an engine's message that are shown."""


def options(*, read_only: bool) -> Mapping[str, str]:
    """Options with which the engine is started; they hold for this process until the engine is closed."""
    settings = {"config-file": str(ENGINE_SETTINGS)}
    return settings | {"users_config": str(READER)} if read_only else settings


def load(target: Embedded, *, read_only: bool) -> None:
    """Import the engine, and check that the folder is a database or empty; a missing folder is created.

    A writer also needs room on the disk, and deletes truncated views. Call it in the main thread, because it changes
    how libraries are loaded. Raises EngineMissing, DatabaseHeld, DiskFull or DatabaseError.
    """
    os.environ.setdefault("JE_MALLOC_CONF", ALLOCATOR)
    try:
        if "chdb.state" not in sys.modules:
            with without("pyarrow"):  # only chDB's own Arrow functions need it
                _import_engine()
    except ImportError:
        raise EngineMissing(
            f"{target}: the embedded engine is not installed: in a checkout, pipx install --force '.[embedded]'. "
            "Or give a server, http://user:password@host:8123/leadsman"
        ) from None
    folder = target.folder
    try:
        folder.mkdir(FOLDER, parents=True, exist_ok=True)
        content = {entry.name for entry in folder.iterdir()}
    except OSError as error:
        raise DatabaseError(f"{target}: the folder cannot be used: {error.strerror}. Name another folder") from None
    if content and content != {"tmp"} and not content & ENGINE_FILES:
        raise DatabaseError(f"{target}: the folder has other files and no database. Name a new or empty folder")
    holder = _holder(folder)
    if holder is not None:
        raise DatabaseHeld(
            f"{target}: process {holder} holds this database. Wait for it to end, or use another folder"
        )
    if not os.access(folder, os.W_OK):
        raise DatabaseError(
            f"{target}: the folder is not writable, but the engine writes even to read. Copy it to another disk, "
            "or check who may write there"
        )
    if not read_only:
        check_folder(folder, str(target))
        mend(folder)


def _import_engine() -> None:
    """Import only chDB's connections: its package would start another engine, to ask for its version.

    Raises ImportError.
    """
    spec = find_spec("chdb")
    if spec is None:
        raise ModuleNotFoundError(name="chdb")
    package = sys.modules["chdb"] = module_from_spec(spec)
    flags = sys.getdlopenflags()
    sys.setdlopenflags(flags | getattr(os, "RTLD_DEEPBIND", 0))  # as chDB does, for its own allocator
    try:
        import_module("chdb._chdb")
    finally:
        sys.setdlopenflags(flags)
    vars(package)["connect"] = import_module("chdb.state").connect


def started(target: Embedded, *, read_only: bool) -> AbstractContextManager[Any]:
    """Return a new connection to the engine; the first one starts it. Any thread may call this after `load`.

    Starting takes at least 0.1 s, without the interpreter's lock. Raises DatabaseHeld or DatabaseError.
    """
    try:
        chosen = urlencode(options(read_only=read_only))
        return closing(import_module("chdb").connect(f"{os.path.realpath(target.folder)}?{chosen}"))
    except RuntimeError as error:
        if "already initialized with path" in str(error):
            raise DatabaseHeld(f"{target}: this process has another database folder open; close that first") from None
        reason = " ".join(str(error).split())[:REASON]
        raise DatabaseError(
            f"{target}: the engine cannot open the folder: {reason}. "
            f"If a full disk damaged a view, this repairs it: leadsman migrate --db {target}"
        ) from None


def _holder(folder: Path) -> str | None:
    """Return the pid of another process that has the folder open: the engine locks its file `status`."""
    try:
        with (folder / "status").open("rb") as status:
            try:
                fcntl.flock(status, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                words = status.read(200).decode(errors="replace").split()
                pid = words[1] if len(words) > 1 and words[0] == "PID:" else "(unknown)"
                return None if pid == str(os.getpid()) else pid
    except OSError:
        return None  # the file does not exist yet; the engine reports other problems
    return None
