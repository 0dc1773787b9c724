"""Names of files for people: a file of an archive is named by the archive, not by its temporary folder."""

import re
from pathlib import Path
from typing import Final

UNPACKED: Final = "leadsman-"
"""Begins the name of the temporary folder, which has a numbered folder for each input."""
_UNPACKED: Final = re.compile(
    rf".*/{UNPACKED}\w+/\d+/(?:archive/(?P<archive>[^/]+)/[^/]+(?:/(?P<inside>.+))?|(?P<piped>standard-input))",
    re.DOTALL,
)


def folder_of(place: Path, archive: str, name: str) -> Path:
    """The folder, called `name`, for the files of an archive; `named` knows from it alone what they are, in any
    process.
    """
    return place / "archive" / archive / name


def named(path: Path) -> str:
    """The path as it was given; of a file in an archive `archive.zip: path/inside`."""
    found = _UNPACKED.fullmatch(str(path))
    return ": ".join(filter(None, found.groups())) if found else str(path)
