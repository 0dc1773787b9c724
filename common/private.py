"""Files that only their owner can read: those that Leadsman writes, and the secrets that it is given."""

import os
import shlex
import stat
from pathlib import Path
from typing import BinaryIO, Final, Literal

from common.errors import FilesUnusable
from common.text import plain

FILE: Final = 0o600
FOLDER: Final = 0o700
_MOUNTED: Final = (Path("/run/secrets"), Path("/var/run/secrets"))
"""Folders in which container runtimes mount secrets, and Kubernetes a service account's token."""


def open_private(path: Path, mode: Literal["ab", "wb"]) -> BinaryIO:
    """Open a file for writing. A new file gets mode 0600; an existing one keeps its mode. Raises OSError."""
    mode_flag = os.O_APPEND if mode == "ab" else os.O_TRUNC
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | mode_flag, FILE), mode)


def check_secret(path: Path) -> None:
    """Raise FilesUnusable for a password or token that every user of this machine can read, and OSError like `stat`.

    Mounts of a container runtime or a kubelet pass: they are as private as the container, and the process that reads
    them cannot change their mode.
    """
    real = path.resolve()
    is_reachable = all(folder.stat().st_mode & stat.S_IXOTH for folder in real.parents)
    if is_reachable and bool(real.stat().st_mode & stat.S_IROTH) and not _is_mounted(path):
        raise FilesUnusable(
            f"{plain(path)} can be read by every user of this machine. Run chmod 600 {plain(shlex.quote(str(path)))}"
        )


def _is_mounted(path: Path) -> bool:
    by_itself = path.stat().st_dev != path.parent.stat().st_dev
    by_kubelet = (path.parent / "..data").is_symlink()
    return by_itself or by_kubelet or any(path.absolute().is_relative_to(each) for each in _MOUNTED)
