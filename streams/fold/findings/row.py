"""Rows and the tables of their types. Everything else about a table is derived from here."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar, get_type_hints


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
_COMPOSED: Final[dict[type[Row], tuple[str, ...]]] = {}


def row(
    *, table: str, high_rate: bool = False, replaced: bool = True, composed: tuple[str, ...] = ()
) -> Callable[[type[RowType]], type[RowType]]:
    """Declares a type of rows: its columns are those of `table`.

    `composed`: properties with the words about a row, which its table stores behind the fields.
    `high_rate`: rows come with every sample of every node, and are kept as long as samples are.
    `replaced`: a later row may have the natural key of an earlier one, and differ.
    """

    def declare(row_type: type[RowType]) -> type[RowType]:
        TABLES[row_type] = table
        if high_rate:
            HIGH_RATE.add(table)
        if not replaced:
            NEVER_REPLACED.add(table)
        if composed:
            _COMPOSED[row_type] = composed
        return row_type

    return declare


def stored_types(row_type: type[Row]) -> dict[str, Any]:
    return get_type_hints(row_type) | dict.fromkeys(_COMPOSED.get(row_type, ()), str)


def stored_values(row_type: type[Row], rows: Sequence[Row]) -> Sequence[Iterable[Any]]:
    if row_type not in _COMPOSED:
        return rows
    composed = _COMPOSED[row_type]
    return [(*row, *(getattr(row, name) for name in composed)) for row in rows]
