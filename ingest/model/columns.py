"""The numbers of a sample's pods as a database takes them: eight bytes each, instead of an object each."""

import struct
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain, compress, count
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args, get_type_hints

from ingest.model.numbers import within_int64
from ingest.model.samples import PodColumns

BYTES: Final = 8
TypeCode: TypeAlias = Literal["q", "d"]
Column: TypeAlias = list[int | None] | list[float | None]


class Packed(NamedTuple):
    """The columns TYPE_CODES one after the other, all of the same length.

    An integer beyond 64 bits is the nearest that fits.
    """

    values: bytes
    """Int64 (`q`) or Float64 (`d`), 0 where one is None."""
    absent: bytes
    """A byte a value, 1 where it is None; empty where none is."""


def _type_codes() -> dict[str, TypeCode]:
    values = {name: get_args(hint)[0] for name, hint in get_type_hints(PodColumns).items()}
    kinds = {name: {value, *get_args(value)} for name, value in values.items()}
    return {name: "d" if float in kind else "q" for name, kind in kinds.items() if str not in kind}


TYPE_CODES: Final[Mapping[str, TypeCode]] = _type_codes()
"""Type of each column with numbers of a sample's pods."""
_columns_of: Final = attrgetter(*TYPE_CODES)


def pack(pods: PodColumns) -> Packed:
    """All columns of numbers."""
    columns = _columns_of(pods)
    try:
        # one call for all: a column at a time takes twice as long
        return Packed(_struct(len(pods.uid)).pack(*chain.from_iterable(columns)), b"")
    except struct.error:
        values = [pack_column(typecode, each) for typecode, each in zip(TYPE_CODES.values(), columns, strict=True)]
        return Packed(b"".join(values), bytes([value is None for value in chain.from_iterable(columns)]))


def unpack(packed: Packed) -> dict[str, Column]:
    """The columns that `pack` was given, by their names."""
    pods = len(packed.values) // BYTES // len(TYPE_CODES)
    return {
        name: _unpacked(typecode, packed.values[BYTES * begin :][: BYTES * pods], packed.absent[begin:][:pods])
        for begin, (name, typecode) in zip(count(0, pods), TYPE_CODES.items(), strict=False)
    }


def _unpacked(typecode: TypeCode, values: bytes, absent: bytes) -> Column:
    column: list[Any] = array(typecode, values).tolist()
    for place in compress(count(), absent):
        column[place] = None
    return column


def pack_column(typecode: TypeCode, values: Sequence[float | None]) -> bytes:
    """One column as `Packed.values` has it."""
    try:
        # half the time of array's own
        return struct.pack(f"{len(values)}{typecode}", *values)
    except struct.error:
        return array(typecode, map(_stored, values)).tobytes()


def _stored(value: float | None) -> Any:
    return within_int64(value) if isinstance(value, int) else value or 0


@lru_cache
def _struct(pods: int) -> struct.Struct:
    return struct.Struct("".join(f"{pods}{typecode}" for typecode in TYPE_CODES.values()))
