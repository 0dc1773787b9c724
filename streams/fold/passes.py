"""Passes over the facts of dumps: what each pass read, and which rows it concluded.

A pass that reads all that earlier passes over a cluster's dumps have read knows more than they did. So it takes back
the rows that only they concluded. Only the rows of passes can be taken back, never those of a stream. A stream can
have concluded a row of the same key, so a cluster that has one in the same database keeps all.
"""

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

import xxhash

from ingest.normalize.dead_letters import EPOCH
from ingest.normalize.decoded import Decoded
from streams.fold.checkpoints import Checkpoints, Entry
from streams.fold.findings import HIGH_RATE, TABLES, DeadLetter, Row

_KIND: Final = "dump"
_MICROSECOND: Final = timedelta(microseconds=1)
_READ: Final = ""
"""Key of the entry of what was read; other keys are tables, or _STREAMED."""
_STREAMED: Final = "streamed"
"""Key of the entry that nothing is taken back any more: a stream of the cluster was read, or MOST was exceeded."""
MOST: Final = 1_000_000
"""Facts and rows of a cluster that are remembered, of some 100 bytes each while a pass ends."""
_KEPT: Final = HIGH_RATE | {TABLES[DeadLetter]}
"""Tables whose rows are never taken back: roll-ups have counted them, or they are about the input itself."""


class Stored(Protocol):
    """The rows of a database, which can be taken back by their identities."""

    def key(self, table: str) -> Sequence[str]:
        """Return the columns of which the identity of a row is made."""

    def is_watched(self, cluster: str) -> bool:
        """Tell whether watchers of a cluster have rows."""

    def check(self, tables: Collection[str]) -> None:
        """Raise the database's error if rows of one of these tables may not be deleted. It changes nothing."""

    def withdraw(self, cluster: str, table: str, identities: Collection[int]) -> None:
        """Delete the rows of a cluster with these identities, and return when no query sees them."""


def identity(values: Iterable[Any]) -> int:
    """Return 64 bits for the values of a row's key: XXH3 over their texts, a time in microseconds, joined by NUL."""
    texts = map(_text, values)
    return xxhash.xxh3_64_intdigest("\0".join(texts).encode(errors="replace"))


def _text(value: Any) -> str:
    return str((value - EPOCH) // _MICROSECOND if isinstance(value, datetime) else value)


class Passes:
    """One pass over the dumps of each cluster in it, from `begin` to `end`."""

    def __init__(self, checkpoints: Checkpoints, stored: Stored) -> None:
        self._checkpoints = checkpoints
        self._stored = stored
        self._read: dict[str, set[int]] = {}
        self._rows: defaultdict[str, defaultdict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        self._streamed: set[str] = set()

    def begin(self, cluster: str) -> None:
        """Begin with a cluster, whose first fact comes next.

        Raises the database's error, before any row is stored, if rows of earlier passes may have to be taken back and
        cannot be.
        """
        before = self._checkpoints.load(cluster, _KIND)
        tables = [key for key, rows in before.items() if rows and key != _READ]
        if tables and _STREAMED not in before:
            self._stored.check(tables)
        self._read[cluster] = set()

    def read(self, item: Decoded) -> None:
        """Note what was read. A stream in its cluster ends the pass, because a later one could lack the stream."""
        if item.is_implied:
            return
        if item.observed and not item.fact:
            self._streamed.add(item.cluster)
            self._read.pop(item.cluster, None)
            self._rows.pop(item.cluster, None)
        elif (read := self._read.get(item.cluster)) is not None:
            read.add(item.fact or item.digest)

    def concluded(self, row_type: type[Row], rows: Iterable[Row]) -> None:
        """Note the rows of a type that are being stored."""
        table = TABLES[row_type]
        if not self._read or table in _KEPT:
            return
        names = self._stored.key(table)
        for row in rows:
            if row.cluster in self._read:
                self._rows[row.cluster][table].add(identity(getattr(row, name) for name in names))

    def end(self) -> list[Entry]:
        """Take back what earlier passes alone concluded, and return the entries to save. All rows are stored then."""
        entries = [entry for cluster in sorted(self._read) for entry in self._ended(cluster)]
        entries += [Entry(cluster, _KIND, _STREAMED, b"") for cluster in sorted(self._streamed)]
        self._read.clear()
        self._rows.clear()
        self._streamed.clear()
        return entries

    def _ended(self, cluster: str) -> Iterable[Entry]:
        before = {key: set(array("Q", value)) for key, value in self._checkpoints.load(cluster, _KIND).items()}
        read, rows = self._read[cluster], self._rows[cluster]
        tables = sorted(before.keys() - {_READ, _STREAMED} | rows.keys())
        is_alone = _STREAMED not in before and not self._stored.is_watched(cluster)
        is_whole = is_alone and before.get(_READ, set()) <= read
        after = {_READ: read | before.get(_READ, set())}
        for table in tables:
            earlier = before.get(table, set())
            if is_whole and (stale := earlier - rows[table]):
                self._stored.withdraw(cluster, table, stale)
            after[table] = rows[table] if is_whole else rows[table] | earlier
        if is_alone and sum(map(len, after.values())) <= MOST:
            yield from (_entry(cluster, key, values) for key, values in after.items())
        else:  # no later pass takes anything back, not even what it shares with one that is forgotten
            yield from (_entry(cluster, key, ()) for key in after)
            yield Entry(cluster, _KIND, _STREAMED, b"")


def _entry(cluster: str, key: str, values: Collection[int]) -> Entry:
    return Entry(cluster, _KIND, key, array("Q", sorted(values)).tobytes())
