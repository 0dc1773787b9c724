"""Reads a plain, gzip or zstd file as lines in bounded memory, and compresses lines one by one."""

import re
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias

from common.errors import SourceUnusable
from common.lines import Line, Splitter
from common.text import plain

UNPACKED: Final = "leadsman-"
"""Prefix of the name of a temporary folder, which contains a numbered folder for each input."""
_UNPACKED: Final = re.compile(
    rf".*/{UNPACKED}\w+/\d+/(?:archive/(?P<archive>[^/]+)/[^/]+(?:/(?P<inside>.+))?|(?P<piped>standard-input))",
    re.DOTALL,
)


def folder_of(place: Path, archive: str, name: str) -> Path:
    """Return the folder in which to unpack an archive; `named` recovers the archive's name from a path in it."""
    return place / "archive" / archive / name


def named(path: Path) -> str:
    """Return the path as the user gave it; for a file in an archive, `archive.zip: path/inside`."""
    found = _UNPACKED.fullmatch(str(path))
    return ": ".join(filter(None, found.groups())) if found else str(path)


if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["Compression", "Packer", "compression_of", "zstd"]

Compression: TypeAlias = Literal["none", "gzip", "zstd"]
_SKIPPABLE: Final = b"PQRSTUVWXYZ[\\]^_"


def compression_of(start: bytes) -> Compression:
    """Return the compression of a file, by its first four bytes."""
    if start.startswith(b"\x1f\x8b"):
        return "gzip"
    # a zstd file can also start with a skippable frame: 0x184D2A50 to 0x184D2A5F
    if start.startswith(b"\x28\xb5\x2f\xfd") or (start[1:4] == b"\x2a\x4d\x18" and start[:1] in _SKIPPABLE):
        return "zstd"
    return "none"


_UNPACKERS: Final[Mapping[Compression, Callable[[], Any]]] = {
    "gzip": partial(zlib.decompressobj, wbits=31),
    "zstd": zstd.ZstdDecompressor,
}
"""Constructors of decompressors of one gzip member or one zstd frame."""
_PACKERS: Final[Mapping[Compression, tuple[Callable[[], Any], int]]] = {
    "gzip": (partial(zlib.compressobj, wbits=31), zlib.Z_SYNC_FLUSH),
    "zstd": (zstd.ZstdCompressor, zstd.ZstdCompressor.FLUSH_BLOCK),
}
"""Constructors of compressors, and how each is flushed."""


class Packer:
    """Compresses lines so that each can be read as soon as it is written."""

    def __init__(self, compression: Compression) -> None:
        make, self._flushing = _PACKERS.get(compression, (lambda: None, 0))
        self._stream = make()

    def line(self, line: bytes) -> bytes:
        """Return bytes from which everything up to and including this line can be unpacked."""
        packed: bytes = self._stream.compress(line) + self._stream.flush(self._flushing) if self._stream else line
        return packed

    def end(self) -> bytes:
        return self._stream.flush() if self._stream else b""


Damage: TypeAlias = Literal["cut_off", "damaged", "bomb"]

LINE_LIMIT_BYTES: Final = 16 * 1024 * 1024
"""Maximum length of a line: the largest object of etcd has 1.5 MiB, a summary of 500 pods 1.4 MiB."""
KEPT_BYTES: Final = 64 * 1024
"""Number of bytes that are kept of an unreadable part."""
WASTE_LIMIT_BYTES: Final = 64 * 1024 * 1024
"""A compressed file that unpacks to this many bytes without an observation ..."""
WASTE_RATIO: Final = 100
"""... at this ratio is a decompression bomb."""
WORK_LIMIT_BYTES: Final = 256 * 1024 * 1024
"""A compressed file that unpacks to this many bytes, even with observations ..."""
WORK_RATIO: Final = 300
"""... at this ratio is a bomb too: repeated lines. Captures of real clusters reach a ratio of 60."""

_CHUNK_BYTES: Final = 256 * 1024
_PACKED_BYTES: Final = 4096
"""Size of a piece of input: small, because a damaged piece is lost as a whole."""


class SourceError(SourceUnusable):
    """A path that cannot be read as a source. The message says what is wrong and what to do."""

    @classmethod
    def of(cls, path: Path, what: str) -> "SourceError":
        """Build the message: the path, then the problem."""
        return cls(f"{plain(named(path))}: {what}")


class DamagedError(ValueError):
    """The rest of a compressed file cannot be read."""

    partial = Line(1, b"", 0, ended=False, too_long=False)
    """The line at which reading stopped."""

    def __init__(self, error_type: Damage, reason: str) -> None:
        super().__init__(reason)
        self.error_type = error_type
        """One of `ingest.files.envelope.ERROR_TYPES`."""


