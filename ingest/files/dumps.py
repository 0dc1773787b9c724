"""Saved answers of kubectl and kubelets, and folders of them, as observations."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from common.text import plain
from ingest.files.documents import Bad, Found, Part, json_parts
from ingest.files.envelope import unreadable
from ingest.files.lines import DamagedError, Meter, SourceError, SourceFile
from ingest.files.newest import newest_time
from ingest.files.recognize import Thing, kind_in_path, node_in_path, recognize
from ingest.files.sniff import FileKind, file_kind
from ingest.files.yaml_documents import yaml_parts
from ingest.model.observation import Observation, Observed, Position, Unreadable
from ingest.resources.scheduler_cache import about_the_cache
from ingest.resources.table import TABLE

DUMP_LIMIT_BYTES: Final = 512 * 1024 * 1024
"""A file of a dump is read whole; a capture is not."""


class Snapshot(NamedTuple):
    """What a dump itself does not contain."""

    cluster: str
    node: str
    """Whose kubelet answered; empty where the files show it."""
    at: datetime | None
    """When it was taken."""
    skipped: Counter[str]
    """Counts what the dump holds beyond the resources of a capture, by kind."""
    refused: list[SourceError]
    """Gets what keeps a file of a folder from being read; the others are."""


def read_dump(files: Sequence[Path], root: Path, meter: Meter, snapshot: Snapshot) -> Iterator[Observed | Unreadable]:
    """Yield what the files of one dump hold; `root` is the folder, or the file itself.

    Objects of the API are of type `ADDED`, a later version of the same object is `MODIFIED`, and a repeated
    version is left out.

    `ts` is `snapshot.at`, or the newest time in the objects: for a summary its own, for an object of the API
    that of the whole folder, or without a folder of its List, never before what stands above it in the file. What has
    no time (`configz`, a checkpoint) has the folder's, or the time when the file was last modified.

    The node of a kubelet's answer is the one it names itself (`stats/summary`); else in a folder that of
    `node_in_path`, else `snapshot.node`; a file by itself takes `snapshot.node` first. Raises `SourceError` where
    neither is there, and where a file by itself holds no object at all; what is wrong with a file of a folder is in
    `snapshot.refused`, and the others are read.
    """
    if not root.is_dir():
        ts = snapshot.at or _modified_at(root)
        dump = _Dump(meter, snapshot, in_folder=False, ts=ts)
        yield from _something(dump.read(root), root, snapshot)
        return
    dump = _Dump(meter, snapshot, in_folder=True, ts=snapshot.at or _folder_time(files))
    for path in sorted(files, key=_rank):
        try:
            yield from dump.read(path)
        except SourceError as error:
            snapshot.refused.append(error)


class _Dump:
    """The reading of one dump, file by file."""

    def __init__(self, meter: Meter, snapshot: Snapshot, *, in_folder: bool, ts: datetime) -> None:
        self._meter = meter
        self._snapshot = snapshot
        self._in_folder = in_folder
        self._ts = ts
        self._versions: dict[tuple[str, ...], str] = {}

    def read(self, path: Path) -> Iterator[Observed | Unreadable]:
        kind = file_kind(path)
        with SourceFile(path, self._meter) as file:
            data, damage = _whole(file)
        newest: datetime | None = None
        array_of = kind_in_path(path)
        if self._in_folder and not array_of and data.lstrip().startswith(b"["):
            return  # as the errors of who packed a support bundle
        for part in _parts(kind, data, array_of):
            position = Position(str(path), part.place)
            if isinstance(part, Bad):
                yield unreadable(part.error_type, part.reason, part.raw, position)
                continue
            thing = self._thing(part)
            if thing is None:
                continue
            newest = max(filter(None, (newest, part.newest)), default=None)
            yield self._observed(thing, newest, position, path)
        if damage is not None:
            place = Position(str(path), "end")
            yield unreadable(damage.error_type, str(damage), b"", place)

    def _thing(self, found: Found) -> Thing | None:
        thing = recognize(found)
        if thing is None:
            self._snapshot.skipped[found.kind or "unknown"] += 1
            return None
        if not thing.identity:
            return thing
        known = self._versions.get(thing.identity)
        self._versions[thing.identity] = thing.version
        if known is not None and thing.version == known != "":
            return None
        return thing._replace(type="MODIFIED") if known is not None and thing.type == "ADDED" else thing

    def _observed(self, thing: Thing, newest: datetime | None, position: Position, path: Path) -> Observed:
        own_time = newest if thing.has_own_time or not self._in_folder else None
        observation = Observation(
            ts=self._snapshot.at or own_time or self._ts,
            cluster=self._snapshot.cluster,
            source=thing.source,
            resource=thing.resource,
            type=thing.type,
            node="" if thing.source in {"list", "watch"} else self._node(thing, path),
            object=msgspec.Raw(thing.raw),
        )
        return Observed(observation, position, thing.raw)

    def _node(self, thing: Thing, path: Path) -> str:
        named, given = node_in_path(path), self._snapshot.node
        node = thing.node or (named or given if self._in_folder else given or named)
        if not node:
            raise SourceError(
                f"{plain(path)}: the node of this {thing.resource} is unknown; pass --node NAME,"
                f" or name the file NAME.{thing.resource.replace('/', '-')}.json"
            )
        return node


def _parts(kind: FileKind, data: bytes, array_of: str) -> Iterable[Part]:
    if kind is FileKind.LOG:
        data = about_the_cache(data)
    if kind in {FileKind.METRICS, FileKind.LOG}:
        text = msgspec.Raw(msgspec.json.encode(data.decode(errors="replace")))
        fields = {"text": text}
        return (Found("1", msgspec.json.encode(fields), fields, "", "", None),)
    return yaml_parts(data) if kind is FileKind.YAML else json_parts(data, array_of)


def _whole(file: SourceFile) -> tuple[bytes, DamagedError | None]:
    """Return a file's bytes as UTF-8, and what kept the rest from being read."""
    chunks: list[bytes] = []
    size = 0
    damage: DamagedError | None = None
    try:
        for chunk in file.chunks():
            chunks.append(chunk)
            size += len(chunk)
            if size > DUMP_LIMIT_BYTES:
                limit = f"{DUMP_LIMIT_BYTES >> 20} MiB"
                raise SourceError(f"{plain(file.path)}: larger than {limit}; save the namespaces one by one")
    except DamagedError as error:
        damage = error
    data = b"".join(chunks)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", errors="replace").encode()
    return data.removeprefix(b"\xef\xbb\xbf"), damage


