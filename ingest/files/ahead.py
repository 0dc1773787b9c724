"""Reads and decodes files in a separate process, ahead of the process that folds them.

Half of a replay's work comes before a reducer sees a record, and a Python process uses one CPU.
"""

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, Final, cast

import msgspec

from common.cycles import rare_cycle_searches
from ingest.files.lines import SourceError
from ingest.files.sources import Progress, read_converted
from ingest.normalize.decode import Decoded, decode

_LENGTH_BYTES: Final = 4


def write_frame(into: IO[bytes], message: bytes) -> None:
    """Write a message of less than 4 GiB without buffering."""
    into.write(len(message).to_bytes(_LENGTH_BYTES) + message)
    into.flush()


def read_frame(stream: IO[bytes]) -> bytes | None:
    """Return the next message; None if the pipe ends before the message is complete."""
    length = stream.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        return None
    size_bytes = int.from_bytes(length)
    message = stream.read(size_bytes)
    return message if len(message) == size_bytes else None


SMALL_BYTES: Final = 8 * 1024 * 1024
"""Size on disk below which starting a process costs more than it saves."""
ITEMS_A_FRAME: Final = 32
PIPE_BYTES: Final = 1024 * 1024


class _Asked(msgspec.Struct, frozen=True, array_like=True):
    paths: list[bytes]
    cluster: str
    node: str
    at: datetime | None
    since: datetime | None
    until: datetime | None


class _End(msgspec.Struct, frozen=True, array_like=True):
    skipped: dict[str, int]
    refused: str | None
    """The text of the SourceError with which reading ended."""


class _Frame(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A message on the pipe, in msgpack after its length; the last one has an `end`."""

    items: list[Decoded]
    progress: tuple[int, int, int]
    end: _End | None = None


def read_ahead(
    paths: Sequence[Path],
    *,
    cluster: str = "default",
    node: str = "",
    at: datetime | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    progress: Progress | None = None,
    skipped: Counter[str] | None = None,
) -> Generator[Decoded, None, None]:
    """Yield the decoded items of all paths, as `read_converted` does, which explains the parameters.

    Raises `SourceError` as that does, and if the reading process ends early.
    """
    if _bytes_on_disk(paths) < SMALL_BYTES:
        read = _decoding(since, until)
        yield from read(paths, cluster=cluster, node=node, at=at, progress=progress, skipped=skipped)
        return
    asked = _Asked([os.fsencode(path) for path in paths], cluster, node, at, since, until)
    for frame in _frames(msgspec.msgpack.encode(asked)):
        if progress is not None:
            progress(*frame.progress)
        yield from frame.items
        if frame.end is not None:
            if skipped is not None:
                skipped.update(frame.end.skipped)
            if frame.end.refused is not None:
                raise SourceError(frame.end.refused)


def _decoding(since: datetime | None, until: datetime | None) -> Callable[..., Iterator[Decoded]]:
    """Return `read_converted` for a range of time.

    Without a range, summaries are decoded at once, because all are used.
    """
    return partial(
        read_converted, partial(decode, since=since, until=until), summaries=since is None and until is None
    )


def _bytes_on_disk(paths: Iterable[Path]) -> int:
    """Return the total size of files under the paths; 0 if one is missing, or is a pipe, which another process cannot
    open.
    """
    found = 0
    for path in paths:
        if not path.is_file() and not path.is_dir():
            return 0
        files = path.rglob("*") if path.is_dir() else [path]
        found += sum(file.stat().st_size for file in files if file.is_file())
    return found


def _frames(asked: bytes) -> Iterator[_Frame]:
    decode = msgspec.msgpack.Decoder(_Frame).decode
    command = [sys.executable, "-P", "-m", __name__]
    with subprocess.Popen(  # noqa: S603  # Python itself, with our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, pipesize=PIPE_BYTES
    ) as process:
        try:
            to, output = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
            with to:
                to.write(asked)
            while (encoded := read_frame(output)) is not None:
                frame = decode(encoded)
                yield frame
                if frame.end is not None:
                    return
            raise SourceError(f"the process that reads the files ended too soon, with status {process.wait()}")
        finally:
            process.kill()


def main() -> None:
    """Read a request from standard input, and write frames to standard output until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the other process
    asked = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=_Asked)
    try:
        with rare_cycle_searches():
            _write_frames(asked, sys.stdout.buffer)
    except BrokenPipeError:
        os._exit(1)


def _write_frames(asked: _Asked, into: IO[bytes]) -> None:
    encode = msgspec.msgpack.Encoder().encode
    reached = (0, 0, 0)

    def note(*figures: int) -> None:
        nonlocal reached
        reached = (figures[0], figures[1], figures[2])

    def write(items: list[Decoded], end: _End | None = None) -> None:
        write_frame(into, encode(_Frame(items, reached, end)))

    skipped = Counter[str]()
    refused = None
    paths = [Path(os.fsdecode(path)) for path in asked.paths]
    read = _decoding(asked.since, asked.until)
    items = read(paths, cluster=asked.cluster, node=asked.node, at=asked.at, progress=note, skipped=skipped)
    held: list[Decoded] = []
    try:
        for item in items:
            held.append(item)
            if len(held) == ITEMS_A_FRAME:
                write(held)
                held = []
    except SourceError as error:
        refused = str(error)
    write(held, _End(dict(skipped), refused))


if __name__ == "__main__":
    main()
