"""`docs/tables.md`, from the comments of tables, views and columns."""

import tempfile
from collections.abc import Iterable
from typing import Any, Final

from sql.database.open import Database, connect
from sql.schema.migrate import migrate

INNER: Final = ("landed_offsets", "replay_checkpoints", "schema_migrations", "schema_views")
"""Leadsman itself."""
FACTS: Final = (
    "nodes",
    "node_events",
    "pod_bindings",
    "kubelet_settings",
    "node_samples",
    "pod_samples",
    "source_errors",
    "dead_letters",
)
_TABLES: Final = """
SELECT name, engine, comment, sorting_key FROM system.tables
WHERE database = currentDatabase() AND engine != 'MaterializedView' ORDER BY name
"""
_COLUMNS: Final = """
SELECT name, type, comment FROM system.columns
WHERE database = currentDatabase() AND table = {table:String} ORDER BY position
"""
_HEAD: Final = """# Tables and views

Written by `make generate` from the comments in the database; do not edit. The same is asked by
`leadsman query --sql "SELECT name, type, comment FROM system.columns WHERE table = 'evictions'"`.

Times are UTC. Amounts are in base units: bytes, inodes, processes, seconds, nanocores; `_millicores` are thousandths
of a CPU, `_ratio` is 0 to 1, `_percent` 0 to 100. Rows replace earlier ones of the same key: read with `final = 1`,
as `leadsman query` does, or `FINAL` after the table's name.
"""


def tables() -> str:
    """The whole text, of a fresh database."""
    with tempfile.TemporaryDirectory() as folder, connect(f"chdb://{folder}/db") as db:
        migrate(db)
        return _reference(db)


def _reference(db: Database) -> str:
    tables = [dict(zip(("name", "engine", "comment", "key"), row, strict=True)) for row in db.query(_TABLES).rows]
    views = [each for each in tables if each["engine"] == "View"]
    facts = sorted((each for each in tables if each["name"] in FACTS), key=lambda each: FACTS.index(each["name"]))
    shown = {each["name"] for each in (*views, *facts)} | set(INNER)
    others = [each for each in tables if each["name"] not in shown]
    rollups = [each for each in others if each["name"].endswith("_5m")]
    findings = [each for each in others if each not in rollups]
    parts = (
        ("What was seen", facts),
        ("What was concluded", findings),
        ("Views", views),
        ("Roll-ups", rollups),
        ("For Leadsman itself", [each for each in tables if each["name"] in INNER]),
    )
    return _HEAD + "".join(_part(db, title, members) for title, members in parts)


def _part(db: Database, title: str, tables: Iterable[dict[str, Any]]) -> str:
    return f"\n## {title}\n" + "".join(_table(db, each) for each in tables)


def _table(db: Database, table: dict[str, Any]) -> str:
    lines = [f"\n### {table['name']}\n", f"{table['comment']}.\n"]
    if table["key"]:
        lines.append(f"Key: `{table['key']}`\n")
    lines += ["| column | type | meaning |", "|---|---|---|"]
    for name, kind, comment in db.query(_COLUMNS, {"table": table["name"]}).rows:
        lines.append(f"| `{name}` | `{_shortened(kind)}` | {comment.replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n"


def _shortened(kind: str) -> str:
    return kind.replace("DateTime64(6, 'UTC')", "DateTime64")