class Meter:
    """Counts the bytes on disk that were read, compressed or not."""

    def __init__(self) -> None:
        self.read_bytes = 0
        self.total_bytes = 0
        self.of_dump = 0
        """Progress in a dump, which is read at once and then reported one by one."""


class SourceFile:
    """An open file, read once from beginning to end, as chunks or as lines."""

    def __init__(self, path: Path, meter: Meter | None = None) -> None:
        """Open `path`; raises `SourceError` if that fails."""
        self.path = path
        self.meter = Meter() if meter is None else meter
        self.read_bytes = 0
        """Bytes read from disk so far, compressed or not."""
        self._unpacked_bytes = 0
        self._wasted_bytes = 0
        self._useful_at = 0
        try:
            self._file = path.open("rb")
            self.compression = compression_of(self._file.peek(4))
        except FileNotFoundError:
            raise SourceError.of(path, "no such file or folder") from None
        except (OSError, ValueError) as error:
            raise SourceError.of(path, f"cannot be opened: {plain(error)}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def useful(self) -> None:
        """Record that the last read contained an observation, so that the file up to here is not a bomb."""
        self._wasted_bytes = 0
        self._useful_at = self.read_bytes

    def chunks(self) -> Iterator[bytes]:
        """Yield the file's bytes, decompressed (detected by content), in pieces of at most 256 KiB.

        If a compressed file is truncated, damaged or a bomb, raises `DamagedError` after everything before that.
        """
        packed = self.compression != "none"
        data = self._read(_PACKED_BYTES if packed else _CHUNK_BYTES)
        while data and not packed:
            yield data
            data = self._read(_CHUNK_BYTES)
        while data:
            compression = compression_of(data)
            if compression == "none":
                raise DamagedError("damaged", "other bytes follow the compressed data")
            member = _UNPACKERS[compression]()
            yield from self._unpack(member, data)
            data = self._next_member(member.unused_data)

    def lines(self) -> Iterator[Line]:
        """Yield the lines that are not blank. Raises as `chunks`, after the last complete line."""
        splitter = Splitter(LINE_LIMIT_BYTES, KEPT_BYTES)
        try:
            for chunk in self.chunks():
                yield from splitter.add(chunk)
        except DamagedError as error:
            error.partial = splitter.rest()
            raise
        last = splitter.rest()
        if not last.is_blank:
            yield last

    def _unpack(self, member: Any, data: bytes) -> Iterator[bytes]:
        while not member.eof:
            try:
                chunk = member.decompress(data, _CHUNK_BYTES)
            except (zlib.error, zstd.ZstdError) as error:
                raise DamagedError("damaged", f"the compressed data are damaged: {error}") from None
            if chunk:
                self._refuse_bomb(len(chunk))
                yield chunk
            if len(chunk) == _CHUNK_BYTES:
                data = getattr(member, "unconsumed_tail", b"")  # zstd keeps data that it has not unpacked yet
            elif not member.eof and not (data := self._read(_PACKED_BYTES)):
                raise DamagedError("cut_off", "the file ends in the middle of its compressed data")

    def _next_member(self, data: bytes) -> bytes:
        """Return the data after a member, without the zeros with which a file may be padded."""
        data = data.lstrip(b"\0")
        while len(data) < _PACKED_BYTES and (more := self._read(_PACKED_BYTES)):
            data = (data + more).lstrip(b"\0")
        return data

    def _refuse_bomb(self, unpacked_bytes: int) -> None:
        self._unpacked_bytes += unpacked_bytes
        if self._unpacked_bytes > max(WORK_LIMIT_BYTES, WORK_RATIO * self.read_bytes):
            raise DamagedError(
                "bomb",
                f"{self.read_bytes} bytes unpack to more than {self._unpacked_bytes >> 20} MiB of repeated lines: a"
                " bomb; the rest of the file was not read",
            )
        self._wasted_bytes += unpacked_bytes
        packed_bytes = self.read_bytes - self._useful_at
        if self._wasted_bytes > max(WASTE_LIMIT_BYTES, WASTE_RATIO * packed_bytes):
            raise DamagedError(
                "bomb",
                f"{packed_bytes} bytes unpack to more than {self._wasted_bytes >> 20} MiB without an observation"
                " in them: a bomb; the rest of the file was not read",
            )

    def _read(self, size: int) -> bytes:
        try:
            data = self._file.read(size)
        except OSError as error:
            raise SourceError.of(self.path, f"cannot be read: {plain(error.strerror)}") from None
        self.read_bytes += len(data)
        self.meter.read_bytes += len(data)
        return data
