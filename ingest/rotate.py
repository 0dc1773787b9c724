"""A capture in files of bounded size and age."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from ingest.capture import CaptureWriter, Compression
from ingest.observation import Observation

_SUFFIX: Final[dict[Compression, str]] = {"none": ".jsonl", "gzip": ".jsonl.gz", "zstd": ".jsonl.zst"}


class RotatingCapture:
    """Writes `<stem>-<UTC time>-<number>.jsonl` files into a folder and begins a new one by size or age.

    Each line reaches the operating system before the next, so a process that is killed loses at most its last line.
    File names sort in the order in which they were written; `keep` bounds their number, oldest first to go.
    """

    def __init__(
        self,
        folder: Path,
        stem: str,
        *,
        now: Callable[[], datetime],
        limit_bytes: int = 256 * 1024 * 1024,
        limit_seconds: float = 3600.0,
        compression: Compression = "none",
        keep: int | None = None,
    ) -> None:
        """Raises OSError where the folder cannot be made, SourceError where the file cannot be opened."""
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._stem = stem
        self._now = now
        self._limit_bytes = limit_bytes
        self._limit_seconds = limit_seconds
        self._compression = compression
        self._keep = keep
        self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def write(self, observation: Observation) -> None:
        """Append one observation, to a new file where the present one is full or old."""
        if self._is_over():
            self._writer.close()
            self._open()
        self._writer.write(observation)

    def close(self) -> None:
        self._writer.close()

    def _is_over(self) -> bool:
        size = self.path.stat().st_size
        age = (self._now() - self._opened_at).total_seconds()
        return size > 0 and (size >= self._limit_bytes or age >= self._limit_seconds)

    def _open(self) -> None:
        self._opened_at = self._now()
        self.path = self._free_path()
        self._writer = CaptureWriter(self.path, self._compression)
        self._drop_oldest()

    def _free_path(self) -> Path:
        """A name that no file has: an older process may have begun one in the same second."""
        stamp = self._opened_at.strftime("%Y%m%dT%H%M%SZ")
        number = 0
        while any(self._folder.glob(f"{_escaped(self._stem)}-{stamp}-{number:04d}.*")):
            number += 1
        return self._folder / f"{self._stem}-{stamp}-{number:04d}{_SUFFIX[self._compression]}"

    def _drop_oldest(self) -> None:
        if self._keep is None:
            return
        files = sorted(self._folder.glob(f"{_escaped(self._stem)}-*{_SUFFIX[self._compression]}"))
        for path in files[: -self._keep]:
            path.unlink()


def _escaped(text: str) -> str:
    """Without what glob takes for a pattern."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in text)
