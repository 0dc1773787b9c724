"""The protocol for users' own SQL between a page's process and its child: a length, then msgpack.

The process that holds a database exchanges the same messages at the path OWN.
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
    """The rows, or the reason why there are none."""

    column_names: tuple[str, ...] = ()
    column_types: tuple[str, ...] = ()
    rows: list[tuple[Any, ...]] = []
    problem: str = ""
    code: int | None = None


def packed(message: SqlRequest | SqlReply) -> bytes:
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(LENGTH, "big") + body


def read(stream: BinaryIO) -> bytes:
    """Read the next message; empty at the end of the stream."""
    return stream.read(int.from_bytes(stream.read(LENGTH), "big"))
