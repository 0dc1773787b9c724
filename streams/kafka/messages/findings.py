"""Encodes findings as messages: all rows about one node from records of one time, by table and by column."""

from collections.abc import Sequence
from datetime import datetime
from types import NoneType
from typing import Final, get_args, get_origin

import msgspec

from ingest.model.topics import Headers, event_headers
from ingest.normalize.dead_letters import EPOCH
from streams.fold.findings import TABLES, DeadLetter, Row, stored_types, stored_values

KIND: Final = "findings"
ROW_TYPES: Final[dict[str, type[Row]]] = {
    table: row_type for row_type, table in TABLES.items() if row_type is not DeadLetter
}
"""Row types of reducers by table. Dead letters have their own topic."""


def _columns(row_type: type[Row]) -> type[msgspec.Struct]:
    """Return a struct with a list for each column; messages of older versions lack newer columns."""
    fields = [
        (name, list[hint] | None, None)  # type: ignore[valid-type]
        for name, hint in stored_types(row_type).items()
    ]
    return msgspec.defstruct(row_type.__name__ + "Columns", fields, frozen=True, kw_only=True, omit_defaults=True)


def unknown(hint: object) -> object:
    return None if NoneType in get_args(hint) else _EMPTY[get_origin(hint) or hint]


_EMPTY: Final[dict[object, object]] = {str: "", int: 0, float: 0.0, bool: False, datetime: EPOCH, list: [], dict: {}}
_UNKNOWN: Final = {
    table: {name: unknown(hint) for name, hint in stored_types(row_type).items()}
    for table, row_type in ROW_TYPES.items()
}
COLUMNS: Final = {table: _columns(row_type) for table, row_type in ROW_TYPES.items()}
Tables: Final = msgspec.defstruct(
    "Tables",
    [(table, columns | None, None) for table, columns in COLUMNS.items()],
    frozen=True,
    kw_only=True,
    omit_defaults=True,
)
"""The columns of each table that has rows."""


class Findings(msgspec.Struct, frozen=True, kw_only=True, tag=KIND, tag_field="kind"):
    """Findings from records of the time `ts`. Lists of a table have the same length."""

    cluster: str
    node: str
    ts: datetime
    tables: Tables  # type: ignore[valid-type]


_encode: Final = msgspec.json.Encoder().encode
_decoder: Final = msgspec.json.Decoder(Findings)


def encode_findings(cluster: str, node: str, ts: datetime, rows: Sequence[Row]) -> bytes:
    by_table: dict[str, list[Row]] = {}
    for row in rows:
        by_table.setdefault(TABLES[type(row)], []).append(row)
    tables = {table: _by_column(table, of_table) for table, of_table in by_table.items()}
    return _encode({"kind": KIND, "cluster": cluster, "node": node, "ts": ts, "tables": tables})


def _by_column(table: str, rows: Sequence[Row]) -> dict[str, tuple[object, ...]]:
    return dict(zip(_UNKNOWN[table], zip(*stored_values(ROW_TYPES[table], rows), strict=True), strict=True))


def finding_headers(cluster: str, node: str, ts: datetime, identity: str) -> Headers:
    return event_headers(KIND, KIND, identity, cluster, node, ts.isoformat())


def decode_findings(value: bytes) -> Findings:
    """Decode findings. Raises msgspec.MsgspecError for bytes that no version of `encode_findings` wrote."""
    return _decoder.decode(value)


def columns_of(findings: Findings) -> dict[str, dict[str, list[object]]]:
    """Return the columns by table. A missing column is None in every row, or empty or zero if it is not nullable."""
    found: dict[str, dict[str, list[object]]] = {}
    for table, columns_type in COLUMNS.items():
        columns = getattr(findings.tables, table)
        if columns is None:
            continue
        lists = {name: getattr(columns, name) for name in columns_type.__struct_fields__}
        rows = max((len(values) for values in lists.values() if values is not None), default=0)
        found[table] = {
            name: [_UNKNOWN[table][name]] * rows if values is None else values for name, values in lists.items()
        }
    return found
