"""Stores checkpoints of a replay, so that the next one continues and folds nothing twice.

For each cluster, a database remembers a digest of every replayed observation (by hour of event time) and the states
of its logs. An observation with a known digest is skipped. A replay that starts where the last one ended continues
with its states. An earlier one starts without states and leaves those unchanged.
"""

import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from ingest.model.numbers import storable
from ingest.normalize.decode import Digests, hour_of
from streams.fold.fold import LogState
from streams.fold.reducer import Reducer

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_LEVEL: Final = 1


class Entry(NamedTuple):
    """One stored value; a later `save` of the same cluster, kind and key replaces it."""

    cluster: str
    kind: str
    key: str
    value: bytes


class Checkpoints(Protocol):
    """Stores entries; each `save` stores all of its entries or none."""

    def load(self, cluster: str, kind: str, key: str | None = None) -> Mapping[str, bytes]: ...

    def save(self, entries: Sequence[Entry]) -> None: ...


class InMemory:
    """Checkpoints in memory, for a replay that is never continued."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str, str], bytes] = {}

    def load(self, cluster: str, kind: str, key: str | None = None) -> Mapping[str, bytes]:
        found = self._entries.items()
        return {name: value for (of, k, name), value in found if of == cluster and k == kind and key in {None, name}}

    def save(self, entries: Sequence[Entry]) -> None:
        self._entries.update(((each.cluster, each.kind, each.key), each.value) for each in entries)


_encode: Final = msgspec.msgpack.Encoder().encode


def encoded(state: object) -> bytes:
    """Encode a state, or a part of it, as msgpack; a computed number beyond 64 bits becomes the nearest that fits."""
    try:
        return _encode(state)
    except (OverflowError, UnicodeEncodeError):
        return _encode(storable(state))


def packed(state: bytes) -> bytes:
    """Compress a state, because the states of thousands of nodes are in memory while they are saved."""
    return zstd.compress(state, _LEVEL)


def unpacked(value: bytes) -> bytes:
    return zstd.decompress(value)


class KnownDigests:
    """Holds digests of the observations that a database has, a few hours of event time in memory at once."""

    def __init__(self, store: Checkpoints) -> None:
        self._store = store
        self._digests = Digests(self._load)
        self._unsaved: set[tuple[str, str]] = set()

    def add(self, cluster: str, ts: datetime | None, value: int) -> bool:
        """Remember a digest; return False if it was known already."""
        is_new = self._digests.add(cluster, ts, value)
        if is_new:
            self._unsaved.add((cluster, hour_of(ts)))
        return is_new

    def entries(self) -> list[Entry]:
        """Return the entries to save for everything added since the last call; free past hours."""
        entries = [
            Entry(cluster, "seen", hour, array("Q", sorted(self._digests.of(cluster, hour))).tobytes())
            for cluster, hour in sorted(self._unsaved)
        ]
        self._unsaved.clear()
        self._digests.evict_old_hours()
        return entries

    def _load(self, cluster: str, hour: str) -> Iterable[int]:
        return array("Q", self._store.load(cluster, "seen", hour).get(hour, b""))


class _StoredLog(msgspec.Struct, array_like=True):
    minute: int
    states: dict[str, tuple[int, msgspec.Raw]]
    """Version and msgpack of each reducer's state."""
    exists: bool = True
    """True in entries of versions without this field, where every node exists."""


class StateCodec:
    """Encodes and decodes the states of a log. A state of another version is dropped, never misread."""

    def __init__(self, reducers: Sequence[Reducer[Any]]) -> None:
        self._reducers = {r.name: r for r in reducers}
        self._decoders = {r.name: msgspec.msgpack.Decoder(r.state).decode for r in reducers}
        self._stored = msgspec.msgpack.Decoder(_StoredLog).decode

    def encode(self, log: LogState) -> bytes:
        states = {
            name: (self._reducers[name].version, msgspec.Raw(encoded(state)))
            for name, state in sorted(log.states.items())
        }
        return encoded(_StoredLog(log.minute, states, log.exists))

    def decode(self, value: bytes) -> LogState:
        stored = self._stored(value)
        states: dict[str, msgspec.Struct] = {}
        for name, (version, state) in stored.states.items():
            if name in self._reducers and version == self._reducers[name].version:
                with suppress(msgspec.ValidationError):  # an older version accepted impossible numbers
                    states[name] = self._decoders[name](state)
        return LogState(stored.minute, states, stored.exists)
