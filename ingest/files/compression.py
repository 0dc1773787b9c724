"""gzip and zstd behind one pair of interfaces: to unpack in bounded steps, and to pack line by line."""

import sys
import zlib
from typing import Final, Literal, Protocol, TypeAlias

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["UNPACK_ERRORS", "Compression", "Packer", "Unpacker", "compression_of", "packer", "unpacker", "zstd"]

Compression: TypeAlias = Literal["none", "gzip", "zstd"]

UNPACK_ERRORS: Final = (zlib.error, zstd.ZstdError)

_SKIPPABLE: Final = b"PQRSTUVWXYZ[\\]^_"


def compression_of(start: bytes) -> Compression:
    """The compression of a file, by its first four bytes."""
    if start.startswith(b"\x1f\x8b"):
        return "gzip"
    # a skippable frame begins a zstd file too: 0x184D2A50 to 0x184D2A5F
    if start.startswith(b"\x28\xb5\x2f\xfd") or (start[1:4] == b"\x2a\x4d\x18" and start[:1] in _SKIPPABLE):
        return "zstd"
    return "none"


class Unpacker(Protocol):
    """One gzip member or one zstd frame. `decompress` returns at most `max_length` bytes, and may hold more."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class _Gzip:
    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._member.decompress(self._member.unconsumed_tail + data, max_length)


def unpacker(compression: Literal["gzip", "zstd"]) -> Unpacker:
    return _Gzip() if compression == "gzip" else zstd.ZstdDecompressor()


class Packer(Protocol):
    def line(self, line: bytes) -> bytes:
        """Return bytes from which everything up to this line can be unpacked."""

    def end(self) -> bytes: ...


class _PlainPacker:
    def line(self, line: bytes) -> bytes:
        return line

    def end(self) -> bytes:
        return b""


class _GzipPacker:
    def __init__(self) -> None:
        self._stream = zlib.compressobj(wbits=31)

    def line(self, line: bytes) -> bytes:
        return self._stream.compress(line) + self._stream.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        return self._stream.flush()


class _ZstdPacker:
    def __init__(self) -> None:
        self._stream = zstd.ZstdCompressor()

    def line(self, line: bytes) -> bytes:
        return self._stream.compress(line, zstd.ZstdCompressor.FLUSH_BLOCK)

    def end(self) -> bytes:
        return self._stream.flush()


def packer(compression: Compression) -> Packer:
    if compression == "none":
        return _PlainPacker()
    return _GzipPacker() if compression == "gzip" else _ZstdPacker()
