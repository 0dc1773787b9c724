"""Views: each is made where it lacks, and replaced where its text changed or the server stores another one."""

import hashlib
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from sql.database.errors import MigrationMissing
from sql.database.open import Database
from sql.schema.rules import with_rules

VIEWS: Final = Path(__file__).parent / "views"
COLUMNS: Final = VIEWS / "columns.json"
"""Types and comments of the columns of each view, from `make generate`. The engine takes longer to infer them than
for the rest of an empty database.
"""
_REPLACE: Final = "CREATE OR REPLACE VIEW"
_UNCHANGED: Final = """
SELECT t.name AS name, v.checksum AS checksum
FROM system.tables AS t
LEFT JOIN schema_views AS v ON v.name = t.name AND v.stored = cityHash64(t.create_table_query)
WHERE t.database = currentDatabase() AND t.name IN {names:Array(String)}
"""
_RECORD: Final = """
INSERT INTO schema_views
SELECT
    name,
    {checksums:Array(String)}[indexOf({names:Array(String)}, name)],
    cityHash64(create_table_query),
    now64(6, 'UTC'),
    {leadsman:String}
FROM system.tables
WHERE database = currentDatabase() AND name IN {names:Array(String)}
"""


class View(NamedTuple):
    name: str
    text: str
    """CREATE OR REPLACE VIEW; the engine infers the columns of it."""
    columns: Sequence[str]
    """With type and comment; none of a view that is newer than the last `make generate`."""

    @property
    def statement(self) -> str:
        head = f"{_REPLACE} {self.name}"
        columns = ",\n    ".join(self.columns)
        return self.text.replace(f"{head} AS", f"{head}\n(\n    {columns}\n)\nAS", 1) if columns else self.text

    @property
    def first(self) -> str:
        """The statement where there is no such view."""
        return self.statement.replace(_REPLACE, "CREATE VIEW IF NOT EXISTS", 1)

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.statement.encode()).hexdigest()


def replace_views(db: Database, leadsman: str) -> None:
    """Makes or replaces those that differ. Raises DatabaseError.

    On a cluster it replaces all, since another replica may lack one.
    """
    views = load_views()
    there = dict(db.query(_UNCHANGED, {"names": [view.name for view in views]}).rows)
    changed = [view for view in views if db.cluster or there.get(view.name) != view.checksum]
    with db.unsynced():
        for view in changed:
            missing = view.name not in there and not db.cluster
            db.define(view.first if missing else view.statement)
    if changed:
        names, checksums = [view.name for view in changed], [view.checksum for view in changed]
        db.command(_RECORD, {"names": names, "checksums": checksums, "leadsman": leadsman})


def load_views() -> list[View]:
    """Every view, each after those it reads. Raises MigrationMissing if they read each other in a circle."""
    texts = {file.stem: with_rules(file.read_text("utf-8")) for file in sorted(VIEWS.glob("*.sql"))}
    columns = json.loads(COLUMNS.read_text("utf-8"))
    ordered: dict[str, View] = {}
    while texts:
        ready = [name for name, text in texts.items() if not _reads(text) & (texts.keys() - {name})]
        if not ready:
            raise MigrationMissing(f"views read each other in a circle: {', '.join(texts)}. Reinstall Leadsman")
        ordered |= {name: View(name, texts.pop(name), columns.get(name, ())) for name in ready}
    return list(ordered.values())


def _reads(statement: str) -> set[str]:
    words = statement.split()
    return {after.rstrip(")") for before, after in pairwise(words) if before in {"FROM", "JOIN"}}
