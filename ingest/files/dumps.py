"""Reads saved answers of kubectl and kubelets, and folders of them, as observations."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import xxhash

from common.text import plain
from ingest.files import texts
from ingest.files.around import as_utf8, by_node, is_csv, rows_as_json, without_prefixes
from ingest.files.clusters import Clusters
from ingest.files.documents import Bad, Found, Part, json_parts, within
from ingest.files.envelope import unreadable
from ingest.files.history import Fact, history
from ingest.files.lines import DamagedError, Meter, SourceError, SourceFile, named
from ingest.files.otlp import LOGS, logged
from ingest.files.recognize import Thing, is_manifest, kind_in_path, node_in_path, recognize
from ingest.files.sniff import FileKind, file_kind, kind_of
from ingest.files.texts.fragments import strip_stars
from ingest.files.texts.mixed import LIMIT_BYTES, split_mixed
from ingest.files.texts.shipped import lines_beside, lines_in, texts_in
from ingest.files.unread import SAVE, left_out, of_kind, only_skipped, unread, without_kind
from ingest.files.yaml_documents import yaml_parts
from ingest.model.objects.base import UNKNOWN_NAME
from ingest.model.observation import UNDECODABLE, Observed, Position, Unreadable
from ingest.resources.kubelet import CONFIGZ
from ingest.resources.nodes import NODES
from ingest.resources.scheduler_cache import about_the_cache, is_about_a_cache
from ingest.resources.table import TABLE

DUMP_LIMIT_BYTES: Final = 512 * 1024 * 1024
"""A file of a dump is read whole; a capture is not."""
_KUBELETS_METRICS: Final = b"kubelet_"


class DumpContext(NamedTuple):
    """Facts about a dump that the dump itself lacks."""

    cluster: str
    node: str
    """The node whose kubelet answered; empty if the files name it."""
    at: datetime | None
    """When it was taken."""
    skipped: Counter[str]
    """Number of objects in the dump that captures do not include, by kind."""
    errors: list[SourceError]
    """Receives the error of each unreadable file."""


class DumpFile(NamedTuple):
    path: Path
    in_folder: bool
    text: bytes | None = None
    """The lines of one cluster, of a text with several; None of any other file."""


def read_dump(files: Sequence[DumpFile], meter: Meter, context: DumpContext) -> Iterator[Observed | Unreadable]:
    """Yield the observations in the files of one dump, as the history that it implies (`ingest.files.history`).

    Objects of the API have type `ADDED`, a later version of the same object `MODIFIED`; repeated versions are left
    out. The time of reading is `context.at`, else the newest time in all files, else when the last file was
    modified. A kubelet's answer belongs to the node that it names (`stats/summary`). Otherwise a file in a folder
    gets its node from `node_in_path`, then from `context.node`; for a single file, `context.node` comes first. The
    last resort is the only node of the dump. Errors of files go to `context.errors`, and the other files are read.
    """
    dump = _Dump(context)
    for file in sorted(files, key=_rank):
        try:
            dump.read(file)
        except SourceError as error:
            context.errors.append(error)
    context.errors.extend(map(SourceError, dump.clusters.said))
    facts, newest = dump.facts(max(_modified_at(file.path) for file in files))
    read_at = context.at or newest
    size, done = sum(len(fact.thing.raw) for fact in facts), 0
    on_disk = sum(file.path.stat().st_size for file in files)
    for observed in history(facts, read_at, context.cluster, dump.texts):
        yield observed
        # counted only now, because the consumer has processed the item
        done = min(done + len(observed.raw), size)
        meter.read_bytes += on_disk * done // max(size, 1) - meter.of_dump
        meter.of_dump = on_disk * done // max(size, 1)
    meter.read_bytes += on_disk - meter.of_dump
    yield from dump.unreadable


class _Dump:
    _logs: "cached_property[texts.Logs]" = cached_property(lambda _: texts.Logs())

    def __init__(self, context: DumpContext) -> None:
        self.newest: datetime | None = None
        self.unreadable: list[Unreadable] = []
        self._context = context
        self._facts: list[tuple[Fact, DumpFile]] = []
        self._nodes: set[str] = set()
        self._answering: set[str] = set()
        """The nodes whose kubelets' answers name them."""
        self._by_folder: dict[Path, datetime] = {}
        """The newest time in the files of each folder and its subfolders."""
        self._unnamed: Path | None = None
        """The only log without a named node; a second one could be of another node."""
        self._pasted: list[Fact] = []
        self._texts: set[int] = set()
        self.clusters = Clusters()

    def read(self, file: DumpFile) -> None:
        path, before = file.path, (len(self._facts), len(self._pasted), len(self.unreadable))
        error_count, skipped = len(self._context.errors), Counter[str]()
        kind = file_kind(path)
        with SourceFile(path) as source:
            data, damage = _whole(source)
        if file.text is not None:
            data, kind = file.text, kind_of(file.text) or FileKind.TEXT
        log_lines, newest = self._add(kind, data, file, skipped)
        is_nothing = (len(self._facts), len(self._pasted)) == before[:2] and not log_lines
        if kind is FileKind.TEXT and newest is None and is_nothing and not skipped:
            raise SourceError.of(path, plain(unread(path, data).what))
        self._context.skipped.update(skipped)
        self._note(newest, path)
        if damage is not None:
            self.unreadable.append(unreadable(damage.error_type, str(damage), b"", Position(named(path), "end")))
        if is_nothing and not (file.in_folder or log_lines) and len(self._context.errors) == error_count:
            self._refuse_empty(path, before[2], skipped)

    def _add(
        self, kind: FileKind, data: bytes, file: DumpFile, skipped: Counter[str]
    ) -> tuple[int | None, datetime | None]:
        """Add a file's content in all its forms.

        Return the number of log lines of a kubelet or attempts of a scheduler, if it has any, and the newest time in
        the other content.
        """
        if kind in {FileKind.JSON, FileKind.TEXT} and (answers := by_node(data)):
            found = [
                self._add_parts(kind_of(text) or FileKind.JSON, text, file, skipped, node) for node, text in answers
            ]
            return None, max(filter(None, found), default=None)
        tried = self._logs.add_scheduler(file.path, data) if kind is FileKind.LOG else 0
        if tried and not (is_about_a_cache(data) or texts.is_kubelets_log(data)):
            return tried, None
        if kind not in {FileKind.LOG, FileKind.TEXT} or is_about_a_cache(data):
            is_small = kind in {FileKind.JSON, FileKind.YAML} and len(data) <= LIMIT_BYTES
            shipped, data = lines_beside(data) if is_small else ([], data)
            newest = self._add_parts(kind, data, file, skipped, shipped=shipped)
            text = "\n".join(shipped).encode(errors="replace")
            log_lines = self._logs.add(file.path, text, _modified_at(file.path)) if shipped else None
            if log_lines == 0:
                skipped[texts.without_lines(text)] += 1
            return log_lines, newest
        is_small = len(data) <= LIMIT_BYTES
        data = strip_stars(data) if is_small else data
        is_log = texts.is_kubelets_log(data)
        log_lines = self._logs.add(file.path, data, _modified_at(file.path)) if is_log else None
        if kind is FileKind.LOG and (log_lines is None or not is_small or not texts.is_pasted(data)):
            if log_lines == 0:
                skipped[texts.without_lines(data)] += 1
            return log_lines, None if is_log else self._add_parts(kind, data, file, skipped)
        objects, nodes, rest = split_mixed(data) if is_small else ([], [], data)
        found = [
            self._add_parts(kind_of(text) or kind, text, file, skipped, node)
            for text, node in zip(objects, nodes, strict=True)
        ]
        found.append(self._add_parts(FileKind.TEXT, rest, file, skipped))
        for line, each in left_out(rest) if is_small else ():
            if each.is_evidence:
                self._context.errors.append(SourceError.of(file.path, f"line {line}: {plain(each.what)}"))
            else:
                skipped[each.what] += 1
        return log_lines or None, max(filter(None, found), default=None)

    def _add_parts(
        self,
        kind: FileKind,
        data: bytes,
        file: DumpFile,
        skipped: Counter[str],
        node: str = "",
        shipped: list[str] | None = None,
    ) -> datetime | None:
        """Add the objects of one form, and kubelets' lines from a log store to `shipped`.

        Return the newest time in the objects. `node` is that of a kubelet's answer that names none.
        """
        newest: datetime | None = None
        is_text = kind is FileKind.TEXT
        of_text = xxhash.xxh3_64_intdigest(data) if is_text else 0
        at = self._context.at, _modified_at(file.path)
        parts = texts.pasted_parts(data, *at) if is_text else _parts(kind, data, file)
        for part in chain.from_iterable(_unwrap(each, shipped) for each in parts):
            position = Position(named(file.path), part.place)
            if isinstance(part, Bad):
                self.unreadable.append(unreadable(part.error_type, part.reason, part.raw, position))
                continue
            if shipped is not None and not part.kind and self._add_texts(part, file, skipped):
                continue
            thing = self._thing(part, file.path, skipped)
            if thing is None:
                continue
            thing = thing._replace(node=thing.node or node) if thing.source == "kubelet" else thing
            newest = max(filter(None, (newest, part.newest)), default=None)
            if thing.resource == NODES.name:
                self._nodes.add(thing.identity[2] if thing.identity else "")
            fact = Fact(thing, thing.node, newest, position)
            if is_text or thing.is_flattened:
                self._pasted.append(fact)
                self._texts.add(of_text or xxhash.xxh3_64_intdigest(thing.raw))
            else:
                self._facts.append((fact, file))
        return newest

    def _add_texts(self, part: Found, file: DumpFile, skipped: Counter[str]) -> bool:
        """Add kubectl output that is inside another program's JSON; tell whether there was any."""
        before = len(self._facts), len(self._pasted)
        for text in texts_in(part.raw) if recognize(part) is None else ():
            if kind_of(text) in {FileKind.TEXT, FileKind.YAML}:
                _, newest = self._add(FileKind.TEXT, text, file, skipped)
                self._note(newest, file.path)
        return (len(self._facts), len(self._pasted)) != before or next(lines_in(part.raw), None) is not None

    def _note(self, newest: datetime | None, path: Path) -> None:
        """Remember the newest time in a file, for neighbouring files without one."""
        if newest is not None:
            self.newest = max(filter(None, (self.newest, newest)))
            for folder in path.parents:
                self._by_folder[folder] = max(self._by_folder.get(folder, newest), newest)

    def facts(self, modified_at: datetime) -> tuple[list[Fact], datetime]:
        """Return all facts with their nodes, and the newest time in them, or else that of the files."""
        found, intended = list[Fact](), list[Fact]()
        self._answering = {each.thing.node for each, _ in self._facts} - {""}
        for each, file in self._facts:
            fact = each._replace(beside=self._newest_beside(file.path)) if each.newest is None else each
            if fact.thing.is_of_all_nodes:
                intended.append(fact)
            elif fact.thing.source in {"list", "watch"}:
                found.append(fact)
            elif node := self._node(fact.thing, file):
                found.append(fact._replace(node=node))
        for fact in intended if not self._nodes else ():
            what = "settings of kubelets that are not in the dump; save the nodes too: kubectl get nodes -o json"
            self._refuse(fact.position.source, what)
        answered = {fact.node for fact in found if fact.thing.resource == CONFIGZ.name}
        silent = sorted(self._nodes - answered - {""})
        found += [fact._replace(node=node) for fact in intended for node in silent]
        if not (self._pasted or self._has_logs):
            return found, self._context.at or self.newest or modified_at
        known = self._logs.uids, self._logs.nodes_of_pods
        found += (pasted := list(texts.completed_facts(self._pasted, found, *known, self._context.errors)))
        times = (self.newest, self._logs.newest, *(fact.newest for fact in pasted))
        newest = self._context.at or max(filter(None, times), default=None)
        lines = list(
            self._logs.facts(
                found,
                newest or modified_at,
                self._node_of_log,
                is_dated=newest is not None,
                given=self._context.node,
            )
        )
        printed = modified_at if newest is None and self._pasted else None  # for text without any time
        latest = max(filter(None, (newest, printed, *(fact.newest for fact in lines))), default=modified_at)
        return [*found, *lines], latest

    @property
    def _has_logs(self) -> bool:
        return "_logs" in vars(self)

    @property
    def texts(self) -> set[int]:
        """Return a 64-bit hash of each pasted text, and of each known line of a kubelet's log."""
        return self._texts | (self._logs.texts if self._has_logs else set())

    def _newest_beside(self, path: Path) -> datetime | None:
        return next((self._by_folder[each] for each in path.parents if each in self._by_folder), None)

    def _node_of_log(self, path: Path, host: str) -> str:
        node = self._context.node or host or _only(self._nodes or self._answering)
        if not node and self._unnamed in (None, path):
            self._unnamed = path
            return UNKNOWN_NAME
        if not node:
            what = "the node of this kubelet's log is unknown; name the file NODE.kubelet.log"
            self._refuse(named(path), f"{what}, or give it to leadsman replay --node NODE")
        return node

    def _refuse(self, source: str, what: str) -> None:
        self._context.errors.append(SourceError(f"{plain(source)}: {what}"))

    def _thing(self, found: Found, path: Path, skipped: Counter[str]) -> Thing | None:
        self.clusters.note(found, path)
        instead = of_kind(found.kind, found.api_version, found.fields)
        thing = None if instead else recognize(found)
        if thing is None:
            if instead:
                message = found.fields.get("message", b"") if found.kind == "Status" else b""
                text = f"{instead}: {bytes(message).decode(errors='replace')}" if message else instead
                error = SourceError.of(path, plain(text))
                if str(error) not in map(str, self._context.errors[-1:]):
                    self._context.errors.append(error)
            else:
                what = f"{found.kind} of a manifest, not of a cluster" if is_manifest(found) else found.kind
                skipped[what or without_kind(found.fields)] += 1
        return thing

    def _node(self, thing: Thing, file: DumpFile) -> str:
        by_path, given = node_in_path(file.path), self._context.node
        node = thing.node.replace(UNKNOWN_NAME, "") or (by_path or given if file.in_folder else given or by_path)
        others = (self._answering | (self._logs.hosts if self._has_logs else set())) - {"", UNKNOWN_NAME}
        node = node or _only(self._nodes or others) or thing.node
        if not node:
            name = f"NODE.{thing.resource.replace('/', '-')}.json"
            what = f"the node of this {thing.resource} is unknown; name the file {name}"
            self._refuse(named(file.path), f"{what}, or give it to leadsman replay --node NODE")
        return node

    def _refuse_empty(self, path: Path, unreadable_before: int, skipped: Counter[str]) -> None:
        """Refuse a file that was given on its own if its content cannot be used."""
        bad = self.unreadable[unreadable_before:]
        if bad:
            del self.unreadable[unreadable_before:]
            first = bad[0]
            is_repr = first.raw.lstrip(b"[ \n").startswith(b"{'")
            why = f"objects as Python prints them; {SAVE}" if is_repr else first.reason
            raise SourceError.of(path, f"holds no object that can be read; {first.position.place}: {why}")
        if skipped:
            raise only_skipped(named(path), skipped)


