"""Shows the progress of reading files."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from common.amounts import counted
from ingest.files.sources import Progress

ALL_READ: Final = "analysing"
"""The last phase: folding the last observations, and storing the results."""
LINE_EVERY_SECONDS: Final = 10.0
"""Interval between progress lines without a terminal; shorter work prints none."""


@contextmanager
def progress_bar(
    *, quiet: bool = False, stream: TextIO | None = None, now: Callable[[], float] = time.monotonic
) -> Iterator[Progress]:
    """Yield a callback for `read_sources` that shows rate and remaining time on `stream`, by default stderr.

    On a terminal it shows a bar that disappears at the end; otherwise a line every `LINE_EVERY_SECONDS` of `now`;
    with `quiet` nothing.
    """
    stream = sys.stderr if stream is None else stream
    if quiet:
        yield lambda *_: None
    elif stream.isatty():
        with _bar(stream) as progress:
            yield progress
    else:
        yield _lines(stream, now)


@contextmanager
def _bar(stream: TextIO) -> Iterator[Progress]:
    from rich import progress as rich  # noqa: PLC0415 - only a terminal needs it
    from rich.console import Console  # noqa: PLC0415 - as above

    bar = rich.Progress(
        rich.TextColumn("{task.description}"),
        rich.BarColumn(),
        rich.TaskProgressColumn(),
        rich.DownloadColumn(binary_units=True),
        rich.TransferSpeedColumn(),
        rich.TextColumn("{task.fields[observations]} observations"),
        rich.TimeRemainingColumn(),
        console=Console(file=stream),
        transient=True,
    )
    task = bar.add_task("reading", total=None, observations=0)

    def progress(read_bytes: int, total_bytes: int, observations: int) -> None:
        is_read = 0 < total_bytes <= read_bytes
        bar.update(
            task,
            description=ALL_READ if is_read else "reading",
            completed=read_bytes,
            total=None if is_read else total_bytes or None,
            observations=observations,
        )

    with bar:
        yield progress


def _lines(stream: TextIO, now: Callable[[], float]) -> Progress:
    began = last = now()
    is_read = False

    def progress(read_bytes: int, total_bytes: int, observations: int) -> None:
        nonlocal last, is_read
        at, was_read = now(), is_read
        is_read = 0 < total_bytes <= read_bytes
        if at - last >= LINE_EVERY_SECONDS or (is_read and not was_read and at - began >= LINE_EVERY_SECONDS):
            last = at
            print(progress_line(read_bytes, total_bytes, observations, at - began), file=stream, flush=True)

    return progress


def progress_line(read_bytes: int, total_bytes: int, observations: int, seconds: float) -> str:
    """Return a line with the amount read in `seconds`, the rate, and the time left at that rate."""
    if not read_bytes:
        return "reading"
    if 0 < total_bytes <= read_bytes:
        return f"read {_mebibytes(read_bytes)} MiB, {counted(observations, 'observation')}; {ALL_READ}"
    rate = read_bytes / seconds if seconds > 0 else 0.0
    parts = [f"read {_mebibytes(read_bytes)} MiB", counted(observations, "observation"), f"{_mebibytes(rate)} MiB/s"]
    if total_bytes:
        parts[0] = f"read {_mebibytes(read_bytes)} of {_mebibytes(total_bytes)} MiB ({read_bytes / total_bytes:.0%})"
        if rate:
            parts.append(f"{(total_bytes - read_bytes) / rate:.0f} s left")
    return ", ".join(parts)


def _mebibytes(size: float) -> str:
    return f"{size / 1024 / 1024:.1f}"
