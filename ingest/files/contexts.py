"""Splits the files of dumps by the contexts of the commands in them: each is a cluster."""

from collections.abc import Sequence
from typing import Final

from ingest.files.dumps import DumpFile, whole
from ingest.files.lines import SourceError, SourceFile
from ingest.files.sniff import kind_of
from ingest.files.texts.contexts import SEVERAL, clusters_in, of_cluster
from ingest.files.texts.mixed import LIMIT_BYTES

_MOST: Final = 64
"""Maximum number of clusters in one text, which is read once for each."""
_BY_PROGRAMS: Final = frozenset({".json", ".yaml", ".yml"})


def by_context(files: Sequence[DumpFile], refused: list[SourceError]) -> dict[str, list[DumpFile]]:
    """Return the files by cluster, where their commands name several; else all of them, under the empty name.

    A text of several clusters is a file of each. Text that names none is of none of them: its cluster is unknown.
    `refused` gets an error for the output of a loop over clusters, and for a text of very many.
    """
    named = list[tuple[DumpFile, set[str]]]()
    for file in files:
        clusters = clusters_in(_typed(file))
        if len(clusters) > _MOST:
            what = (
                f"{len(clusters)} clusters in one text, of which at most {_MOST} are read; save each cluster's alone"
            )
            refused.append(SourceError.of(file.path, what))
        else:
            named.append((file, clusters))
    contexts = set().union(*(clusters for _, clusters in named)) - {""}
    if len(contexts) <= 1 and SEVERAL not in contexts:
        return {"": [file for file, _ in named]} if named else {}
    found: dict[str, list[DumpFile]] = {}
    for file, clusters in named:
        for each in sorted(clusters):
            if each == SEVERAL:
                what = "a loop over clusters, whose output does not say which printed it; save each cluster's alone"
                refused.append(SourceError.of(file.path, what))
            elif clusters == {""}:
                found.setdefault("", []).append(file)
            elif kind_of(of_cluster(_typed(file), each)) is not None:
                found.setdefault(each, []).append(file._replace(context=each))
    return found


def _typed(file: DumpFile) -> bytes:
    """Return a file that may hold typed commands, unpacked; empty for others, which a program wrote."""
    if file.path.stat().st_size > LIMIT_BYTES or (file.in_folder and file.path.suffix in _BY_PROGRAMS):
        return b""
    with SourceFile(file.path) as source:
        return whole(source)[0]
