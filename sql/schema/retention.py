"""How long a server keeps samples: a TTL that a setting changes later by ALTER.

It counts from `landed_at`, when a row was stored, and not from `ts`: a replayed capture that is years old stays
queryable. In the embedded database nothing expires.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from sql.database.errors import DatabaseError
from sql.database.open import Database
from streams.fold.findings import HIGH_RATE

RAW_TABLES: Final = ("node_samples", "pod_samples", *sorted(HIGH_RATE))
ROLLUP_TABLES: Final = tuple(
    sorted(file.stem.partition("_create_")[2] for file in Path(__file__).parent.glob("migrations/*_create_*_5m.sql"))
)


class Retention(NamedTuple):
    """Days; None keeps for ever."""

    raw_days: int | None
    rollup_days: int | None


FOR_EVER: Final = Retention(None, None)
ON_A_SERVER: Final = Retention(7, 90)


def default_retention(db: Database) -> Retention:
    """What a database begins with."""
    return FOR_EVER if db.embedded else ON_A_SERVER


def apply_retention(db: Database, raw_days: int | None, rollup_days: int | None) -> None:
    """Sets the TTL of all samples and of all their roll-ups, whatever it was. The database must be migrated."""
    keep(db, RAW_TABLES, raw_days)
    keep(db, ROLLUP_TABLES, rollup_days)


def keep(db: Database, tables: Iterable[str], days: int | None) -> None:
    """Sets the TTL of some tables; None keeps for ever."""
    for table in tables:
        set_retention(db, table, days)


def set_retention(db: Database, table: str, days: int | None) -> None:
    """Sets or removes the TTL of one table, and does nothing where it is so already."""
    if days is not None and days < 1:
        raise DatabaseError(f"a retention of {days} days keeps nothing. Give at least 1, or none to keep for ever")
    created = str(
        db.query(
            "SELECT create_table_query FROM system.tables "
            "WHERE database = {database:String} AND name = {table:String}",
            {"database": db.name, "table": table},
        ).rows[0][0]
    )
    has_ttl = "TTL landed_at" in created
    if days is None:
        if has_ttl:
            db.command(f"ALTER TABLE {table} REMOVE TTL")
    elif f"TTL landed_at + toIntervalDay({days}) " not in created:
        db.command(f"ALTER TABLE {table} MODIFY TTL landed_at + toIntervalDay({days})")
