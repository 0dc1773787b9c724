"""A watch's body as lines, in bounded memory."""

from collections.abc import AsyncGenerator, AsyncIterable
from typing import Final, NamedTuple

LINE_LIMIT_BYTES: Final = 16 * 1024 * 1024 - 4096
"""So that the line of a capture around such an object stays within 16 MiB."""
HEAD_BYTES: Final = 64 * 1024
"""What is kept of a longer line: enough for its type and, in a built-in kind, its name and version."""


class Oversized(NamedTuple):
    """A line that was longer than the limit and was thrown away."""

    size_bytes: int
    head: bytes


class _Line:
    """The line that is being read."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._pieces: list[bytes] = []
        self._size_bytes = 0

    def add(self, piece: bytes) -> None:
        self._size_bytes += len(piece)
        self._pieces.append(piece)
        if self._size_bytes > self._limit_bytes:
            self._pieces = [b"".join(self._pieces)[:HEAD_BYTES]]

    def end(self) -> bytes | Oversized:
        line, size_bytes = b"".join(self._pieces), self._size_bytes
        self._pieces, self._size_bytes = [], 0
        return Oversized(size_bytes, line) if size_bytes > self._limit_bytes else line


async def split_lines(
    chunks: AsyncIterable[bytes], limit_bytes: int = LINE_LIMIT_BYTES
) -> AsyncGenerator[bytes | Oversized, None]:
    """Give the complete lines of a stream that are not empty, without their ends; a cut off last line is dropped.

    Never holds more than `limit_bytes` and one chunk; a longer line becomes `Oversized` and the stream goes on.
    """
    line = _Line(limit_bytes)
    async for chunk in chunks:
        *ends, rest = chunk.split(b"\n")
        for piece in ends:
            line.add(piece)
            if complete := line.end():
                yield complete
        line.add(rest)
