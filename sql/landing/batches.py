"""Inserts batches into tables: one thread builds and inserts columns while the next batch is folded."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, repeat
from queue import Queue
from threading import Thread
from types import NoneType, UnionType
from typing import Any, Final, Literal, Self, Union, get_args, get_origin, get_type_hints
from uuid import uuid4

from msgspec.structs import astuple

from ingest.model.numbers import storable
from ingest.model.samples import BYTES, TYPE_CODES, NodeSample, Packed, PodColumns
from sql.database.lean_arrow import make_arrow_lean, pa
from sql.database.open import Database
from streams.fold.batch import Batch, SampleKey
from streams.fold.checkpoints import Entry
from streams.fold.findings import HIGH_RATE, NEVER_REPLACED, TABLES, Row, stored_types, stored_values

make_arrow_lean()

NODE_SAMPLES: Final = "node_samples"
POD_SAMPLES: Final = "pod_samples"
_TIME: Final = pa.timestamp("us", "UTC")
_SCALARS: Final[dict[Any, pa.DataType]] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    datetime: _TIME,
}
_INVERTED: Final = bytes([1, *[0] * 255])
_SAMPLE_KEY: Final[dict[str, Any]] = {"cluster": str, "ts": datetime, "node": str}


def _field(name: str, hint: Any) -> "pa.Field[Any]":
    inner = [part for part in get_args(hint) if part is not NoneType]
    if get_origin(hint) in {Union, UnionType}:
        return pa.field(name, _type(inner[0]), nullable=True)
    return pa.field(name, _type(hint), nullable=False)


def _type(hint: Any) -> pa.DataType:
    arguments = get_args(hint)
    if get_origin(hint) is list:
        return pa.list_(_type(arguments[0]))
    if get_origin(hint) is dict:
        return pa.map_(_type(arguments[0]), _type(arguments[1]))
    return _SCALARS[hint]


def _sample_schema(fields: Mapping[str, Any]) -> pa.Schema:
    return pa.schema([_field(name, hint) for name, hint in {**_SAMPLE_KEY, **fields}.items()])


SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    **{
        table: pa.schema([_field(name, hint) for name, hint in stored_types(row_type).items()])
        for row_type, table in TABLES.items()
    },
    NODE_SAMPLES: _sample_schema(get_type_hints(NodeSample)),
    POD_SAMPLES: _sample_schema({name: get_args(hint)[0] for name, hint in get_type_hints(PodColumns).items()}),
}
"""Schema of each stored table (tables.md); columns in the table's own order."""


def to_arrow(row_type: type[Row], rows: Sequence[Row]) -> pa.Table:
    """Convert rows of one type to the columns of its table.

    A number beyond 64 bits becomes the nearest that fits, and half of a surrogate pair a question mark. A cluster
    may send both, and no row may stop the others.
    """
    schema = SCHEMAS[TABLES[row_type]]
    columns = zip(*stored_values(row_type, rows), strict=True) if rows else [()] * len(schema)
    return _table(schema, columns)


def from_columns(table: str, columns: Mapping[str, Sequence[object]]) -> pa.Table:
    """Convert named columns to those of a table; hostile values as in `to_arrow`."""
    schema = SCHEMAS[table]
    return _table(schema, (columns[field.name] for field in schema))


def node_samples(keys: Sequence[SampleKey], samples: Sequence[NodeSample]) -> pa.Table:
    """Return the rows of `node_samples`: `keys[i]` is when and where `samples[i]` was taken."""
    columns = zip(*((*key[:-1], *astuple(sample)) for key, sample in zip(keys, samples, strict=True)), strict=True)
    return _table(SCHEMAS[NODE_SAMPLES], columns)


def pod_samples(keys: Sequence[SampleKey], texts: Mapping[str, Sequence[str]], numbers: Sequence[Packed]) -> pa.Table:
    """The rows of `pod_samples`: `texts` holds the pods of all samples one after the other, `keys` has whose they
    are.

    `numbers[i]` are those of the pods of sample i.
    """
    schema = SCHEMAS[POD_SAMPLES]
    *shared, counts = zip(*keys, strict=True)
    repeated = [list(chain.from_iterable(map(repeat, values, counts))) for values in shared]
    columns = {**texts, **_numbers(numbers, schema)}
    return _table(schema, [*repeated, *(columns[name] for name in PodColumns.__struct_fields__)])


def _numbers(samples: Sequence[Packed], schema: pa.Schema) -> Mapping[str, "pa.Array[Any]"]:
    """Return the columns TYPE_CODES over all samples; the bytes of Int64 and Float64 stay unchanged."""
    kinds = len(TYPE_CODES)
    pods = sum(len(each.values) for each in samples) // BYTES // kinds
    values = _side_by_side([each.values for each in samples], kinds)
    known: Sequence[pa.Buffer | None] = [None] * kinds
    if any(each.absent for each in samples):
        masks = [each.absent or bytes(len(each.values) // BYTES) for each in samples]
        known = [_bits(mask.translate(_INVERTED)) for mask in _side_by_side(masks, kinds)]
    return {
        name: pa.Array.from_buffers(schema.field(name).type, pods, [mask, pa.py_buffer(column)])
        for name, column, mask in zip(TYPE_CODES, values, known, strict=True)
    }


def _side_by_side(samples: Sequence[bytes], kinds: int) -> list[bytes]:
    """Join each column of all samples, which have all their columns one after the other."""
    sizes = [len(each) // kinds for each in samples]
    return [
        b"".join([each[size * kind : size * (kind + 1)] for each, size in zip(samples, sizes, strict=True)])
        for kind in range(kinds)
    ]


def _bits(truths: bytes) -> pa.Buffer:
    """Return a bit for each byte that is 0 or 1: pyarrow's own cast would import all of its functions, and numpy."""
    size = -(-len(truths) // 8)
    bits = sum(int.from_bytes(truths[index::8], "little") << index for index in range(8))
    return pa.py_buffer(bits.to_bytes(size, "little"))


def _table(schema: pa.Schema, columns: Any) -> pa.Table:
    arrays = [
        column if isinstance(column, pa.Array) else _array(column, field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], kind: pa.DataType) -> "pa.Array[Any]":
    if pa.types.is_map(kind):
        values = [sorted(value.items()) for value in values]
    try:
        return pa.array(values, kind)
    except (OverflowError, UnicodeEncodeError, pa.ArrowInvalid):
        return pa.array([storable(value) for value in values], kind)


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
