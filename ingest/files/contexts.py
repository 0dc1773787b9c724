"""Splits the files of dumps by the contexts of the commands in them: each is a cluster."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from common.text import plain
from ingest.files.around import as_utf8
from ingest.files.dumps import DumpFile
from ingest.files.lines import DamagedError, SourceError, SourceFile
from ingest.files.sniff import kind_of
from ingest.files.texts.contexts import SEVERAL, Line, Selected, selected_lines
from ingest.files.texts.mixed import LIMIT_BYTES

_BY_PROGRAMS: Final = frozenset({".json", ".yaml", ".yml"})
_MOST: Final = 32
"""Maximum number of clusters of a dump: each is read on its own."""
_OF_CLOUD: Final = (
    re.compile(r"arn:[^:]*:eks:(?P<region>[^:]*):(?P<project>\d*):cluster/(?P<cloud>.+)"),
    re.compile(r"gke_(?P<project>[^_]+)_(?P<region>[^_]+)_(?P<cloud>.+)"),
    re.compile(r"(?:[^@]*@)?(?P<cloud>[^@.]+)\.(?P<region>[^@.]+)\.eksctl\.io"),
)
"""Names that the tools of AWS and Google and eksctl give a context and its cluster."""
_LOOP: Final = "a loop over clusters, whose output does not say which printed it; save each cluster's alone"
_TOO_MANY: Final = f"commands for more than {_MOST} clusters; save each cluster's output alone"


def by_kubectl_context(files: Sequence[DumpFile], refused: list[SourceError]) -> dict[str, list[DumpFile]]:
    """Return the files by cluster, where their commands name several; else all of them, under the empty name.

    A text of several clusters is a file of each. Text that names none is of none of them: its cluster is unknown.
    `refused` gets an error for the output of a loop over clusters, and for each such text of a dump with too many.
    """
    read = [(file, selected_lines(_typed(file))) for file in files]
    printed = {line.selected for _, lines in read for line in lines if line.is_output}
    names = _named(printed - {SEVERAL})
    several = set(names.values())
    if len(several - {""}) <= 1 and SEVERAL not in printed:
        return {"": list(files)} if files else {}
    if len(several) > _MOST:
        refused += [SourceError.of(file.path, _TOO_MANY) for file, lines in read if lines]
        return {"": left} if (left := [file for file, lines in read if not lines]) else {}
    found: dict[str, list[DumpFile]] = {}
    for file, lines in read:
        selected = {line.selected for line in lines if line.is_output}
        if SEVERAL in selected:
            refused.append(SourceError.of(file.path, _LOOP))
        clusters = {names[each] for each in selected - {SEVERAL}}
        if not selected or (clusters == {""} and len(selected) == 1):
            found.setdefault("", []).append(file)
            continue
        for each in sorted(clusters):
            text = _of_cluster(lines, each, names)
            if kind_of(text) is not None:
                found.setdefault(each, []).append(file._replace(text=text))
    return found


def _named(selected: Iterable[Selected]) -> dict[Selected, str]:
    """Return the cluster of each selection: all are one unless two names of the same kind differ.

    A selection that lacks a kind is of the only other one with a name in common; else its cluster is its own. A
    context that a cloud's tool made has the cloud's name in it, and where it is.
    """
    selected = set(selected)
    clouds = {each.cloud for each in selected}
    whole = {each: each if each.cloud else _in_cloud(each, clouds) for each in selected}
    differ = {kind for kind in Selected._fields if len({getattr(each, kind) for each in whole.values()} - {""}) > 1}
    differ |= {"cloud"} if differ & {"region", "project"} else set()  # a place alone is not a name
    kinds = [kind for kind in Selected._fields if kind in differ]
    keys = {each: tuple(getattr(named, kind) for kind in kinds) for each, named in whole.items()}
    fullest = set(keys.values()) if len(keys) <= 4 * _MOST else set()
    return {each: _shown(dict(zip(kinds, _joined(key, fullest), strict=True))) for each, key in keys.items()}


def _shown(names: dict[str, str]) -> str:
    """Return the name of a cluster from its names by kind; a context identifies it without that of the cloud."""
    left = {**names, "cloud": "", "region": "", "project": ""} if names.get("context") else names
    return plain(" ".join(filter(None, left.values())), 253)


def _in_cloud(selected: Selected, clouds: Container[str]) -> Selected:
    """Return a selection with the name by which a cloud knows its cluster, and the place, if the context has them."""
    name = selected.context or selected.cluster
    found = next(filter(None, (form.fullmatch(name) for form in _OF_CLOUD)), None)
    names = found.groupdict() if found else {"cloud": name} if name in clouds else {}
    return selected._replace(**names)


def _joined(key: tuple[str, ...], others: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    fuller = [
        other
        for other in others
        if other != key and any(key) and all(mine in {"", its} for mine, its in zip(key, other, strict=True))
    ]
    return fuller[0] if len(fuller) == 1 else key


def _of_cluster(lines: Iterable[Line], cluster: str, names: Mapping[Selected, str]) -> bytes:
    """Return a text with only the lines of a cluster, in as many lines."""
    return "\n".join(line.text if names.get(line.selected) == cluster else "" for line in lines).encode()


def _typed(file: DumpFile) -> bytes:
    """Return a file that may hold typed commands, unpacked; empty for others, which a program wrote."""
    if file.in_folder and file.path.suffix in _BY_PROGRAMS:
        return b""
    chunks, size = list[bytes](), 0
    with SourceFile(file.path) as source, suppress(DamagedError):
        for chunk in source.chunks():
            chunks.append(chunk)
            size += len(chunk)
            if size > LIMIT_BYTES:
                return b""
    return as_utf8(b"".join(chunks))
