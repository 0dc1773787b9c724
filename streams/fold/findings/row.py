"""Declares row types and their tables. Everything else about a table is derived from them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Protocol, TypeVar, get_type_hints

from ingest.normalize.dead_letters import EPOCH


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
"""The table of each row type. `node_samples` and `pod_samples` arrive as columns: see `streams.fold.batch`."""
HIGH_RATE: Final[set[str]] = set()
"""Tables that grow with every sample of every node."""
NEVER_REPLACED: Final[set[str]] = set()
"""Tables in which rows of one natural key are equal."""
_COMPOSED: Final[dict[type[Row], tuple[str, ...]]] = {}
_VERSIONS: Final[dict[type[Row], tuple[str, ...]]] = {}
_FIRST_FLAG: Final = 62
"""First bit of a version's flags; the bits below are microseconds, or a number."""
_TIME_BITS: Final = 60
_MICROSECOND: Final = timedelta(microseconds=1)
_ONE_TIME: Final = timedelta(minutes=10)


def row(
    *,
    table: str,
    high_rate: bool = False,
    replaced: bool = True,
    composed: tuple[str, ...] = (),
    version: tuple[str, ...] = (),
) -> Callable[[type[RowType]], type[RowType]]:
    """Declare a row type, whose fields are the columns of `table`.

    `composed`: properties with the words about a row, which its table stores after the fields.
    `high_rate`: rows come with every sample of every node, and are kept as long as samples are.
    `replaced`: a later row may have the natural key of an earlier one, and differ.
    `version`: of two such rows the one with the greater version wins, otherwise the last stored one. It is a time
    or a number, behind the fields or properties that decide before it by being there.
    """

    def declare(row_type: type[RowType]) -> type[RowType]:
        TABLES[row_type] = table
        if high_rate:
            HIGH_RATE.add(table)
        if not replaced:
            NEVER_REPLACED.add(table)
        if composed:
            _COMPOSED[row_type] = composed
        if version:
            _VERSIONS[row_type] = version
        return row_type

    return declare


def has_version(row_type: type[Row]) -> bool:
    """Tell whether its table keeps the row with the greatest version, not the one that was stored last."""
    return row_type in _VERSIONS


def version(row: Row) -> int:
    """Return the version that the table of a row computes, as a number of at most 63 bits."""
    *flags, last = (getattr(row, name) for name in _VERSIONS[type(row)])
    number = (last - EPOCH) // _MICROSECOND if isinstance(last, datetime) else int(last)
    return number + sum(1 << _FIRST_FLAG - index for index, flag in enumerate(flags) if flag)


def has_flag(number: int, row: Row, name: str) -> bool:
    """Tell whether this flag is set in the version of a row of the same type."""
    return bool(number >> _FIRST_FLAG - _VERSIONS[type(row)].index(name) & 1)


def is_of_time(number: int, row: Row) -> bool:
    """Tell whether the row of this version and of the same type can be of the same time as another one.

    That is so if its own time is unknown, or its last witness is at most ten minutes away.
    """
    if not has_flag(number, row, "time_known"):
        return True
    at = EPOCH + (number & (1 << _TIME_BITS) - 1) * _MICROSECOND
    return abs(at - row.ts) <= _ONE_TIME


def stored_types(row_type: type[Row]) -> dict[str, Any]:
    return get_type_hints(row_type) | dict.fromkeys(_COMPOSED.get(row_type, ()), str)


def stored_values(row_type: type[Row], rows: Sequence[Row]) -> Sequence[Iterable[Any]]:
    if row_type not in _COMPOSED:
        return rows
    composed = _COMPOSED[row_type]
    return [(*row, *(getattr(row, name) for name in composed)) for row in rows]
