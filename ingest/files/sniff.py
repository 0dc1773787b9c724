"""What a file is, by its first bytes, and which files of a folder Leadsman reads."""

import re
from enum import Enum
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from common.text import plain
from ingest.files.lines import DamagedError, SourceError, SourceFile
from ingest.resources.table import OF_NODES, WATCHED


class FileKind(Enum):
    CAPTURE = "capture"
    JSON = "json"
    """Objects of the API, or the answer of a kubelet."""
    YAML = "yaml"
    METRICS = "metrics"
    LOG = "log"
    """Of a scheduler, as klog writes it, with or without what a container runtime puts before."""


class Folder(NamedTuple):
    captures: list[Path]
    dumps: list[Path]


_ENVELOPE: Final = re.compile(
    rb'^\{[ \t]*(?:"(?:ts|cluster|source|resource|type|node)"[ \t]*:[ \t]*"|"object"[ \t]*:)', re.MULTILINE
)
_WATCH_EVENT: Final = re.compile(rb'\s*\{\s*"type"\s*:\s*"[A-Z]+"\s*,\s*"object"\s*:')
_JSON: Final = re.compile(rb"\s*(?:\{|\[\s*[\{\]])")
_YAML: Final = re.compile(rb"(?:---\s*\n|#[^\n]*\n)*(?:apiVersion|kind|items|metadata):")
_METRICS: Final = re.compile(
    rb"# (?:HELP|TYPE) [a-zA-Z_:][\w:]* [^\n]+\n"
    rb"|[a-zA-Z_:][\w:]*(?:\{[^}\n]*\})? (?:[-+]?[0-9][0-9.eE+-]*|[-+]?Inf|NaN)(?: [0-9]+)?\n"
)
_MUST_GATHER_YAML: Final = re.compile(
    rf"(?:^|/)(?:{'|'.join(each.must_gather for each in WATCHED if each.must_gather)})\.yaml$"
)
_NODE_FILES: Final = tuple(Path(each.file).name for each in OF_NODES if each.file)
_OF_SOS: Final = re.compile(
    r"_get_(?P<form>-o_json|--all-namespaces.true)_(?:--namespace_[^/]+_)?"
    rf"(?:{'|'.join(each.name for each in WATCHED)})$"
)
"""How sos names what kubectl gave it, in `sos_commands/kubernetes`."""
_JOURNAL: Final = re.compile(r"(?:^|/)journalctl_[^/]*_kubelet$")
_LOG: Final = re.compile(rb"(?:\S+ std(?:out|err) [FP] )?[IWEF][0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]+ ")
_SCHEDULER_NAME: Final = re.compile(r"scheduler[^/]*\.(?:log|txt|prom)$")
_METRICS_NAME: Final = re.compile(r"(?:^|[._-])metrics(?:\.(?:txt|prom))?$")


def file_kind(path: Path) -> FileKind:
    """What a file is, by its first bytes; raises `SourceError` where it cannot be opened.

    What is not clearly something else counts as a capture, whose reader reports what is wrong with it. So does a
    pipe, which can be read only once.
    """
    if path.exists() and not path.is_file():
        return FileKind.CAPTURE
    with SourceFile(path) as file:
        try:
            head = next(file.chunks(), b"")
        except DamagedError:
            return FileKind.CAPTURE
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        # PowerShell's `>` writes UTF-16
        head = head[: len(head) & ~1].decode("utf-16", errors="replace").encode()
    return _kind_of(head.removeprefix(b"\xef\xbb\xbf"))


def _kind_of(head: bytes) -> FileKind:
    if _ENVELOPE.search(head) and not _WATCH_EVENT.match(head):
        return FileKind.CAPTURE
    if _JSON.match(head):
        return FileKind.JSON
    if _YAML.match(head):
        return FileKind.YAML
    if _LOG.match(head):
        return FileKind.LOG
    return FileKind.METRICS if _METRICS.match(head) else FileKind.CAPTURE


def folder_files(folder: Path, refused: list[SourceError] | None = None) -> Folder:
    """Return the captures of a folder and the files of a dump in it, each in order of name.

    A symlink that leads out of the folder is left out: who packs a dump may not name files of its reader.
    One that cannot be opened is added to `refused`. Raises `SourceError` where nothing is known.
    """
    root = folder.resolve()
    captures: list[Path] = []
    dumps: list[Path] = []
    refused = [] if refused is None else refused
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.resolve().is_relative_to(root)):
        wanted = wanted_kinds(path.relative_to(folder))
        try:
            if wanted and (kind := file_kind(path)) in wanted:
                (captures if kind is FileKind.CAPTURE else dumps).append(path)
            elif (of_sos := _OF_SOS.search(path.name)) and of_sos["form"] != "-o_json":
                refused.append(SourceError(f"{plain(path)}: a table without objects; sos needs -k kubernetes.all=on"))
        except SourceError as error:
            refused.append(error)
    if not captures and not dumps and not refused:
        raise SourceError(
            f"{plain(folder)}: nothing in this folder is known: no capture (*.jsonl, plain, .gz or .zst), no dump"
            " of kubectl (*.json), no support bundle, no must-gather, no answer of a kubelet"
        )
    return Folder(captures, dumps)


def wanted_kinds(path: PurePath) -> frozenset[FileKind]:
    """What a file in a folder may be, by its name; a dump has many gigabytes of logs beside its objects."""
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    if name.endswith((".jsonl", ".ndjson")):
        return frozenset({FileKind.CAPTURE, FileKind.JSON})
    if name.endswith((".json", *_NODE_FILES)) or _OF_SOS.search(name):
        return frozenset({FileKind.JSON})
    if _MUST_GATHER_YAML.search(path.as_posix()):
        return frozenset({FileKind.YAML})
    if _SCHEDULER_NAME.search(name):
        return frozenset({FileKind.METRICS, FileKind.LOG})
    of_kubelet = _METRICS_NAME.search(name) and "_get_--raw_" not in name  # that is how sos names the API server's
    return frozenset({FileKind.METRICS}) if of_kubelet else frozenset()


def left_out(path: PurePath) -> str:
    """What a file in a folder is, by its name, that readers may expect to be read and is not; empty for others."""
    return "journal of a kubelet" if _JOURNAL.search(path.as_posix()) else ""
