"""The large mappings of a state, in buckets by a hash of their keys, of which only those that changed are encoded.

Mappings of a state are its fields of `dict[str, ...]`, also in structs within it.
"""

import zlib
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias, get_args, get_origin

import msgspec

SPLIT_FROM: Final = 1024
"""Entries of a mapping; one that was split is whole again below half of that."""
BUCKET_ENTRIES: Final = 64
MAX_BUCKETS: Final = 1024
UNEVEN: Final = 4
"""A mapping gets another number of buckets where they hold so many times more, or fewer, than BUCKET_ENTRIES."""

Entries: TypeAlias = list[tuple[int, str, object]]
"""Entries of a bucket: number in the order of the mapping, key and value."""


class Field(NamedTuple):
    """A field that can be split, by its names from the state on."""

    path: tuple[str, ...]
    decode: Callable[[bytes], Entries]

    @property
    def name(self) -> str:
        return ".".join(self.path)

    def of(self, state: msgspec.Struct) -> dict[str, object]:
        found: dict[str, object] = attrgetter(".".join(self.path))(state)
        return found

    def replaced(self, state: msgspec.Struct, value: dict[str, object]) -> msgspec.Struct:
        return _replaced(state, self.path, value)


class Buckets:
    """A mapping as it was last written. Entries are numbered in the mapping's order, which reducers rely on."""

    def __init__(self, entries: int) -> None:
        self.count = 1
        while self.count < MAX_BUCKETS and self.count * BUCKET_ENTRIES < entries:
            self.count *= 2
        self._places: dict[str, tuple[int, int]] = {}
        """Number and bucket."""
        self._written: dict[str, object] = {}
        self._next = 0

    def fit(self, entries: int) -> bool:
        each = entries / self.count
        too_many = each > BUCKET_ENTRIES * UNEVEN and self.count < MAX_BUCKETS
        return not too_many and each >= BUCKET_ENTRIES / UNEVEN

    def changed(self, now: dict[str, object]) -> dict[int, Entries]:
        """The entries of each bucket that is not as it was written. A value is the same if it is the same object."""
        if now is self._written:
            return {}
        places, before = self._places, self._written
        touched = {places.pop(key)[1] for key in before.keys() - now.keys()}
        last = -1
        for key, value in now.items():
            place = places.get(key)
            if place is None or place[0] < last:
                place = places[key] = self._next, zlib.crc32(key.encode()) % self.count
                self._next += 1
                touched.add(place[1])
            elif before[key] is not value:
                touched.add(place[1])
            last = place[0]
        self._written = now
        entries: dict[int, Entries] = {bucket: [] for bucket in touched}
        for key, value in now.items():
            number, bucket = places[key]
            if bucket in entries:
                entries[bucket].append((number, key, value))
        return entries


def mappings_of(state: type[msgspec.Struct], path: tuple[str, ...] = ()) -> Iterator[Field]:
    for field in msgspec.structs.fields(state):
        at, hint = (*path, field.name), field.type
        if get_origin(hint) is dict and get_args(hint)[0] is str:
            entries = list[tuple[int, str, get_args(hint)[1]]]  # type: ignore[misc, valid-type]  # at run time
            yield Field(at, msgspec.msgpack.Decoder(entries).decode)
        elif isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            yield from mappings_of(hint, at)


def _replaced(state: msgspec.Struct, path: tuple[str, ...], value: dict[str, object]) -> msgspec.Struct:
    name, *rest = path
    inner = _replaced(getattr(state, name), tuple(rest), value) if rest else value
    return msgspec.structs.replace(state, **{name: inner})
