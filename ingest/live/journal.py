"""Stores observations that no checkpoint of the database covers yet, as capture files (delivery.md#one-process)."""

import fcntl
import os
import re
from pathlib import Path
from typing import BinaryIO, Final

from common.errors import HeldElsewhere
from common.private import FOLDER, open_private
from ingest.files.envelope import decode_line, encode_line
from ingest.files.lines import LINE_LIMIT_BYTES
from ingest.model.observation import Observation, Observed, Position, Unreadable
from ingest.model.summary import Summary

SEGMENT_BYTES: Final = 16 * 1024 * 1024
_DIGITS: Final = 8
_SUFFIX: Final = ".jsonl"
_SEGMENT: Final = re.compile(rf"[0-9]{{{_DIGITS}}}{re.escape(_SUFFIX)}")


class Journal:
    """The segments of one cluster's journal in a folder, with ascending names; one process owns it.

    The operating system has each line before `write` returns, so a killed process loses at most its last line.
    `covered` is the last result of `checkpoint` in the database; empty without one.
    """

    def __init__(self, folder: Path, covered: str, *, keep: bool = False) -> None:
        """If `keep`, no segment is ever deleted. Raises HeldElsewhere and OSError."""
        folder.mkdir(FOLDER, parents=True, exist_ok=True)
        self._lock: int | None = _locked(folder)
        self._folder = folder
        self._keep = keep
        for last in self._segments()[-1:]:
            _drop_torn_line(last)
        self.left = [path for path in self._segments() if path.name >= covered]
        """Segments of an earlier process that may have observations that the database lacks."""
        self.is_whole = bool(covered) or self._next("").exists()
        """True if no observation is missing between the database and the point at which the streams resume."""
        self._file: BinaryIO | None = None
        self._path = self._next(max([covered, *(path.name for path in self._segments())]))
        self._lines = self._bytes = 0
        self._reached = self._path.name

    def write(self, observation: Observation, decoded: object = None) -> Observed | Unreadable:
        """Append an observation, and return it in the form in which a replay would read it. Raises OSError."""
        line = encode_line(observation)
        self._file = self._file or open_private(self._path, "ab")
        self._file.write(line)
        self._file.flush()
        self._lines += 1
        self._bytes += len(line)
        known = decoded if isinstance(decoded, Summary) else None
        return decode_line(line[:-1], Position(str(self._path), str(self._lines)), summaries=True, known=known)

    def checkpoint(self) -> str:
        """Return the first segment that is still needed after a checkpoint of everything written before the last
        call. A large current segment is closed, and a new one is started.
        """
        covered, self._reached = self._reached, self._path.name
        if self._bytes >= SEGMENT_BYTES:
            self._end_segment()
            self._path = self._next(self._path.name)
            self._lines = self._bytes = 0
        return covered

    def drop(self, covered: str) -> None:
        """Delete the segments before `covered`, once the database has a checkpoint of them. Raises OSError."""
        if not self._keep:
            for path in self._segments():
                if path.name < covered:
                    path.unlink()

    def close(self) -> None:
        self._end_segment()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _end_segment(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _next(self, after: str) -> Path:
        number = int(after.removesuffix(_SUFFIX) or 0) + 1
        return self._folder / f"{number:0{_DIGITS}d}{_SUFFIX}"

    def _segments(self) -> list[Path]:
        return sorted(path for path in self._folder.iterdir() if _SEGMENT.fullmatch(path.name))


def _locked(folder: Path) -> int:
    """Return a descriptor that locks the folder until it is closed or its process ends."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise HeldElsewhere(
            f"{folder}: another process writes this journal. End the other leadsman up of this cluster and database, "
            "or give this one its own database, or its own folder with --capture"
        ) from None
    return descriptor


def _drop_torn_line(path: Path) -> None:
    """Remove an incomplete last line, which was never acknowledged and will be seen again. Delete an empty
    segment.
    """
    with path.open("r+b") as file:
        file.seek(max(0, path.stat().st_size - LINE_LIMIT_BYTES))
        start, tail = file.tell(), file.read()
        length = start + tail.rfind(b"\n") + 1
        file.truncate(length)
    if not length:
        path.unlink()
