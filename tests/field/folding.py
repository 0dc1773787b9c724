"""Folds a dump without a database, to the last row of each natural key."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from ingest.files.sources import read_sources
from ingest.normalize.decode import decode
from sql.schema.migrate import MIGRATIONS
from streams.analytics.registry import REDUCERS
from streams.fold.batch import Batch
from streams.fold.checkpoints import Entry
from streams.fold.findings.row import TABLES, has_version, version
from streams.fold.passes import Passes, identity
from streams.local.replay import Replay

Rows = dict[str, dict[tuple[Any, ...], dict[str, Any]]]
_EXCLUDED = {"updated_at"}
_POSITION = {"source", "position"}
"""The file that a dead letter was in."""


class Stored:
    """A database in memory: rows by natural key, the latest version of each, and checkpoints."""

    def __init__(self) -> None:
        self.rows: Rows = {}
        self._entries: dict[tuple[str, str], dict[str, bytes]] = {}

    def write(self, batch: Batch) -> None:
        for row_type, rows in batch.rows.items():
            table = TABLES[row_type]
            of_table = self.rows.setdefault(table, {})
            for each in rows:
                row = dict(zip(each._fields, each, strict=True))
                key = tuple(_plain(row.get(name)) for name in natural_key(table))
                known = of_table.get(key)
                if known is None or not has_version(row_type) or version(each) >= version(row_type(**known)):
                    of_table[key] = row

    def drain(self) -> None:
        """Nothing waits."""

    def load(self, cluster: str, kind: str, name: str | None = None) -> Mapping[str, bytes]:
        entries = self._entries.get((cluster, kind), {})
        return entries if name is None else {each: entries[each] for each in entries if each == name}

    def save(self, entries: Sequence[Entry]) -> None:
        for each in entries:
            self._entries.setdefault((each.cluster, each.kind), {})[each.key] = each.value

    def key(self, table: str) -> tuple[str, ...]:
        return natural_key(table)

    def is_watched(self, cluster: str) -> bool:
        return any(row["cluster"] == cluster for row in self.rows.get("watches", {}).values())

    def check(self, tables: Collection[str]) -> None:
        """Everything may be deleted."""

    def withdraw(self, cluster: str, table: str, identities: Collection[int]) -> None:
        rows = self.rows[table]
        names = natural_key(table)
        self.rows[table] = {
            key: row
            for key, row in rows.items()
            if row["cluster"] != cluster or identity(row[name] for name in names) not in identities
        }

    def replay(self, *paths: Path) -> None:
        Replay(REDUCERS, self, self, Passes(self, self)).run(map(decode, read_sources(paths)))

    def of(self, table: str, where: Mapping[str, Any]) -> list[dict[str, Any]]:
        rows = self.rows.get(table, {}).values()
        return [row for row in rows if all(_plain(row[name]) == value for name, value in where.items())]

    def comparable(self) -> dict[str, list[str]]:
        """All rows, but for what is kept apart."""
        return {
            table: sorted(repr([(k, v) for k, v in row.items() if k not in excluded]) for row in rows.values())
            for table, rows in self.rows.items()
            for excluded in [_EXCLUDED | (_POSITION if table == "dead_letters" else set())]
        }


@cache
def natural_key(table: str) -> tuple[str, ...]:
    for file in MIGRATIONS.rglob("*.sql"):
        text = file.read_text()
        if re.match(rf"CREATE TABLE IF NOT EXISTS {table}\n", text) and (
            found := re.search(r"^ORDER BY \(?(.*?)\)?$", text, re.MULTILINE)
        ):
            return tuple(name for name in found[1].split(", ") if name.isidentifier())
    raise AssertionError(f"{table} has no ORDER BY")


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    return value.strftime("%Y-%m-%dT%H:%M:%SZ") if isinstance(value, datetime) else value


def shown(row: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(row[name]) for name in names}
