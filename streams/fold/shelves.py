"""A mapping of tens of thousands of entries that is replaced and never changed.

It consists of shelves, so that a change copies only one of them. Pure. Copying all entries for each new one would
take time that grows with the square of their number.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, TypeAlias, TypeVar
from zlib import crc32

V = TypeVar("V")
Shelves: TypeAlias = dict[str, dict[str, V]]

_SHELVES: Final = 128
_NAMES: Final = tuple(map(str, range(_SHELVES)))


def on_shelf(shelves: Shelves[V], key: str) -> V | None:
    """Return the value of a key, or None."""
    shelf = shelves.get(_shelf(key)) if shelves else None
    return None if shelf is None else shelf.get(key)


def put(shelves: Shelves[V], key: str, value: V, most: int = 0) -> Shelves[V]:
    """Return the mapping with this value as the newest.

    Beyond about `most` values, the shelf's oldest is dropped (0: never).
    """
    name = _shelf(key)
    shelf = shelves.get(name, {}).copy()
    shelf.pop(key, None)
    if most and len(shelf) >= max(most // _SHELVES, 1) * 4:
        del shelf[next(iter(shelf))]
    shelf[key] = value
    return {**shelves, name: shelf}


def without(shelves: Shelves[V], key: str) -> Shelves[V]:
    name = _shelf(key)
    if key not in shelves.get(name, {}):
        return shelves
    left = shelves[name].copy()
    del left[key]
    others = {each: shelf for each, shelf in shelves.items() if each != name}
    return {**others, name: left} if left else others


def count_on(shelves: Shelves[V]) -> int:
    return sum(map(len, shelves.values()))


def items(shelves: Shelves[V]) -> Iterator[tuple[str, V]]:
    """Yield every key with its value, in order of keys."""
    yield from sorted((item for shelf in shelves.values() for item in shelf.items()), key=lambda item: item[0])


@lru_cache(maxsize=256)
def _shelf(key: str) -> str:
    """Return the name of a key's shelf. Cached, because the reducers of a log look up the same pod one after
    another.
    """
    return _NAMES[crc32(key.encode("utf-8", "replace")) % _SHELVES]
