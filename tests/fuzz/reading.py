"""Bytes of files and streams: the splitter, plain and compressed files, lines of a capture, whole captures."""

import atexit
import gzip
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from common.lines import Line, Splitter
from fuzz.target import Target, capture_lines
from ingest.apiserver.watch_events import HEAD_BYTES
from ingest.files import lines
from ingest.files.capture import read_capture
from ingest.files.envelope import ERROR_TYPES, decode_line, encode_line
from ingest.files.lines import KEPT_BYTES, Compression, DamagedError, Packer, SourceError, SourceFile, zstd
from ingest.model.observation import EARLIEST, LATEST, Observation, Observed, Position, Unreadable

FILE: Final = Path(tempfile.mkdtemp(prefix="leadsman-fuzz-")) / "input"
atexit.register(shutil.rmtree, FILE.parent, ignore_errors=True)
HERE: Final = Position("input", "1")
SMALL: Final[dict[str, Any]] = {
    "LINE_LIMIT_BYTES": 512,
    "KEPT_BYTES": 64,
    "WASTE_LIMIT_BYTES": 8192,
    "_CHUNK_BYTES": 256,
    "_PACKED_BYTES": 16,
}
"""Limits that a short input can reach."""


def check_splitter(data: bytes) -> None:
    """Lines of a stream do not depend on its chunks; a longer one than the limit is told with its size and head."""
    limit, step, whole = data[:1], data[1:2], data[2:]
    limit_bytes, chunk_bytes = 1 + sum(limit), 1 + sum(step)
    splitter = Splitter(limit_bytes, HEAD_BYTES)
    found = [
        (line.data, line.size_bytes, line.too_long)
        for at in range(0, len(whole), chunk_bytes)
        for line in splitter.add(whole[at : at + chunk_bytes])
    ]
    expected = [
        (each if len(each) <= limit_bytes else each[:HEAD_BYTES], len(each), len(each) > limit_bytes)
        for each in whole.split(b"\n")[:-1]
        if _is_content(each) or len(each) > limit_bytes
    ]
    assert found == expected


def check_packed(data: bytes) -> None:
    """The same lines come out of a file whether it is plain, or packed in one piece, in members, or line by line."""
    if data[:2] == b"\x1f\x8b" or data[1:4] == b"*M\x18" or data[:4] == b"(\xb5/\xfd":
        return  # such a file is compressed itself
    plain = list(_lines(data))
    split = data.find(b"\n") + 1
    members = (data[:split], data[split:])
    for packed in (
        gzip.compress(data),
        zstd.compress(data),
        b"".join(map(gzip.compress, members)),
        b"".join(map(zstd.compress, members)) + b"\0" * 7,
        _packed(data, "gzip"),
        _packed(data, "zstd"),
    ):
        assert list(_lines(packed)) == plain
    assert b"".join(line.data for line in plain) == b"".join(part for part in data.split(b"\n") if _is_content(part))


def check_limits(data: bytes) -> None:
    """No line is longer than the limit, and no more is unpacked than the ratio allows, for any bytes."""
    with patch.multiple(lines, **SMALL):
        unpacked = 0
        try:
            with _file(data) as file:
                for chunk in file.chunks():
                    assert len(chunk) <= SMALL["_CHUNK_BYTES"]
                    unpacked += len(chunk)
        except DamagedError as error:
            assert error.error_type in {"cut_off", "damaged", "bomb"}
        most = max(SMALL["WASTE_LIMIT_BYTES"], lines.WASTE_RATIO * len(data))
        assert unpacked <= most or file.compression == "none"
        numbers = [0]
        for line in _lines(data):
            assert line.number > numbers[-1]
            numbers.append(line.number)
            assert len(line.data) <= SMALL["KEPT_BYTES" if line.too_long else "LINE_LIMIT_BYTES"]


def check_capture(data: bytes) -> None:
    """A file of any bytes is a capture, whose bad lines are told with a known reason, or a SourceError in words."""
    try:
        with _file(data) as file:
            for entry in read_capture(file):
                if isinstance(entry, Unreadable):
                    is_told(entry)
    except SourceError as error:
        assert "\n" not in str(error)


def check_envelope(data: bytes) -> None:
    """A line is an observation, which is written and read back unchanged, or is told with a known reason."""
    entry = decode_line(data, HERE)
    if isinstance(entry, Unreadable):
        is_told(entry)
        return
    observation = entry.observation
    assert observation.ts.tzinfo is UTC
    assert EARLIEST <= observation.ts < LATEST
    line = encode_line(observation)
    assert line.endswith(b"\n")
    assert b"\n" not in line[:-1]
    again = decode_line(line, HERE)
    assert isinstance(again, Observed)
    assert _reported(again.observation) == _reported(observation)
    assert encode_line(again.observation) == line


def is_told(entry: Unreadable) -> None:
    """Bytes that cannot be read become a row of bounded size and vocabulary."""
    assert entry.error_type in ERROR_TYPES
    assert len(entry.raw) <= KEPT_BYTES
    assert entry.reason
    assert entry.ts is None or EARLIEST <= entry.ts < LATEST


def file_of(data: bytes, name: str = "input") -> Path:
    """A file of these bytes; the next one of this name takes its place."""
    path = FILE.with_name(name)
    path.write_bytes(data)
    return path


def _file(data: bytes) -> SourceFile:
    return SourceFile(file_of(data))


def _lines(data: bytes) -> Iterator[Line]:
    with _file(data) as file:
        try:
            yield from file.lines()
        except DamagedError as error:
            assert error.partial.number > 0


def _is_content(data: bytes) -> bool:
    return bool(data) and not data.isspace()


def _packed(data: bytes, compression: Compression) -> bytes:
    pack = Packer(compression)
    return b"".join(pack.line(line) for line in data.splitlines(keepends=True)) + pack.end()


def _reported(observation: Observation) -> tuple[Any, ...]:
    """All but the object, which loses its managed fields, and its line breaks between values."""
    return (observation.ts, observation.cluster, observation.source, observation.resource, observation.node)


def _captures() -> list[bytes]:
    some = b"\n".join(sorted(capture_lines(), key=len)[:5]) + b"\n"
    whole = [some, some[:-9], b"\xef\xbb\xbf" + some]
    return [*whole, *map(gzip.compress, whole), *map(zstd.compress, whole), gzip.compress(some)[:-9]]


def _streams() -> list[bytes]:
    return [b"\x40\x07" + each for each in _captures()[:2]] + [b"\0\0a\n\nbc\nd", b"\1\xffabc\n\n"]


def _odd_files() -> list[bytes]:
    bombs = [pack(fill * 2**16) for pack in (gzip.compress, zstd.compress) for fill in (b"\n", b" ", b"x")]
    return [*_captures(), *bombs, b"\xff\xfe{\0", b"P*M\x18\4\0\0\0abcd" + zstd.compress(b"{}\n")]


TARGETS: Final = (
    Target("splitter", check_splitter, _streams),
    Target("packed", check_packed, _captures),
    Target("limits", check_limits, _odd_files),
    Target("capture", check_capture, _odd_files),
    Target("envelope", check_envelope, capture_lines),
)
