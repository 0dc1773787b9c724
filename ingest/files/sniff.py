"""Identifies a file by its first bytes, and lists the files of a folder that Leadsman reads."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import Enum
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from common.text import plain
from ingest.files import texts
from ingest.files.around import ANSWERED, TYPED, as_utf8, is_csv, is_prefixed
from ingest.files.lines import DamagedError, SourceError, SourceFile
from ingest.files.texts.mixed import has_objects, is_mixed
from ingest.files.unread import is_archive, is_log_of_container, unread
from ingest.resources.scheduler_cache import is_about_a_cache
from ingest.resources.table import WATCHED


class FileKind(Enum):
    CAPTURE = "capture"
    JSON = "json"
    """Objects of the API, or the answer of a kubelet."""
    YAML = "yaml"
    METRICS = "metrics"
    LOG = "log"
    """A log in klog's format, such as a scheduler's, with or without a container runtime's prefix."""
    TEXT = "text"
    """Text that kubectl prints for people, possibly with objects in it."""


class Folder(NamedTuple):
    captures: list[Path]
    dumps: list[Path]


_LINE: Final = re.compile(
    rb'^\{[ \t]*(?:"(?:ts|cluster|source|resource|node)"[ \t]*:[ \t]*"|"type"[ \t]*:[ \t]*"[A-Z]|"object"[ \t]*:)',
    re.MULTILINE,
)
_ENVELOPE: Final = (b'"ts"', b'"resource"', b'"source"')
_WATCH_EVENT: Final = re.compile(rb'\s*\{\s*"type"\s*:\s*"[A-Z]+"\s*,\s*"object"\s*:')
_JSON: Final = re.compile(rb"\s*(?:\{|\[\s*[\{\]])")
_JSON_LATER: Final = re.compile(rb"^(?:\{\s*\"|\[\s*\{)", re.MULTILINE)
"""Matches objects behind kubectl's own warnings and errors."""
_NOTED: Final = re.compile(
    rb"(?:(?:Warning|Error|error|[WEI]\d{4} |Flag |I0|W0|E0|Unable|#|" + TYPED + rb")[^\n]*\n"
    rb"|[^\n{}]{0,200}\n(?=```)|[ \t\r\f\v]*\n)+"
)
_YAML: Final = re.compile(
    rb"(?:(?:---|%YAML|#|Warning:|"
    + TYPED
    + rb")[^\n]*\n|[ \t\r\f\v]*\n)*(?:apiVersion|kind|items|metadata|insertId|[ \t]*- apiVersion):"
)
_LOG: Final = re.compile(rb"(?:\S+ std(?:out|err) [FP] )?[IWEF][0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]+ ")
_JSON_LOG: Final = re.compile(rb'\s*\{(?:"ts":\d|[^\n]{0,4000}"__REALTIME_TIMESTAMP" ?:)')
_METRICS: Final = re.compile(
    rb"# (?:HELP|TYPE) [a-zA-Z_:][\w:]* [^\n]+\n"
    rb"|(?:[a-zA-Z_:][\w:]*\{[^}\n]*\}|[a-zA-Z]\w*_[\w:]*) (?:[-+]?[0-9][0-9.eE+-]*|[-+]?Inf|NaN)(?: [0-9]+)?"
    rb"(?:\n|\Z)"
)
"""A metric without labels needs an underscore in its name: `sos 4.7` is not a sample."""
_OF_KUBELET: Final = re.compile(rb"^kubelet_\w+[ {]", re.MULTILINE)
_WANTED: Final = re.compile(
    rb"^(?:- |[ ]{0,4})kind: [\"']?(?:%b|KubeletConfiguration|ClusterVersion|Lease|List|Table|Status)(?:List)?"
    rb"[\"']?\s*$"
    rb"|^insertId:" % "|".join(kind for each in WATCHED for kind in each.kinds).encode(),
    re.MULTILINE,
)
_OF_SOS: Final = re.compile(
    r"_get_(?P<form>-o_json|--all-namespaces.true)_(?:--namespace_[^/]+_)?"
    rf"(?:{'|'.join(each.name for each in WATCHED)})$"
)
"""Names that sos gives kubectl's output in `sos_commands/kubernetes`."""
_JOURNAL: Final = re.compile(r"(?:^|/)journalctl_[^/]*_kubelet$")
_LINES: Final = frozenset({".jsonl", ".ndjson"})
_PACKED: Final = re.compile(r"\.(?:gz|zst)$")


def file_kind(path: Path) -> FileKind:
    """Identify a file by its first bytes; raises `SourceError` if it cannot be opened.

    A file that is not clearly something else counts as a capture, whose reader reports what is wrong with it. So does
    a pipe, which can be read only once.
    """
    if path.exists() and not path.is_file():
        return FileKind.CAPTURE
    return kind_of(head_of(path)) or FileKind.CAPTURE


def head_of(path: Path) -> bytes:
    """Return the first bytes as UTF-8, decompressed; empty if that fails."""
    with SourceFile(path) as file:
        try:
            head = next(file.chunks(), b"")
        except DamagedError:
            return b""
    return as_utf8(head)


def kind_of(head: bytes) -> FileKind | None:
    """Identify a file by its first bytes; None for an unsupported one."""
    if is_archive(head):
        return None
    if _LINE.search(head) and not _WATCH_EVENT.match(head) and any(each in head for each in _ENVELOPE):
        return FileKind.CAPTURE
    return next((kind for kind, is_so in _FORMS if is_so(head)), None)


