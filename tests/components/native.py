"""ClickHouse's Native format as clickhouse-go reads it from a server.

Its version of the protocol has a head in each block and a flag in each column; the embedded engine writes neither.
"""

import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

FLAGGED: Final = 54454
"""Versions of the protocol from this on have both (DBMS_MIN_REVISION_WITH_CUSTOM_SERIALIZATION)."""
_HEAD: Final = b"\x01\x00\x02\xff\xff\xff\xff\x00"
"""No overflow row, no bucket, end of the head."""
_AS_USUAL: Final = b"\x00"
"""The flag: no serialization of its own."""
_NUMBERS: Final = {"UInt8": "<B", "UInt16": "<H", "UInt32": "<I", "UInt64": "<Q"}


class _Column(msgspec.Struct):
    name: str
    type: str


class _Found(msgspec.Struct):
    meta: list[_Column]
    data: list[list[Any]]


def block(found: bytes) -> bytes:
    """One block of what was found as JSONCompact. RuntimeError for a type that no test needed: it knows strings and
    unsigned integers.
    """
    table = msgspec.json.decode(found, type=_Found)
    columns = zip(*table.data, strict=True) if table.data else ((),) * len(table.meta)
    parts = [_HEAD, _length(len(table.meta)), _length(len(table.data))]
    for column, values in zip(table.meta, columns, strict=True):
        parts += [_string(column.name), _string(column.type), _AS_USUAL, *_values(column.type, values)]
    return b"".join(parts)


def _values(kind: str, values: Sequence[Any]) -> Iterator[bytes]:
    if kind != "String" and kind not in _NUMBERS:
        raise RuntimeError(f"Code: 48. DB::Exception: no {kind} in Native for this client. (NOT_IMPLEMENTED)")
    for value in values:
        yield _string(value) if kind == "String" else struct.pack(_NUMBERS[kind], int(value))


def _string(text: str) -> bytes:
    encoded = text.encode()
    return _length(len(encoded)) + encoded


def _length(number: int) -> bytes:
    """LEB128."""
    low, rest = number & 0x7F, number >> 7
    return bytes([low | 0x80]) + _length(rest) if rest else bytes([low])
