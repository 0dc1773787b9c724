"""Numbers of one column as a database takes them: eight bytes each, instead of an object each."""

import struct
from array import array
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args, get_type_hints

from ingest.records import PodColumns

_BYTES: Final = 8
_INT64: Final = (-(1 << 63), (1 << 63) - 1)


TypeCode: TypeAlias = Literal["q", "d"]


class Packed(NamedTuple):
    """Some numbers as `Numbers` keeps them: eight bytes each, and the places of those that are None."""

    values: bytes
    absent: list[int]


class Numbers:
    """Int64 (`q`) or Float64 (`d`) values in their order; `absent` are the places of those that are None."""

    __slots__ = ("absent", "values")

    def __init__(self, typecode: TypeCode) -> None:
        self.values = array(typecode)
        self.absent: list[int] = []

    def __len__(self) -> int:
        return len(self.values)

    def extend(self, values: list[int | None] | list[float | None]) -> None:
        """Append all; an integer beyond 64 bits becomes the nearest that fits."""
        try:
            # half the time of array.fromlist
            self.values.frombytes(struct.pack(f"{len(values)}{self.values.typecode}", *values))
        except struct.error:
            self._extend_slowly(values)

    def add(self, packed: Packed) -> None:
        """Append what is packed already."""
        if packed.absent:
            begin = len(self.values)
            self.absent.extend(begin + place for place in packed.absent)
        self.values.frombytes(packed.values)

    def _extend_slowly(self, values: list[int | None] | list[float | None]) -> None:
        begin = len(self.values)
        if values.count(None) == len(values):
            self.absent.extend(range(begin, begin + len(values)))
            self.values.frombytes(bytes(_BYTES * len(values)))
            return
        for place, value in enumerate(values, begin):
            if value is None:
                self.absent.append(place)
            self.values.append(_stored(value))


def _stored(value: float | None) -> Any:
    if isinstance(value, int):
        return min(max(value, _INT64[0]), _INT64[1])
    return value or 0


def _type_codes() -> dict[str, TypeCode]:
    kinds = {name: {hint, *get_args(hint)} for name, hint in _values().items()}
    return {name: "d" if float in kind else "q" for name, kind in kinds.items() if str not in kind}


def _values() -> dict[str, Any]:
    """The type of each column's values, None or not."""
    return {name: get_args(hint)[0] for name, hint in get_type_hints(PodColumns).items()}


TYPE_CODES: Final[Mapping[str, TypeCode]] = _type_codes()
"""Of each column of a sample's pods that holds numbers."""
_numbers_of: Final = attrgetter(*TYPE_CODES)


def pack(pods: PodColumns) -> list[Packed]:
    """The columns of numbers, in the order of TYPE_CODES."""
    packed = []
    count = len(pods.uid)
    for typecode, values in zip(TYPE_CODES.values(), _numbers_of(pods), strict=True):
        try:
            packed.append(Packed(struct.pack(f"{count}{typecode}", *values), []))
        except struct.error:
            column = Numbers(typecode)
            column.extend(values)
            packed.append(Packed(column.values.tobytes(), column.absent))
    return packed
