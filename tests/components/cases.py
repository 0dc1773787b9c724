"""Cases that were reasoned by hand, each a cluster of its own, which a view answers all in one query.

To plan a query of a large view takes the engine a hundred times as long as to run it over a case.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from components.database import EmptyDatabase
from components.rows import dicts, store
from sql.questions.pending import calculate
from streams.fold.findings import Row

Answers: TypeAlias = Mapping[str, Sequence[dict[str, Any]]]
"""The rows that a query returned for each case, by the name of its cluster."""


class Cases:
    """The cases of a module. A fixture of the module has what `answers` returns."""

    def __init__(self) -> None:
        self._rows: dict[str, list[Row]] = {}

    def add(self, *rows: Row) -> str:
        """The name of a cluster that holds these rows and nothing else."""
        cluster = f"case-{len(self._rows)}"
        self._rows[cluster] = [each._replace(cluster=cluster) for each in rows]  # type: ignore[attr-defined] # each is a NamedTuple
        return cluster

    def answers(self, empty_database: EmptyDatabase, sql: str) -> Answers:
        """Return a query's rows for each case; it has a column `cluster`."""
        found = defaultdict(list)
        with empty_database() as database:
            store(database, *(row for rows in self._rows.values() for row in rows))
            calculate(database)
            for each in dicts(database, sql):
                found[each["cluster"]].append(each)
        return found
