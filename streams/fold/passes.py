"""Tracks passes over the facts of dumps: what each pass read, and which rows it concluded.

A pass that reads everything that earlier passes over a cluster's dumps have read supersedes them. It takes back the
rows that only they concluded, and their newer versions of its own rows. An earlier version can be newer because a
part without any time is dated by the time of reading. Rows of a stream are never taken back. A stream can conclude a
row of the same key, so a cluster with a stream in the same database keeps the rows of all its passes.
"""

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import xxhash

from ingest.model.objects.base import UNKNOWN_NAME
from ingest.model.observation import FROM_TEXT
from ingest.normalize.dead_letters import EPOCH
from ingest.normalize.decode import Decoded
from streams.fold.checkpoints import Checkpoints, Entry
from streams.fold.findings import (
    HIGH_RATE,
    TABLES,
    DeadLetter,
    Eviction,
    PodEnd,
    Row,
    has_flag,
    has_version,
    is_of_time,
    version,
)

_KIND: Final = "dump"
_MICROSECOND: Final = timedelta(microseconds=1)
_READ: Final = ""
"""Key of the entry that lists what was read; other keys are tables, or _STREAMED."""
_VERSIONS: Final = "/versions"
"""This suffix marks the entry with the versions of a table's rows, in the order of their identities."""
_NAMES: Final = "/names"
"""This suffix marks the entry that identifies evictions and ends by the pod's name, for texts without UIDs."""
_STREAMED: Final = "streamed"
"""This key marks a cluster whose rows are never taken back: a stream of it was read, or MOST was exceeded."""
MOST: Final = 1_000_000
"""Maximum number of facts and rows of a cluster that are remembered. Each takes about 100 bytes while a pass ends."""
_KEPT: Final = HIGH_RATE | {TABLES[DeadLetter]}
"""Tables whose rows are never withdrawn: roll-ups have counted them, or they are about the input itself."""
_TAKEN_BACK: Final = {*TABLES.values()} - _KEPT
_WITH_VERSION: Final = {table for row_type, table in TABLES.items() if has_version(row_type)}
V = TypeVar("V")
_OfClusters = defaultdict[str, defaultdict[str, dict[int, V]]]
"""Values by cluster, table and the identity of a row."""


def _of_clusters() -> _OfClusters[V]:
    return defaultdict(lambda: defaultdict(dict))


class Stored(Protocol):
    """The rows of a database, which can be deleted by their identities."""

    def key(self, table: str) -> Sequence[str]:
        """Return the columns that form the identity of a row."""

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


class Ended(NamedTuple):
    """The rows and entries to store after a pass: first `rows`, which deleted rows had hidden."""

    rows: list[Row]
    entries: list[Entry]


