"""States and findings as the bytes that Kafka keeps."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from streams.checkpoints import StateCodec
from streams.findings import TABLES, Row
from streams.fold import LogState
from streams.reducer import Reducer

NOTHING_FOLDED: Final = -1


class Folded(NamedTuple):
    """A log's state and the offset of the last record in it: records up to there are not folded again."""

    offset: int
    log: LogState


class _Stored(msgspec.Struct, array_like=True):
    offset: int
    log: bytes


class TableCodec:
    """A log's state as the value of a table's key."""

    def __init__(self, reducers: Sequence[Reducer[Any]]) -> None:
        self._states = StateCodec(reducers)
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(_Stored).decode

    def encode(self, folded: Folded) -> bytes:
        return self._encode(_Stored(folded.offset, self._states.encode(folded.log)))

    def decode(self, value: bytes | None) -> Folded:
        if value is None:
            return Folded(NOTHING_FOLDED, LogState())
        stored = self._decode(value)
        return Folded(stored.offset, self._states.decode(stored.log))


class Findings(msgspec.Struct, frozen=True, kw_only=True, tag="findings", tag_field="kind"):
    """What the analytics concluded from one record: by table, by column, one value a row."""

    cluster: str
    node: str
    ts: datetime
    tables: dict[str, dict[str, list[Any]]]


_encode_findings: Final = msgspec.json.Encoder().encode
_decode_findings: Final = msgspec.json.Decoder(Findings).decode


def findings_of(cluster: str, node: str, ts: datetime, rows: Sequence[Row]) -> Findings:
    """The message of a record's rows."""
    by_type: dict[type[Row], list[Row]] = {}
    for row in rows:
        by_type.setdefault(type(row), []).append(row)
    tables = {
        TABLES[row_type]: dict(zip(row_type._fields, map(list, zip(*of_type, strict=True)), strict=True))
        for row_type, of_type in by_type.items()
    }
    return Findings(cluster=cluster, node=node, ts=ts, tables=tables)


def encode_findings(findings: Findings) -> bytes:
    return _encode_findings(findings)


def decode_findings(value: bytes) -> Findings:
    """Raises msgspec.MsgspecError."""
    return _decode_findings(value)


def finding_columns(messages: Sequence[Findings]) -> Mapping[str, Mapping[str, list[Any]]]:
    """The columns of many messages, one after the other, by table."""
    tables: dict[str, dict[str, list[Any]]] = {}
    for message in messages:
        for table, columns in message.tables.items():
            into = tables.setdefault(table, {name: [] for name in columns})
            for name, values in columns.items():
                into[name].extend(values)
    return tables
