"""Computes digests of a database's content, to compare two databases."""

from typing import Any, Final, NamedTuple

from sql.database.lean_arrow import pa
from sql.database.open import Database
from sql.landing.batches import SCHEMAS

WHERE_A_FILE_LAY: Final = {"dead_letters": frozenset({"source", "position"})}
"""Columns that differ between two replays of the same lines from different files."""


class TableDigest(NamedTuple):
    table: str
    rows: int
    hash: str
    """16 hexadecimal digits, the same for the same rows in any order."""


def digest(db: Database) -> list[TableDigest]:
    """Return row count and hash of each stored table, by name; duplicates count once.

    The hash is the sum of every row's SipHash, so it does not depend on the order of rows, nor of a map's keys.
    """
    return [_digest(db, table) for table in sorted(SCHEMAS)]


def _digest(db: Database, table: str) -> TableDigest:
    left_out = WHERE_A_FILE_LAY.get(table, frozenset())
    columns = ", ".join(comparable(field) for field in SCHEMAS[table] if field.name not in left_out)
    found = db.query(f"SELECT count(), sum(sipHash64(toString(tuple({columns})))) FROM {table} FINAL")
    rows, total = found.rows[0]
    return TableDigest(table, rows, f"{total:016x}")


def comparable(field: "pa.Field[Any]") -> str:
    """Return the expression that compares a column; a map's keys have no fixed order."""
    return f"mapSort({field.name})" if pa.types.is_map(field.type) else field.name