def _is_json(head: bytes) -> bool:
    noted = _NOTED.match(head)
    return bool(_JSON.match(head) or (noted and _JSON_LATER.match(head, noted.end())))


def _is_pasted(head: bytes) -> bool:
    return texts.is_pasted(head)


def _is_schedulers_log(head: bytes) -> bool:
    return texts.is_schedulers_log(head)


_FORMS: Final[tuple[tuple[FileKind, Callable[[bytes], object]], ...]] = (
    (FileKind.LOG, lambda head: _JSON_LOG.match(head) and (texts.is_kubelets_log(head) or _is_schedulers_log(head))),
    (FileKind.TEXT, is_mixed),
    (FileKind.JSON, lambda head: _is_json(head) or is_csv(head) or ANSWERED.match(head)),
    (FileKind.YAML, _YAML.match),
    (FileKind.LOG, lambda head: _LOG.match(head) or texts.is_kubelets_log(head)),
    (FileKind.METRICS, _METRICS.match),
    (FileKind.JSON, is_prefixed),
    (FileKind.TEXT, _is_pasted),
    (FileKind.LOG, _is_schedulers_log),
    (FileKind.TEXT, has_objects),
)
"""Forms by their first bytes, the most certain first."""


def folder_files(
    folder: Path, refused: list[SourceError] | None = None, skipped: Counter[str] | None = None
) -> Folder:
    """Return the captures of a folder and the files of a dump in it, each in order of name.

    Symlinks out of the folder are skipped, because the author of a dump must not name files of its reader. Files that
    look like evidence but are unsupported, or cannot be opened, are added to `refused`. `skipped` counts the other
    files. Raises `SourceError` if no file is known.
    """
    captures: list[Path] = []
    dumps: list[Path] = []
    refused = [] if refused is None else refused
    skipped = Counter() if skipped is None else skipped
    for path in sorted(_files(folder, folder.resolve())):
        try:
            kind = _wanted(path, path.relative_to(folder), refused, skipped)
        except SourceError as error:
            refused.append(error)
            continue
        if kind is not None:
            (captures if kind is FileKind.CAPTURE else dumps).append(path)
    if not captures and not dumps and not refused:
        raise SourceError.of(
            folder,
            "this folder has nothing that Leadsman reads: "
            "no capture (*.jsonl, plain, .gz or .zst), no dump (*.json), "
            "no support bundle, no must-gather, no answer of a kubelet",
        )
    return Folder(captures, dumps)


def _files(folder: Path, root: Path) -> Iterator[Path]:
    """Yield the files below a folder, and links to files below `root`, at any depth."""
    todo = [str(folder)]
    while todo:
        entries: list[os.DirEntry[str]] = []
        with suppress(OSError), os.scandir(todo.pop()) as found:
            entries.extend(found)
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                todo.append(entry.path)
            elif not entry.is_symlink():
                yield from [Path(entry.path)] if entry.is_file() else []
            elif (path := Path(entry.path)).is_file() and path.resolve().is_relative_to(root):
                yield path


def _wanted(path: Path, inside: PurePath, refused: list[SourceError], skipped: Counter[str]) -> FileKind | None:
    """Return the kind of a file of a folder; None if it is not read.

    `refused` receives evidence that cannot be read, and `skipped` counts most other files.
    """
    if "sos_commands" in path.parts:
        return _of_sos(path, refused)
    if is_log_of_container(inside):
        return None
    head = head_of(path)
    kind = kind_of(head)
    if kind is None and head.strip() and PurePath(_PACKED.sub("", inside.name)).suffix in _LINES:
        return FileKind.CAPTURE
    if kind is not None and _holds_something(kind, head, inside):
        return kind
    what, is_evidence = unread(inside, head)
    if kind is FileKind.YAML:
        skipped["YAML of other kinds"] += 1
    elif is_evidence:
        refused.append(SourceError.of(path, plain(what)))
    else:
        skipped[what] += 1
    return None


def _holds_something(kind: FileKind, head: bytes, inside: PurePath) -> bool:
    """Tell whether a readable file may contain anything that Leadsman looks for."""
    if kind is FileKind.YAML:
        return _WANTED.search(head) is not None
    if kind in {FileKind.LOG, FileKind.METRICS}:
        is_known = kind is FileKind.METRICS and _OF_KUBELET.search(head) is not None
        return is_known or is_about_a_cache(head) or "scheduler" in inside.name or texts.is_kubelets_log(head)
    return True


def _of_sos(path: Path, refused: list[SourceError]) -> FileKind | None:
    """Tell whether to read a sosreport's output: of hundreds of commands only those that print objects."""
    if _JOURNAL.search(path.as_posix()):
        return FileKind.LOG if kind_of(head_of(path)) is FileKind.LOG else None
    of_sos = _OF_SOS.search(path.name)
    if of_sos is not None:
        if of_sos["form"] == "-o_json":
            return FileKind.JSON
        refused.append(SourceError.of(path, "a table without objects; sos needs -k kubernetes.all=on"))
        return None
    is_yaml = path.suffix == ".yaml" and kind_of(head := head_of(path)) is FileKind.YAML and _WANTED.search(head)
    return FileKind.YAML if is_yaml else None


def is_needed(path: PurePath) -> bool:
    """Return whether a file of an archive may be read, by its name."""
    return not is_log_of_container(path)
