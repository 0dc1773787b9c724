"""Answers users' own SQL in a process without environment variables, and with limited CPU time and memory.

It reads a snapshot of the database. `python -I -m sql.questions.child FOLDER DATABASE` reads questions from standard
input, and ends with it or when idle.
"""

import os
import resource
import select
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import quote

import msgspec

from sql.database.errors import DatabaseError
from sql.database.open import Database, Result, connect
from sql.questions.ask import ask
from sql.questions.frames import SqlReply, SqlRequest, packed, read
from sql.questions.limits import MIB

IDLE_SECONDS: Final = 300.0
MOST_VALUES: Final = 500_000
"""Maximum number of values of an answer, including those in arrays and maps: each takes about 100 bytes when
shown.
"""
MEMORY_RATIO: Final = 3
"""Memory that the process may add, as a multiple of a question's limit.

The engine holds the answer once, and Python holds it again as rows.
"""
CORES: Final = 4
"""CPU seconds for each second of a question, because the engine uses several threads."""
_SPARE_SECONDS: Final = 2
_MSGPACK_TYPES: Final = (bool, int, float, str, datetime, type(None))
_TOO_MUCH_MEMORY: Final = 241
"""ClickHouse's error code MEMORY_LIMIT_EXCEEDED."""


def main(folder: str, database: str) -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the engine's own output is not part of the answer
    with connect(f"chdb://{quote(folder)}?database={quote(database)}", make=False, read_only=True) as engine:
        db = engine.another()
        ask(db, "SELECT 1", {})  # starts the engine before its memory is measured
        taken = _taken_bytes()
        # from here on, the process can neither write files nor leave a core dump
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _send(answers, SqlReply())
        while select.select([0], [], [], IDLE_SECONDS)[0] and (body := read(sys.stdin.buffer)):
            request = msgspec.msgpack.decode(body, type=SqlRequest)
            _limit_resources(request, taken)
            _send(answers, _answer(db, request))


def _answer(db: Database, request: SqlRequest) -> SqlReply:
    try:
        found = ask(db, request.sql, request.given, request.limits)
        reply = SqlReply(found.column_names, found.column_types, list(_plain_rows(found)))
        if len(packed(reply)) <= request.limits.answer_bytes:
            return reply
        problem = f"the answer is larger than {request.limits.answer_bytes // MIB} MiB: narrow the query"
        return SqlReply(problem=problem, code=_TOO_MUCH_MEMORY)
    except DatabaseError as error:
        return SqlReply(problem=str(error), code=getattr(error, "code", None))
    except MemoryError:
        return SqlReply(problem="the answer takes too much memory: narrow the query", code=_TOO_MUCH_MEMORY)


def _plain_rows(found: Result) -> Iterator[tuple[Any, ...]]:
    """Yield values as msgpack's types, up to a limit."""
    left = MOST_VALUES

    def plain(value: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise DatabaseError(f"the answer has more than {MOST_VALUES:,} values: narrow the query")
        match value:
            case list() | tuple():
                return [plain(each) for each in value]
            case dict():
                return {str(key): plain(each) for key, each in value.items()}
            case int() if not -(1 << 63) <= value < 1 << 64:
                return str(value)
            case _:
                return value if isinstance(value, _MSGPACK_TYPES) else str(value)

    for row in found.rows:
        yield tuple(map(plain, row))


def _limit_resources(request: SqlRequest, taken: int) -> None:
    """Give the next question its own CPU time and memory. RLIMIT_CPU counts from the start of the process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + request.limits.seconds * CORES + _SPARE_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
    if taken:
        most = taken + MEMORY_RATIO * request.limits.memory_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (most, resource.RLIM_INFINITY))


def _taken_bytes() -> int:
    """Return the memory of the waiting engine, as RLIMIT_DATA counts it; 0 if unknown."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
    except OSError:
        return 0


def _send(answers: BinaryIO, reply: SqlReply) -> None:
    answers.write(packed(reply))
    answers.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