class Passes:
    """Runs one pass over the dumps of each cluster, from `start_pass` to `end_pass`."""

    def __init__(self, checkpoints: Checkpoints, stored: Stored) -> None:
        self._checkpoints = checkpoints
        self._stored = stored
        self._read: dict[str, set[int]] = {}
        self._before: dict[str, dict[str, dict[int, int]]] = {}
        """Versions of the rows of earlier passes, by cluster, table and identity."""
        self._rows: _OfClusters[int] = _of_clusters()
        """Versions of the rows of this pass, 0 in tables without any."""
        self._under: _OfClusters[Row] = _of_clusters()
        """Rows of this pass that are older than what earlier passes concluded."""
        self._named: _OfClusters[int] = _of_clusters()
        """Versions of earlier passes' rows that name a pod without its UID, which this pass knows."""
        self._guessed: _OfClusters[int] = _of_clusters()
        """Identities of this pass's rows without a UID, with the version of the earlier row that has one."""
        self._names: _OfClusters[int] = _of_clusters()
        """Versions of this pass's rows with a UID, keyed as a text without UIDs would identify them."""
        self._streamed: set[str] = set()

    def start_pass(self, cluster: str) -> None:
        """Begin with a cluster, whose first fact comes next.

        Raises the database's error, before any row is stored, if rows of earlier passes may have to be taken back and
        cannot be.
        """
        before = self._load(cluster)
        tables = [key for key, rows in before.items() if rows and key in _TAKEN_BACK]
        if tables and _STREAMED not in before:
            self._stored.check(tables)
        self._before[cluster] = {
            key: dict(zip(before[key], versions, strict=True))
            for key in before
            if len(versions := before.get(key + _VERSIONS, ())) == len(before[key])
        }
        self._read[cluster] = set()

    def read(self, item: Decoded) -> None:
        """Note an item. One of a stream ends its cluster's pass, because a later pass might not read that stream."""
        read = self._read.get(item.cluster)
        if read is not None:
            read.update(item.texts)
        if item.is_implied:
            return
        if item.observed and not item.fact:
            self._streamed.add(item.cluster)
            for of_clusters in self._noted:
                of_clusters.pop(item.cluster, None)
        elif read is not None:
            is_of_unknown_text = item.fact == FROM_TEXT and FROM_TEXT not in read
            read.add(item.digest if is_of_unknown_text else item.fact or item.digest)

    def concluded(self, row_type: type[Row], rows: Iterable[Row]) -> None:
        table = TABLES[row_type]
        if not self._read or table in _KEPT:
            return
        names = self._stored.key(table)
        for row in rows:
            if row.cluster in self._read:
                key = identity(getattr(row, name) for name in names)
                if has_version(row_type):
                    self._replaced(table, key, row)
                    if isinstance(row, Eviction | PodEnd):
                        self._note_named(table, names, row)
                else:
                    self._rows[row.cluster][table][key] = 0

    def _replaced(self, table: str, key: int, row: Row) -> None:
        rows, under, number = self._rows[row.cluster][table], self._under[row.cluster][table], version(row)
        if number < rows.get(key, 0):
            return
        rows[key] = number
        if number < self._before[row.cluster].get(table, {}).get(key, 0):
            under[key] = row
        else:
            under.pop(key, None)

    def _note_named(self, table: str, names: Sequence[str], row: Eviction | PodEnd) -> None:
        """Match a row with earlier rows about the same end. A text may lack the UID and shorten the node's name."""
        before, name, host = self._before[row.cluster], f"{row.namespace}/{row.pod}", row.node.partition(".")[0]
        values = {each: getattr(row, each) for each in names} | {"uid": name}

        def key(node: str) -> int:
            return identity((values | {"node": node}).values())

        if row.uid == name:
            number = before.get(table + _NAMES, {}).get(key(host), 0)
            is_same = number and (not row.time_known or is_of_time(number, row))
            if is_same and (has_flag(number, row, "cause_known") or not row.cause_known):
                self._guessed[row.cluster][table][key(row.node)] = number
            return
        for node in dict.fromkeys((host, UNKNOWN_NAME, row.node)):
            self._names[row.cluster][table][each := key(node)] = version(row)
            number = before.get(table, {}).get(each, 0)
            if number and is_of_time(number, row):
                self._named[row.cluster][table][each] = number

    def unsaved(self) -> Iterable[Entry]:
        """Yield entries to save once rows are stored: a later pass then knows them, even if this one is killed."""
        for cluster, read in self._read.items():
            before, rows = self._load(cluster), self._rows[cluster]
            after = {_READ: dict.fromkeys(read.union(before.get(_READ, ())), 0)}
            for table in sorted(_TAKEN_BACK & (before.keys() | rows.keys())):
                earlier = dict.fromkeys(before.get(table, ()), 0) | self._before[cluster].get(table, {})
                after[table] = _larger_counts(earlier, rows[table])
            if _STREAMED not in before and sum(map(len, after.values())) <= MOST:
                yield from _entries(cluster, after)

    def end_pass(self) -> Ended:
        """Withdraw the rows of earlier passes that this one supersedes. The caller has stored all of its rows."""
        again: list[Row] = []
        entries = [entry for cluster in sorted(self._read) for entry in self._ended(cluster, again)]
        entries += [Entry(cluster, _KIND, _STREAMED, b"") for cluster in sorted(self._streamed)]
        for of_clusters in self._noted:
            of_clusters.clear()
        self._streamed.clear()
        return Ended(again, entries)

    @property
    def _noted(self) -> tuple[dict[str, Any], ...]:
        return self._read, self._rows, self._under, self._named, self._guessed, self._names, self._before

    def _ended(self, cluster: str, again: list[Row]) -> Iterable[Entry]:
        before = self._load(cluster)
        read, rows, under = self._read[cluster], self._rows[cluster], self._under[cluster]
        is_alone = _STREAMED not in before and not self._stored.is_watched(cluster)
        is_whole = is_alone and read.issuperset(before.get(_READ, ()))
        after = {_READ: dict.fromkeys(read.union(before.get(_READ, ())), 0)}
        for table in sorted(_TAKEN_BACK & (before.keys() | rows.keys())):
            earlier = dict.fromkeys(before.get(table, ()), 0) | self._before[cluster].get(table, {})
            if is_whole and (stale := (earlier.keys() - rows[table].keys()) | under[table].keys()):
                self._stored.withdraw(cluster, table, stale)
                again += under[table].values()
            after[table] = rows[table] if is_whole else _larger_counts(earlier, rows[table])
            named = (self._named[cluster][table].keys() - rows[table].keys()) | self._guessed[cluster][table].keys()
            if is_alone and not is_whole and named:
                self._stored.withdraw(cluster, table, named)
                after[table] = {key: number for key, number in after[table].items() if key not in named}
            if table in self._names[cluster] or table + _NAMES in before:
                names = self._names[cluster][table]
                after[table + _NAMES] = (
                    names if is_whole else _larger_counts(self._before[cluster].get(table + _NAMES, {}), names)
                )
        if is_alone and sum(map(len, after.values())) <= MOST:
            yield from _entries(cluster, after)
        else:  # rows of this cluster are no longer taken back, so earlier passes are forgotten
            yield from (_entry(cluster, key, ()) for key in (after.keys() | before.keys()) - {_STREAMED})
            yield Entry(cluster, _KIND, _STREAMED, b"")

    def _load(self, cluster: str) -> "dict[str, array[int]]":
        return {key: array("Q", value) for key, value in self._checkpoints.load(cluster, _KIND).items()}


def _larger_counts(one: Mapping[int, int], other: Mapping[int, int]) -> dict[int, int]:
    return {key: max(one.get(key, 0), other.get(key, 0)) for key in one.keys() | other.keys()}


def _entries(cluster: str, after: Mapping[str, Mapping[int, int]]) -> Iterable[Entry]:
    for key, versions in after.items():
        identities = sorted(versions)
        yield _entry(cluster, key, identities)
        if key.removesuffix(_NAMES) in _WITH_VERSION:
            yield _entry(cluster, key + _VERSIONS, [versions[each] for each in identities])


def _entry(cluster: str, key: str, values: Sequence[int]) -> Entry:
    return Entry(cluster, _KIND, key, array("Q", values).tobytes())
