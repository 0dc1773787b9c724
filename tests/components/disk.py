"""A small disk of its own that a test fills and frees: a tmpfs, where this machine lets us mount one."""

import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from components.programs.cache import tool

MIB: Final = 1 << 20
BLOCK: Final = 1 << 16


class Disk:
    """`folder` holds at most `mib` MiB while it is entered; OSError where it cannot be mounted."""

    def __init__(self, folder: Path, mib: int) -> None:
        self.folder = folder
        self._mib = mib
        self._ballast = folder / "ballast"

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        mount = [tool("mount"), "-t", "tmpfs", "-o", f"size={self._mib}m", "tmpfs", str(self.folder)]
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(done.stderr.strip())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        subprocess.run([tool("umount"), "--lazy", str(self.folder)], check=True, capture_output=True)

    def leave(self, mib: int) -> None:
        """At most this much is free afterwards, taken in one step; called again, what became free since is taken."""
        found = os.statvfs(self.folder)
        surplus = found.f_bavail * found.f_frsize - mib * MIB
        if surplus > 0:
            with self._ballast.open("ab") as ballast:
                os.posix_fallocate(ballast.fileno(), ballast.tell(), surplus)

    def fill(self) -> None:
        """Not a byte is free afterwards."""
        with self._ballast.open("ab", buffering=0) as ballast:
            try:
                while ballast.write(bytes(BLOCK)):
                    pass
            except OSError:
                return

    def protect(self) -> None:
        """Nothing can be written afterwards."""
        subprocess.run([tool("mount"), "-o", "remount,ro", str(self.folder)], check=True, capture_output=True)

    def free(self) -> None:
        """Undo `fill`."""
        self._ballast.unlink(missing_ok=True)


@cache
def why_no_disk() -> str:
    """Return the reason why no disk can be mounted here (it takes root); empty if one can."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with Disk(Path(folder) / "disk", 1):
                return ""
        except OSError as error:
            return f"no file system can be mounted here: {error}"
