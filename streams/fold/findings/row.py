"""Rows and the tables of their types. Everything else about a table is derived from here."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar


class Row(Protocol):
    """A NamedTuple whose type is declared with `row`."""

    @property
    def _fields(self) -> tuple[str, ...]: ...

    @property
    def cluster(self) -> str: ...

    @property
    def ts(self) -> datetime: ...

    def __iter__(self) -> Iterator[Any]: ...


RowType = TypeVar("RowType", bound=Row)

TABLES: Final[dict[type[Row], str]] = {}
"""Table of each row type. `node_samples` and `pod_samples` arrive as columns: see `streams.fold.batch`."""
HIGH_RATE: Final[set[str]] = set()
"""Tables that grow with every sample of every node."""
NEVER_REPLACED: Final[set[str]] = set()
"""Tables in which rows of one natural key are equal."""


def row(*, table: str, high_rate: bool = False, replaced: bool = True) -> Callable[[type[RowType]], type[RowType]]:
    """Declares a type of rows: its columns are those of `table`.

    `high_rate`: rows come with every sample of every node, and are kept as long as samples are.
    `replaced`: a later row may have the natural key of an earlier one, and differ.
    """

    def declare(row_type: type[RowType]) -> type[RowType]:
        TABLES[row_type] = table
        if high_rate:
            HIGH_RATE.add(table)
        if not replaced:
            NEVER_REPLACED.add(table)
        return row_type

    return declare
