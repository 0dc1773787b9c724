"""The protocol of people's own SQL: a length, then msgpack, between a page's process and its child.

The process that holds a database takes and gives the same messages at the path OWN.
"""

from typing import Any, BinaryIO, Final

import msgspec

from sql.questions.limits import Limits

OWN: Final = "/own"
LENGTH: Final = 4
LONGEST: Final = 64 << 20


class SqlRequest(msgspec.Struct, frozen=True, array_like=True):
    sql: str
    given: dict[str, str]
    limits: Limits


class SqlReply(msgspec.Struct, frozen=True, array_like=True):
    """Rows, or why there are none."""

    column_names: tuple[str, ...] = ()
    column_types: tuple[str, ...] = ()
    rows: list[tuple[Any, ...]] = []
    problem: str = ""
    code: int | None = None


def packed(message: SqlRequest | SqlReply) -> bytes:
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(LENGTH, "big") + body


def read(stream: BinaryIO) -> bytes:
    """The next message; empty at the end."""
    return stream.read(int.from_bytes(stream.read(LENGTH), "big"))
