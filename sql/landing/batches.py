"""Inserts batches into tables: one thread builds and inserts columns while the next batch is folded."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from queue import Queue
from threading import Thread
from typing import Final, Literal, Self
from uuid import uuid4

from sql.database.lean_arrow import pa
from sql.database.open import Database
from sql.landing.arrow import NODE_SAMPLES, POD_SAMPLES, SCHEMAS, node_samples, pod_samples, to_arrow
from streams.fold.batch import Batch
from streams.fold.checkpoints import Entry
from streams.fold.findings import HIGH_RATE, NEVER_REPLACED, TABLES

TABLE = "replay_checkpoints"
_LATEST = f"""
SELECT key, hex(value) FROM {TABLE} FINAL
WHERE cluster = {{cluster:String}} AND kind = {{kind:String}} AND ({{key:String}} = '' OR key = {{key:String}})
"""


class DatabaseCheckpoints:
    """Stores checkpoints in the same database as the rows. All entries of one `save` are one block, stored
    together.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, cluster: str, kind: str, key: str | None = None) -> Mapping[str, bytes]:
        found = self._database.query(_LATEST, {"cluster": cluster, "kind": kind, "key": key or ""}, described=False)
        return {name: bytes.fromhex(value) for name, value in found.rows}

    def save(self, entries: Sequence[Entry]) -> None:
        written = self._database.query(f"SELECT max(written) + 1 FROM {TABLE}").rows[0][0]
        clusters, kinds, keys, values = zip(*entries, strict=True)
        columns = {
            "cluster": pa.array(clusters, pa.string()),
            "kind": pa.array(kinds, pa.string()),
            "key": pa.array(keys, pa.string()),
            "written": pa.array([written] * len(entries), pa.uint64()),
            "value": pa.array(values, pa.binary()),
        }
        self._database.insert(TABLE, pa.table(columns))


WAITING: Final = 1
"""Maximum number of waiting batches; the runtime then waits."""
HELD_BYTES: Final = 8 * 1024 * 1024
"""Maximum bytes of waiting columns; above it, those of the largest table are inserted."""
UNMERGED: Final = 500
"""Number of inserts up to which the embedded engine defers merges; most replays need no merge before their end."""
_COME_AGAIN: Final = {*TABLES.values()} - HIGH_RATE
"""Tables whose rows can be withdrawn and concluded again, so that an equal insert must count as new."""
_ALL: Final[Iterable[tuple[str, pa.Table]]] = iter(())
"""Requests that all waiting columns are inserted."""


def land(database: Database, batch: Batch, token: str | None = None) -> None:
    """Insert a batch, one insert for each table; a repeated token inserts nothing."""
    for table, columns in tables(batch):
        database.insert(table, columns, token)


def tables(batch: Batch) -> Iterator[tuple[str, pa.Table]]:
    for row_type, rows in batch.rows.items():
        yield TABLES[row_type], to_arrow(row_type, rows)
    if batch.keys:
        yield NODE_SAMPLES, node_samples(batch.keys, batch.samples)
        yield POD_SAMPLES, pod_samples(batch.keys, batch.texts, batch.numbers)


class Lander:
    """A sink whose inserts run on their own thread. The first failure is raised by the next `write` or `drain`.

    An insert of a few rows costs as much as one of a thousand, so columns wait until there are enough, or until
    `drain`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: dict[str, list[pa.Table]] = {}
        self._sizes = Counter[str]()
        self._inserts = 0
        self._waiting: Queue[Iterable[tuple[str, pa.Table]] | None] = Queue(WAITING)
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._land, name="lander", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        self._merges("STOP")
        return self

    def __exit__(self, *_: object) -> None:
        self._waiting.put(None)
        self._thread.join()
        self._merges("START")

    def write(self, batch: Batch) -> None:
        """Hand over a batch; its columns are made on the lander's thread."""
        self._raise()
        self._waiting.put(tables(batch))

    def drain(self) -> None:
        self._waiting.put(_ALL)
        self._waiting.join()
        self._raise()

    def _land(self) -> None:
        while (waiting := self._waiting.get()) is not None:
            try:
                if self._failure is None:
                    self._hold(waiting)
            except BaseException as failure:  # noqa: BLE001  # it is raised where the runtime looks next
                self._failure = failure
            finally:
                self._waiting.task_done()

    def _hold(self, waiting: Iterable[tuple[str, pa.Table]]) -> None:
        for table, columns in waiting:
            self._held.setdefault(table, []).append(columns)
            self._sizes[table] += columns.nbytes
        while self._held and (waiting is _ALL or self._sizes.total() > HELD_BYTES):
            ((table, _),) = self._sizes.most_common(1)
            del self._sizes[table]
            self._insert(table, pa.concat_tables(self._held.pop(table)))

    def _insert(self, table: str, columns: pa.Table) -> None:
        self._database.insert(table, columns, uuid4().hex if table in _COME_AGAIN else None)
        self._inserts += 1
        if self._inserts == UNMERGED:
            self._merges("START")

    def _merges(self, how: Literal["START", "STOP"]) -> None:
        if self._database.embedded:
            self._database.command(f"SYSTEM {how} MERGES")

    def _raise(self) -> None:
        if self._failure is not None:
            raise self._failure


_MOST_UNMERGED: Final = 8192
"""Up to this many rows, reading a single part without duplicates costs less than merging it first."""
_PARTS_OF_TABLES = f"""
SELECT table FROM system.parts
WHERE active AND database = currentDatabase() AND table IN ({{tables:Array(String)}})
GROUP BY table, partition HAVING count() > 1 OR (max(level) = 0 AND sum(rows) > {_MOST_UNMERGED})
"""


def settle(database: Database) -> None:
    """Merge the replacing tables with replaced rows; samples of the same key are equal."""
    tables = sorted(SCHEMAS.keys() - {NODE_SAMPLES, POD_SAMPLES} - NEVER_REPLACED)
    unmerged = {row[0] for row in database.query(_PARTS_OF_TABLES, {"tables": tables}).rows}
    for table in sorted(unmerged):
        database.command(f"OPTIMIZE TABLE {table} FINAL")
