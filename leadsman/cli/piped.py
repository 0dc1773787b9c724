"""Turns the arguments of a command line into files: standard input can then be read more than once, and an archive is
a folder.
"""

import lzma
import math
import os
import re
import shutil
import stat
import sys
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import IO, Final, Self, TypeVar

from common.amounts import counted
from common.private import FOLDER, open_private
from common.text import plain
from ingest.files.lines import (
    UNPACKED,
    WORK_LIMIT_BYTES,
    WORK_RATIO,
    DamagedError,
    SourceError,
    SourceFile,
    folder_of,
    named,
)
from ingest.files.sniff import folder_files, is_needed
from leadsman.cli.exits import note
from leadsman.cli.given import PIPED

T = TypeVar("T")
_SUFFIXES: Final = re.compile(r"(?:\.tgz|\.zip|\.tar)?(?:\.(?:gz|bz2|xz))?$")
_PIECE_BYTES: Final = 1 << 20
_FILES: Final = 5
_DAMAGED: Final = (
    *(tarfile.TarError, EOFError, OSError, RecursionError),
    *(lzma.LZMAError, zlib.error, zipfile.BadZipFile),
)
"""Errors of tarfile and zipfile for a file of another format, or a damaged archive."""
_MEMBER_COST_BYTES: Final = 4 * 1024
"""Cost of an archive member without content: creating it takes about as long as unpacking this many bytes."""
_FOLDER_COST_BYTES: Final = 1024
"""The same for each part of its path."""
_MOST_HEADER_BYTES: Final = 64 * 1024
"""Limit of one extended header (a long name, or attributes), because tarfile reads it into memory."""
_MOST_GLOBAL_BYTES: Final = 4 * 1024
"""Limit of all global headers together, because tarfile copies their fields for each member."""
_EXTENDED: Final = frozenset(
    (*(tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE), *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK))
)


def files_in_part(counts: Counter[str]) -> str:
    """Describe files, with the number of unreadable pieces of each, most pieces first."""
    shown = [f"{plain(file)} ({count})" for file, count in counts.most_common(_FILES)]
    more = len(counts) - _FILES
    return ", ".join(shown) + (f" and {counted(more, 'more file')}" if more > 0 else "")