def _only(nodes: set[str]) -> str:
    return next(iter(nodes)) if len(nodes) == 1 else ""


def _parts(kind: FileKind, data: bytes, file: DumpFile) -> Iterable[Part]:
    if kind in {FileKind.METRICS, FileKind.LOG}:
        about_cache = is_about_a_cache(data)
        if not about_cache and (
            kind is FileKind.LOG or not (data.startswith(_KUBELETS_METRICS) or b"\n" + _KUBELETS_METRICS in data)
        ):
            raise SourceError.of(file.path, plain(unread(file.path, data).what))
        data = about_the_cache(data) if kind is FileKind.LOG else data
        text = msgspec.Raw(msgspec.json.encode(data.decode(errors="replace")))
        fields = {"text": text}
        return (Found("1", msgspec.json.encode(fields), fields, "", "", None),)
    if kind is FileKind.YAML:
        return yaml_parts(data)
    array_of = kind_in_path(file.path)
    parts = json_parts(rows_as_json(data) if is_csv(data) else without_prefixes(data), array_of)
    if file.in_folder and not array_of and data.lstrip().startswith(b"["):
        # for example errors of the tool that packed a support bundle
        return (part for part in parts if isinstance(part, Found))
    return parts


def _unwrap(part: Part, shipped: list[str] | None = None) -> Iterable[Part]:
    """Return objects inside an object that has no kind and is not itself known. `shipped` receives lines of
    kubelets.
    """
    if isinstance(part, Bad) or part.kind or "object" in part.fields or recognize(part) is not None:
        return (part,)
    if shipped is not None:
        shipped += lines_in(part.raw)
    with suppress(*UNDECODABLE):
        found = list(logged(part) if LOGS in part.fields else within(part))
        if found:
            return found
    return (part,)


def _whole(file: SourceFile) -> tuple[bytes, DamagedError | None]:
    """Return a file's bytes as UTF-8, and the reason why the rest cannot be read."""
    chunks: list[bytes] = []
    size = 0
    damage: DamagedError | None = None
    try:
        for chunk in file.chunks():
            chunks.append(chunk)
            size += len(chunk)
            if size > DUMP_LIMIT_BYTES:
                limit = f"{DUMP_LIMIT_BYTES >> 20} MiB"
                raise SourceError.of(file.path, f"larger than {limit}; save one namespace at a time")
    except DamagedError as error:
        damage = error
    return as_utf8(b"".join(chunks)), damage


def _modified_at(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _rank(file: DumpFile) -> tuple[int, Path]:
    """Return the sort key of a file: its resource's position in the table, so that errors come in a fixed order."""
    name = f"{file.path.parent.name}/{file.path.name}"
    return next((rank for rank, resource in enumerate(TABLE) if resource.is_named(name)), len(TABLE)), file.path
