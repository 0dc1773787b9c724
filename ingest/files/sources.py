"""Any files that hold observations, as one sequence in order of time."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from common.amounts import counted
from ingest.files.capture import read_capture
from ingest.files.dumps import DumpFile, Snapshot, read_dump
from ingest.files.lines import Meter, SourceError, SourceFile
from ingest.files.order import Entry, itself, merged
from ingest.files.sniff import FileKind, file_kind, folder_files
from ingest.model.observation import Observed, Unreadable

T = TypeVar("T")
Progress: TypeAlias = Callable[[int, int, int], None]
"""A callback for bytes read, bytes in all (both on disk, compressed or not), and observations so far."""

_PROGRESS_EVERY: Final = 256
_MOST_NAMED: Final = 5
"""Files that cannot be used, in one message."""


def read_as(
    made: Callable[[Entry], T],
    paths: Sequence[Path],
    *,
    cluster: str = "default",
    node: str = "",
    at: datetime | None = None,
    progress: Progress | None = None,
    skipped: Counter[str] | None = None,
    summaries: bool = False,
) -> Iterator[T]:
    """Yield the results of everything in the paths, in order of `ts`, ties in the order of the paths.

    A path is a capture file, a file of `kubectl get` or of a kubelet's answer, or a folder with any of these files.
    A folder can be a `kubectl cluster-info dump`, a support bundle, a must-gather or a sosreport. `cluster`, `node`
    and `at` (aware) complete a dump; a capture needs none of them. `skipped` counts the kinds of a dump's objects
    that Leadsman does not use. With `summaries` a capture's summaries are decoded at once, for a `made` that uses
    them.

    The same paths give the same sequence. Raises `SourceError` before anything is read for a missing path, or a
    folder without anything known. For files without an observation, or without a place, it raises after all the
    others.
    """
    meter = Meter()
    refused: list[SourceError] = []
    by_kind: Counter[str] = Counter() if skipped is None else skipped
    snapshot = Snapshot(cluster=cluster, node=node, at=at, skipped=by_kind, refused=refused)
    files = [noting(entries, refused) for entries in _read_paths(paths, meter, snapshot, summaries=summaries)]
    observations = 0

    def made_and_counted(entry: Entry) -> T:
        nonlocal observations
        observations += isinstance(entry, Observed) and not entry.is_implied
        return made(entry)

    for number, entry in enumerate(merged(made_and_counted, files), start=1):
        if progress is not None and number % _PROGRESS_EVERY == 0:
            progress(meter.read_bytes, meter.total_bytes, observations)
        yield entry
    if progress is not None:
        progress(meter.read_bytes, meter.total_bytes, observations)
    if refused:
        more = f"; and {counted(len(refused) - _MOST_NAMED, 'more file')}" if len(refused) > _MOST_NAMED else ""
        raise SourceError("; ".join(map(str, refused[:_MOST_NAMED])) + more)


read_sources: Final = partial(read_as, itself)
"""Give everything that the paths hold, as it was read."""


def noting(entries: Iterator[Observed | Unreadable], refused: list[SourceError]) -> Iterator[Observed | Unreadable]:
    """Yield the entries; why they end early is in `refused`, and does not stop others from being read."""
    try:
        yield from entries
    except SourceError as error:
        refused.append(error)


def _read_paths(
    paths: Sequence[Path], meter: Meter, snapshot: Snapshot, *, summaries: bool
) -> Iterator[Iterator[Observed | Unreadable]]:
    """Yield one sequence for each capture, and one for the files of all dumps together."""
    dump: list[DumpFile] = []
    for path in paths:
        captures: list[Path] = []
        if path.is_dir():
            captures, dumps = folder_files(path, snapshot.refused, snapshot.skipped)
            dump += [DumpFile(file, in_folder=True) for file in dumps]
        elif file_kind(path) is FileKind.CAPTURE:
            captures = [path]
        else:
            dump.append(DumpFile(path, in_folder=False))
        for capture in captures:
            meter.total_bytes += capture.stat().st_size
            yield _read_capture(capture, meter, summaries=summaries)
    if dump:
        meter.total_bytes += sum(file.path.stat().st_size for file in dump)
        yield read_dump(dump, meter, snapshot)


def _read_capture(path: Path, meter: Meter, *, summaries: bool) -> Iterator[Observed | Unreadable]:
    with SourceFile(path, meter) as file:
        yield from read_capture(file, summaries=summaries)