def kinds(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {plain(kind)}" for kind, count in sorted(counts.items()))


def begun(items: Iterator[T]) -> Iterator[T]:
    """Read the first item now, and return all, so that an error at the start is raised here."""
    first = next(items, None)
    return items if first is None else chain([first], items)


@contextmanager
def on_disk(paths: Sequence[Path]) -> Iterator[Sequence[Path]]:
    """Yield the paths.

    `-` becomes a file with all of standard input, and an archive a folder with its readable files. Both exist until
    the block ends. Raises OSError, and SourceError for a decompression bomb.
    """
    with TemporaryDirectory(prefix=UNPACKED) as folder:
        yield [_readable(path, Path(folder) / str(number)) for number, path in enumerate(paths)]


def _readable(path: Path, folder: Path) -> Path:
    if path == PIPED:
        folder.mkdir(FOLDER)
        path = folder / "standard-input"
        with open_private(path, "wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
    if not path.is_file():
        return path
    unpack = _unpack_zip if zipfile.is_zipfile(path) else _unpack if _is_archive(path) else None
    if unpack is None:
        return path
    into = folder_of(folder, path.name, _SUFFIXES.sub("", path.name))
    into.mkdir(FOLDER, parents=True, exist_ok=True)
    unpack(path, into)
    return into if _holds_something(into) else path


def _holds_something(folder: Path) -> bool:
    try:
        folder_files(folder)
    except SourceError:
        return False
    return True


def _is_archive(path: Path) -> bool:
    try:
        with tarfile.open(path, tarinfo=_Allowance(path).member()):
            return True
    except _DAMAGED:
        return False  # the reader reports it


class _Allowance:
    """Limits the work that an archive may cause, in unpacked bytes; an archive above the limit is a decompression
    bomb.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left = max(WORK_LIMIT_BYTES, WORK_RATIO * path.stat().st_size)
        self._global_left = _MOST_GLOBAL_BYTES

    def spend(self, name: PurePosixPath, size: int) -> None:
        """Count a member, the parts of its path, and its content. Raises SourceError."""
        self._left -= size + _MEMBER_COST_BYTES + _FOLDER_COST_BYTES * len(name.parts)
        self._check(is_within=size >= 0 and self._left >= 0)

    def spend_unpacked(self, file: Path) -> None:
        """Count what a compressed file of the archive unpacks to. Raises SourceError."""
        with SourceFile(file) as source, suppress(DamagedError):
            for chunk in source.chunks() if source.compression != "none" else ():
                self._left -= len(chunk)
                self._check(is_within=self._left >= 0)

    def member(self) -> type[tarfile.TarInfo]:
        """Return the class with which to open a tar archive: it checks headers while tarfile reads them."""

        class Member(tarfile.TarInfo):
            @classmethod
            def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
                found = super().frombuf(buf, encoding, errors)
                self._add_header(found)
                return found

        return Member

    def _add_header(self, header: tarfile.TarInfo) -> None:
        most = math.inf
        if header.type == tarfile.XGLTYPE:
            most = self._global_left
            self._global_left -= header.size
        elif header.type in _EXTENDED:
            most = _MOST_HEADER_BYTES
            self._left -= _MEMBER_COST_BYTES + header.size
        self._check(is_within=0 <= header.size <= most and self._left >= 0)

    def _check(self, *, is_within: bool) -> None:
        if not is_within:
            raise SourceError.of(self._path, "not read, because it would unpack to far more than its size (a bomb)")


def _unpack(path: Path, into: Path) -> None:
    """Unpack the regular files that Leadsman reads. Skip links, and names that lead out of the folder.

    A damaged archive is reported, and its earlier files are kept. Raises SourceError for a decompression bomb.
    """
    allowance = _Allowance(path)
    try:
        with tarfile.open(path, tarinfo=allowance.member()) as archive:
            for member in archive:
                name = PurePosixPath(member.name)
                allowance.spend(name, member.size)  # skipped members are decompressed too
                if not member.isfile() or name.is_absolute() or ".." in name.parts:
                    continue
                if not is_needed(name):
                    continue
                content = archive.extractfile(member)
                if content is not None:
                    _copy(content, into / name, member.mtime)
                    allowance.spend_unpacked(into / name)
    except _DAMAGED as error:
        note(f"leadsman: {plain(named(path))}: read in part, because the rest of the archive is damaged: {error}")


def _unpack_zip(path: Path, into: Path) -> None:
    allowance = _Allowance(path)
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = PurePosixPath(member.filename.replace("\\", "/"))
            is_odd = name.is_absolute() or ".." in name.parts or stat.S_ISLNK(member.external_attr >> 16)
            allowance.spend(name, 0 if is_odd or member.is_dir() or not is_needed(name) else member.file_size)
            if member.is_dir() or is_odd or not is_needed(name):
                continue
            try:
                with archive.open(member) as content:
                    modified = datetime(*member.date_time, tzinfo=UTC).timestamp()
                    _copy(content, into / name, modified)
                    allowance.spend_unpacked(into / name)
            except (*_DAMAGED, ValueError, RuntimeError, NotImplementedError) as error:
                note(f"leadsman: {plain(named(path))}: {plain(name)} cannot be unpacked: {plain(error)}")


def _copy(content: IO[bytes], file: Path, modified: float) -> None:
    if file.exists():
        return
    file.parent.mkdir(FOLDER, parents=True, exist_ok=True)
    with open_private(file, "wb") as copy:
        while piece := content.read(_PIECE_BYTES):
            copy.write(piece)
    os.utime(file, (modified, modified))
