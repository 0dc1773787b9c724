"""Reads and writes capture files (capture-format.md): JSON Lines, plain or compressed with gzip or zstd."""

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from common.lines import Line
from common.private import open_private
from common.text import plain
from ingest.files.envelope import ERROR_TYPES, decode_line, encode_line, unreadable
from ingest.files.lines import LINE_LIMIT_BYTES, Compression, DamagedError, Packer, SourceError, SourceFile, named
from ingest.files.sniff import head_of
from ingest.files.unread import SAVE, unread
from ingest.model.observation import Observation, Observed, Position, Unreadable

__all__ = ["ERROR_TYPES", "CaptureWriter", "Compression", "SourceError", "read_capture"]

HELD_LINES: Final = 1000
"""A file is not a capture if this many first lines do not even look like observations."""

_JSON: Final = re.compile(rb"\s*(?:\{|\[\s*[\[{\"\]\d-])")
"""Matches the start of JSON; a prompt also begins with a bracket."""
_ENVELOPE_ERRORS: Final = frozenset({"missing_field", "wrong_type", "wrong_value", "unknown_resource"})


def read_capture(file: SourceFile, *, summaries: bool = False) -> Iterator[Observed | Unreadable]:
    """Yield the content of each line of a capture, in file order, with `summaries` as in `decode_line`; blank lines
    are skipped. Memory is bounded by the longest allowed line. Raises `SourceError` if the file is empty or contains
    no observations.
    """
    held: list[Unreadable] = []
    is_capture = False
    for entry in _entries(file, summaries=summaries):
        if isinstance(entry, Observed) or (entry.ts is not None and entry.error_type in _ENVELOPE_ERRORS):
            file.useful()
            is_capture = True
        elif not is_capture:
            held.append(entry)
            if len(held) > HELD_LINES:
                break
            continue
        if held:
            yield from held
            held.clear()
        yield entry
    if not is_capture:
        raise SourceError.of(file.path, _why_no_capture(file.path, held))


class CaptureWriter:
    """Appends observations to a new or existing capture file.

    Each line is handed to the operating system at once, so that a killed process loses at most its last line.
    `metadata.managedFields` is left out. If a killed process left a compressed file without its end, opening rewrites
    it up to its last complete line.
    """

    def __init__(self, path: Path, compression: Compression = "none") -> None:
        """Open `path` for appending; raises `SourceError` if that is impossible."""
        self._packer = Packer(compression)
        try:
            _mend(path, compression)
            self._file = open_private(path, "ab")
        except OSError as error:
            raise SourceError.of(path, f"cannot be written: {plain(error.strerror)}") from None

    def write(self, observation: Observation) -> None:
        """Append one observation, whose `ts` is aware and whose `object` is valid JSON."""
        self._file.write(self._packer.line(encode_line(observation)))
        self._file.flush()

    def close(self) -> None:
        if not self._file.closed:
            self._file.write(self._packer.end())
            self._file.close()


def _entries(file: SourceFile, *, summaries: bool) -> Iterator[Observed | Unreadable]:
    source = named(file.path)
    try:
        for line in file.lines():
            yield _decode(line, Position(source, str(line.number)), summaries=summaries)
    except DamagedError as error:
        position = Position(source, str(error.partial.number))
        partial = _decode(error.partial, position)
        if isinstance(partial, Observed):
            yield partial
        yield unreadable(error.error_type, str(error), error.partial.data, position)


def _decode(line: Line, position: Position, *, summaries: bool = False) -> Observed | Unreadable:
    data = line.data.removeprefix(b"\xef\xbb\xbf") if line.number == 1 else line.data
    if line.too_long:
        limit = f"the line is longer than {LINE_LIMIT_BYTES >> 20} MiB"
        return unreadable("too_long", limit, data, position)
    entry = decode_line(data, position, summaries=summaries)
    if not line.ended and isinstance(entry, Unreadable) and entry.error_type == "not_utf8":
        # possibly cut in the middle of a character
        return decode_line(data.decode(errors="ignore").encode(), position)
    return entry


def _why_no_capture(path: Path, held: list[Unreadable]) -> str:
    if not held:
        return "the file is empty"
    first = held[0]
    packed = "tar" if first.raw[257:262] == b"ustar" else "zip" if first.raw.startswith(b"PK\x03\x04") else ""
    if packed:
        return f"this is a {packed} archive without anything that Leadsman reads"
    if first.error_type in {"damaged", "bomb"}:
        return first.reason
    known = unread(path, head_of(path) if path.is_file() else first.raw)
    if known.is_evidence:
        return plain(known.what)
    if not _JSON.match(first.raw):
        return f"it has no observations and no Kubernetes objects: {known.what}; {SAVE}"
    return f"it has no observations; a capture is JSON Lines; line {first.position.place}: {first.reason}"


def _mend(path: Path, compression: Compression) -> None:
    """Truncate an existing file after its last complete line, so that appended lines can be read."""
    if not path.exists() or path.stat().st_size == 0:
        return
    with SourceFile(path) as file:
        if file.compression != compression:
            raise SourceError.of(path, f"exists already, with compression {file.compression}; choose another name")
        if compression == "none":
            _end_last_line(path)
        elif not _ends_well(file):
            _copy_complete_lines(path, compression)


def _end_last_line(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.write(b"\n")


def _ends_well(file: SourceFile) -> bool:
    last = b""
    try:
        for chunk in file.chunks():
            file.useful()
            last = chunk[-1:]
    except DamagedError:
        return False
    return last == b"\n"


def _copy_complete_lines(path: Path, compression: Compression) -> None:
    mended = path.with_name(path.name + ".mended")
    packed = Packer(compression)
    with SourceFile(path) as file, open_private(mended, "wb") as copy:
        with contextlib.suppress(DamagedError):
            for line in file.lines():
                file.useful()
                if line.ended and not line.too_long:
                    copy.write(packed.line(line.data + b"\n"))
        copy.write(packed.end())
    mended.replace(path)
