"""Identifies the input of a replay, so that the same files read in the same way are recognised."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import xxhash

from ingest.files.sniff import folder_files

_CHUNK_BYTES: Final = 1024 * 1024


def fingerprint(paths: Sequence[Path], *how: object) -> str | None:
    """Return an id of the input: equal for the same bytes, the same version of Leadsman and the same options `how`.

    None if a path can be read only once, such as a pipe, or not at all. Raises SourceError for a folder without known
    files.
    """
    found = xxhash.xxh3_128(repr((version("leadsman"), how)).encode())
    for path in paths:
        files = [file for group in folder_files(path) for file in group] if path.is_dir() else [path]
        for file in files:
            if not file.is_file():
                return None
            name = str(file.relative_to(path)) if path.is_dir() else ""  # the files of a dump are recognised by name
            found.update(f"{name}\0{file.stat().st_size}\0".encode(errors="surrogateescape"))
            with file.open("rb") as opened:
                while chunk := opened.read(_CHUNK_BYTES):
                    found.update(chunk)
    return found.hexdigest()
