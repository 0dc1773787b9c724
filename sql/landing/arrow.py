"""Converts rows and samples to Arrow tables, whose columns are derived from their Python types."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain, repeat
from types import NoneType, UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from msgspec.structs import astuple

from ingest.model.numbers import storable
from ingest.model.samples import BYTES, TYPE_CODES, NodeSample, Packed, PodColumns
from sql.database.lean_arrow import make_arrow_lean, pa
from streams.fold.batch import SampleKey
from streams.fold.findings import TABLES, Row, stored_types, stored_values

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

    A number beyond 64 bits becomes the nearest that fits, and a lone surrogate becomes a question mark. A cluster can
    send both, and no row may block the others.
    """
    schema = SCHEMAS[TABLES[row_type]]
    columns = zip(*stored_values(row_type, rows), strict=True) if rows else [()] * len(schema)
    return _table(schema, columns)


def from_columns(table: str, columns: Mapping[str, Sequence[object]]) -> pa.Table:
    """Convert named columns to those of a table; hostile values are converted as in `to_arrow`."""
    schema = SCHEMAS[table]
    return _table(schema, (columns[field.name] for field in schema))


def node_samples(keys: Sequence[SampleKey], samples: Sequence[NodeSample]) -> pa.Table:
    """Return the rows of `node_samples`: `keys[i]` has the time and place of `samples[i]`."""
    columns = zip(*((*key[:-1], *astuple(sample)) for key, sample in zip(keys, samples, strict=True)), strict=True)
    return _table(SCHEMAS[NODE_SAMPLES], columns)


def pod_samples(keys: Sequence[SampleKey], texts: Mapping[str, Sequence[str]], numbers: Sequence[Packed]) -> pa.Table:
    """Return the rows of `pod_samples`.

    `texts` has the pods of all samples in sequence, `keys` the sample to which each belongs, and `numbers[i]` the
    numbers of the pods of sample i.
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
    """Concatenate each column over all samples; in each sample, the columns follow one another."""
    sizes = [len(each) // kinds for each in samples]
    return [
        b"".join([each[size * kind : size * (kind + 1)] for each, size in zip(samples, sizes, strict=True)])
        for kind in range(kinds)
    ]


def _bits(truths: bytes) -> pa.Buffer:
    """Return a bit for each byte that is 0 or 1; pyarrow's cast would import all of its functions, and numpy."""
    size = -(-len(truths) // 8)
    bits = sum(int.from_bytes(truths[place::8], "little") << place for place in range(8))
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
