"""Splits a stream of bytes into lines, in bounded memory. Pure."""

from collections.abc import Iterator
from typing import NamedTuple


class Line(NamedTuple):
    number: int
    """The first is 1."""
    data: bytes
    """The line without its line break; only the beginning of a line that is too long."""
    size_bytes: int
    ended: bool
    """True if a line break followed."""
    too_long: bool

    @property
    def is_blank(self) -> bool:
        return not self.too_long and (not self.data or self.data.isspace())


class Splitter:
    """Cuts chunks into lines.

    It holds at most `limit_bytes` and one chunk, and keeps only `kept_bytes` of a longer line.
    """

    def __init__(self, limit_bytes: int, kept_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._kept_bytes = kept_bytes
        self._number = 1
        self._partial: list[bytes] = []
        self._size_bytes = 0

    def add(self, chunk: bytes) -> Iterator[Line]:
        """Yield the lines that end in this chunk, except blank ones."""
        if self._size_bytes == 0 and len(chunk) <= self._limit_bytes and chunk.isspace():
            # a decompression bomb can consist of line breaks
            self._number += chunk.count(b"\n")
            self._append(chunk[chunk.rfind(b"\n") + 1 :])
            return
        start = 0
        # several times faster than bytes.split
        while (end := chunk.find(b"\n", start)) >= 0:
            self._append(chunk[start:end])
            line = self._line(ended=True)
            self._partial, self._size_bytes = [], 0
            self._number += 1
            if not line.is_blank:
                yield line
            start = end + 1
        self._append(chunk[start:])

    def rest(self) -> Line:
        return self._line(ended=False)

    def _line(self, *, ended: bool) -> Line:
        data = self._partial[0] if len(self._partial) == 1 else b"".join(self._partial)
        return Line(self._number, data, self._size_bytes, ended, self._size_bytes > self._limit_bytes)

    def _append(self, data: bytes) -> None:
        if not data:
            return
        self._partial.append(data)
        self._size_bytes += len(data)
        if self._size_bytes > self._limit_bytes:
            self._partial = [b"".join(self._partial)[: self._kept_bytes]]