def _folder_time(files: Sequence[Path]) -> datetime:
    times: list[datetime] = []
    for path in files:
        newest: datetime | None = None
        with suppress(SourceError), SourceFile(path) as file:  # it is refused when its turn comes
            newest = newest_time(_whole(file)[0])
        if newest is not None:
            times.append(newest)
    return max(times, default=None) or max(_modified_at(path) for path in files)


def _modified_at(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _rank(path: Path) -> tuple[int, Path]:
    """In the order of the table; the times of one dump are all the same."""
    name = f"{path.parent.name}/{path.name}"
    return next((rank for rank, resource in enumerate(TABLE) if resource.is_named(name)), len(TABLE)), path


def _something(
    entries: Iterable[Observed | Unreadable], path: Path, snapshot: Snapshot
) -> Iterator[Observed | Unreadable]:
    """Raise `SourceError` where a file given by itself holds nothing but what cannot be used."""
    held: list[Unreadable] = []
    some = False
    before = snapshot.skipped.copy()
    for entry in entries:
        if not some and isinstance(entry, Unreadable):
            held.append(entry)
            continue
        some = True
        yield from held
        held.clear()
        yield entry
    if some:
        return
    if held:
        first = held[0]
        raise SourceError(f"{plain(path)}: holds no object that can be read; {first.position.place}: {first.reason}")
    if other := snapshot.skipped - before:
        kinds = ", ".join(f"{plain(kind, 80)} ({count})" for kind, count in other.most_common(5))
        raise SourceError(f"{plain(path)}: holds nothing that Leadsman reads, only {kinds}")
