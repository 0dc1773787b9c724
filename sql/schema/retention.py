"""Sets the retention of a server's rows: a TTL that a setting changes later by ALTER.

It counts from `landed_at`, when a row was stored, and not from `ts`: a replayed capture that is years old stays
queryable. The embedded database never deletes rows. Rows that are still current are stored again before they expire:
see `sql.schema.upkeep`.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from common.amounts import counted
from sql.database.errors import DatabaseError
from sql.database.open import Database
from streams.fold.findings import HIGH_RATE, TABLES

RAW_TABLES: Final = ("node_samples", "pod_samples", *sorted(HIGH_RATE))
ROLLUP_TABLES: Final = tuple(
    sorted(file.stem.rpartition("_create_")[2] for file in Path(__file__).parent.glob("migrations/**/*_5m.sql"))
)
EVENT_TABLES: Final = ("node_events", "pod_bindings")
KEPT_FOR_EVER: Final = frozenset({"nodes", "kubelet_settings", "numa_whatif"})
"""Tables with few rows, one for each node or change, which give other rows their context."""
FINDING_TABLES: Final = tuple(sorted({*TABLES.values()} - {*RAW_TABLES, *EVENT_TABLES, *KEPT_FOR_EVER}))

_TABLE: Final = re.compile(r"CREATE TABLE IF NOT EXISTS (\w+)")
_BEFORE_SETTINGS: Final = re.compile(r"^(?=SETTINGS\b)", re.MULTILINE)


class RetentionGroup(NamedTuple):
    """Tables that share one retention."""

    name: str
    """In the option: `--keep-NAME-days`."""
    what: str
    tables: tuple[str, ...]
    days: int
    """Initial days on a server; an embedded database keeps everything."""


KEPT: Final = (
    RetentionGroup("samples", "raw samples", RAW_TABLES, 7),
    RetentionGroup("rollups", "five-minute roll-ups", ROLLUP_TABLES, 90),
    RetentionGroup("events", "events and changes of pods", EVENT_TABLES, 90),
    RetentionGroup("findings", "findings, alerts, source errors and dead letters", FINDING_TABLES, 365),
)


def with_retention(statement: str) -> str:
    """Return the statement, with the initial TTL of a server if it creates a table that has a retention."""
    table = _TABLE.match(statement)
    days = next((kept.days for kept in KEPT if table and table[1] in kept.tables), None)
    return _BEFORE_SETTINGS.sub(f"TTL landed_at + toIntervalDay({days})\n", statement, count=1) if days else statement


def keep(db: Database, tables: Iterable[str], days: int | None) -> None:
    """Set the TTL of some tables; None keeps rows forever."""
    for table in tables:
        set_retention(db, table, days)


def set_retention(db: Database, table: str, days: int | None) -> None:
    """Set or remove the TTL of one table, unless it is already right."""
    if days is not None and days < 1:
        raise DatabaseError(f"a retention of {counted(days, 'day')} keeps nothing: give at least 1, or 0 for forever")
    now = retention_of(db, table)
    if days == now:
        return
    if days is None:
        db.define(f"ALTER TABLE {table} REMOVE TTL")
    else:
        db.define(f"ALTER TABLE {table} MODIFY TTL landed_at + toIntervalDay({days})")


def retention_of(db: Database, table: str) -> int | None:
    """Return the days; None if a table is kept forever."""
    found = db.query(
        "SELECT toUInt32OrZero(extract(create_table_query, 'TTL landed_at \\\\+ toIntervalDay\\\\(([0-9]+)\\\\)')) "
        "FROM system.tables WHERE database = {database:String} AND name = {table:String}",
        {"database": db.holder, "table": table},
    )
    return int(found.rows[0][0]) or None
