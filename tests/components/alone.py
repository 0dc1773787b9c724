"""A cluster of a database as if it were alone there: tables that have only rows of others are known to be empty.

To plan a query takes the engine longer than to run it over a case, and what reads only empty tables is not asked.
"""

from collections.abc import Callable
from copy import copy
from typing import TypeAlias

from sql.database.open import Database
from sql.schema.statements import tables

Alone: TypeAlias = Callable[[str], Database]
"""Return the database as one that has this cluster alone."""
_OF_CLUSTERS = "SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'cluster'"


def each_alone(database: Database) -> Alone:
    """Look once which tables have rows of which cluster."""
    asked = {name for (name,) in database.query(_OF_CLUSTERS).rows} & tables()
    filled: dict[str, set[str]] = {}
    each = (f"SELECT DISTINCT cluster, '{name}' FROM {name} SETTINGS final = 0" for name in sorted(asked))
    for cluster, name in database.query(" UNION ALL ".join(f"({sql})" for sql in each)).rows:
        filled.setdefault(cluster, set()).add(name)

    def alone(cluster: str) -> Database:
        known = copy(database)
        known.noted_empty = tables() - filled.get(cluster, set())
        return known

    return alone
