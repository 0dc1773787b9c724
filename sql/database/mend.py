"""Repairs an embedded database in which a full disk or a power loss cut off the definition of a view.

The engine refuses such a folder. `migrate` recreates every missing view, so the definition can go.
"""

from pathlib import Path
from typing import Final

VIEWS: Final = Path(__file__).parents[1] / "schema" / "views"
_HALF_REPLACED: Final = "_tmp_replace_"
"""How the engine begins the name of a view that is to replace another one."""


def mend(folder: Path) -> list[Path]:
    """Deletes such definitions and returns them; nothing else is touched. Raises OSError."""
    views = {file.stem for file in VIEWS.glob("*.sql")}
    damaged = [
        file
        for file in folder.glob("metadata/*/*.sql")
        if (file.stem in views or file.stem.startswith(_HALF_REPLACED)) and not _is_whole(file)
    ]
    for file in damaged:
        file.unlink()
    return damaged


def _is_whole(file: Path) -> bool:
    text = file.read_bytes()
    return text.endswith(b"\n") and b"\0" not in text
