"""The socket beside an embedded database, at which the process that holds it answers its owner's other processes."""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from common.private import FILE

SOCKET: Final = "holder.sock"
_BACKLOG: Final = 64
_CREDENTIALS: Final = struct.Struct("3i")
"""Linux' ucred: process, user, group."""
_ROOT: Final = 0


def listening(folder: Path) -> socket.socket:
    """A socket in the folder that listens, and that its owner alone may connect to. Raises OSError.

    One that a killed process left is replaced: the caller holds the database.
    """
    listener = socket.socket(socket.AF_UNIX)
    try:
        with _near(folder) as path:
            path.unlink(missing_ok=True)
            listener.bind(str(path))
            path.chmod(FILE)  # before it listens: until then nobody can connect
            listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def remove(folder: Path) -> None:
    """Remove the socket's file."""
    (folder / SOCKET).unlink(missing_ok=True)


def connected(folder: Path, timeout: float | None) -> socket.socket:
    """Connect to the process that holds the folder's database. Raises OSError, also if another user answers."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(timeout)
        with _near(folder) as path:
            connection.connect(str(path))
    except BaseException:
        connection.close()
        raise
    if is_trusted(connection.fileno(), folder.stat().st_uid):
        return connection
    connection.close()
    raise PermissionError(1, "another user's process answers there")


def is_trusted(connection: int, owner: int) -> bool:
    """Tell whether the process at the other end of this descriptor is this user's, `owner`'s or root's."""
    with socket.fromfd(connection, socket.AF_UNIX, socket.SOCK_STREAM) as same:
        found = same.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return _CREDENTIALS.unpack(found)[1] in {os.geteuid(), owner, _ROOT}


@contextmanager
def _near(folder: Path) -> Iterator[Path]:
    """The address of the socket: a path to it may be too long for one, so it begins at the open folder."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield Path(f"/proc/self/fd/{number}") / SOCKET
    finally:
        os.close(number)
