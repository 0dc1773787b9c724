"""Writes a capture into files of bounded size and age."""

import glob
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple, Protocol

from common.clock import SYSTEM
from common.private import FOLDER
from ingest.files.capture import CaptureWriter, Compression
from ingest.model.observation import Observation

_SUFFIX: Final[dict[Compression, str]] = {"none": ".jsonl", "gzip": ".jsonl.gz", "zstd": ".jsonl.zst"}
_COMPRESSIONS: Final[dict[str, Compression]] = {".gz": "gzip", ".zst": "zstd"}


class Rotation(NamedTuple):
    """The limits at which a capture continues in a new file."""

    limit_bytes: int = 256 * 1024 * 1024
    limit_seconds: float = 3600.0
    compression: Compression = "none"
    keep: int | None = None
    """Number of files to keep; None keeps all."""

    @property
    def suffix(self) -> str:
        return _SUFFIX[self.compression]


class Writer(Protocol):
    def write(self, observation: Observation) -> None: ...

    def close(self) -> None: ...


class RotatingCapture:
    """Writes `<stem>-<UTC time>-<number>.jsonl` files into a folder, and starts a new one by size or age.

    Each line reaches the operating system before the next, so a killed process loses at most its last line. A file's
    age counts from its first line. File names sort in the order of writing. At most `keep` files, at least 1, are
    kept: the oldest is deleted first.
    """

    def __init__(self, folder: Path, stem: str, *, now: Callable[[], datetime], rotation: Rotation) -> None:
        """Raises OSError if the folder cannot be created, and SourceError if the file cannot be opened."""
        folder.mkdir(FOLDER, parents=True, exist_ok=True)
        self._folder = folder
        self._stem = stem
        self._now = now
        self._rotation = rotation
        self._began_at: datetime | None = None
        self._start_file()

    def write(self, observation: Observation) -> None:
        """Append one observation, to a new file if the current one is full or old."""
        if self._is_full_or_old():
            self._writer.close()
            self._start_file()
        self._writer.write(observation)
        self._began_at = self._began_at or self._now()

    def close(self) -> None:
        self._writer.close()

    def _is_full_or_old(self) -> bool:
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            return True
        if self._began_at is None:
            return False
        age_seconds = (self._now() - self._began_at).total_seconds()
        return size >= self._rotation.limit_bytes or age_seconds >= self._rotation.limit_seconds

    def _start_file(self) -> None:
        self._began_at = None
        self.path = self._free_path()
        self._writer = CaptureWriter(self.path, self._rotation.compression)
        self._drop_oldest()

    def _free_path(self) -> Path:
        """Return an unused name, because an earlier process may have started a file in the same second."""
        start = f"{self._stem}-{self._now().strftime('%Y%m%dT%H%M%SZ')}-"
        taken = [path.name.removeprefix(start)[:4] for path in self._folder.glob(f"{glob.escape(start)}*")]
        number = max((int(text) for text in taken if text.isdecimal()), default=-1) + 1
        return self._folder / f"{start}{number:04d}{self._rotation.suffix}"

    def _drop_oldest(self) -> None:
        if self._rotation.keep is None:
            return
        ours = re.compile(re.escape(self._stem) + r"-\d{8}T\d{6}Z-\d{4}" + re.escape(self._rotation.suffix))
        files = sorted(path for path in self._folder.iterdir() if ours.fullmatch(path.name))
        for path in files[: -self._rotation.keep]:
            path.unlink()


def open_capture(out: Path, name: str, rotation: Rotation) -> Writer:
    """Open one file if `out` ends with .jsonl, .jsonl.gz or .jsonl.zst, else a folder of rotating files, named after
    `name`. Raises OSError and SourceError if it cannot be written.
    """
    if ".jsonl" in out.suffixes[-2:]:
        return CaptureWriter(out, _COMPRESSIONS.get(out.suffix, "none"))
    return RotatingCapture(out, stem(name), now=SYSTEM.now, rotation=rotation)


def stem(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)
