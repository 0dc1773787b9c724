"""Runs users' own SQL in a separate process that can be killed, so that others need not wait for it."""

import os
import select
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from math import inf
from time import monotonic
from typing import IO, Final, cast

import msgspec

from sql.database.errors import DatabaseError, QueryCancelled, QueryFailed
from sql.database.open import Database, Result
from sql.database.snapshot import snapshot
from sql.questions.ask import ask, only_reads
from sql.questions.frames import LENGTH, SqlReply, SqlRequest, packed
from sql.questions.limits import MIB, Limits

FRESH_SECONDS: Final = 5.0
"""Maximum age of a snapshot that is queried, if this process also writes the database."""
START_SECONDS: Final = 60.0
GRACE_SECONDS: Final = 1.0
"""The engine itself ends a question at its limit; this much later, the process is killed."""
LOOK_SECONDS: Final = 0.05
TIMEOUT: Final = 159
MEMORY: Final = 241
"""ClickHouse's numbers."""


class QueryProcess:
    """Queries an embedded database in a child process, which starts with the first question.

    A server limits its users itself. The child reads a snapshot, which is renewed if this process also writes the
    database. For one thread at a time.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._child: _Child | None = None
        self._folder = ""
        self._stack = ExitStack()
        self._stale_at = inf

    def ask(self, sql: str, given: Mapping[str, str], limits: Limits) -> Result:
        """Answer like `sql.questions.ask`. Raises DatabaseError, and QueryCancelled if the work is stopped."""
        if not self._db.is_here:
            return ask(self._db, sql, given, limits)
        request = SqlRequest(sql, dict(given), limits)
        try:
            reply = self._answered(request)
        except _Idle:  # it has just ended
            reply = self._answered(request)
        if reply.problem:
            raise QueryFailed(reply.problem.replace(f"chdb://{self._folder}", "the database"), reply.code)
        return Result(reply.column_names, reply.column_types, reply.rows)

    def warm(self) -> None:
        """Start the process if it does not run, without waiting for it. Raises DatabaseError."""
        if self._db.is_here:
            self._begun()

    def close(self) -> None:
        """End the process; a running question fails."""
        self._end()
        self._forget()

    def _forget(self) -> None:
        self._folder = ""
        self._stack.close()

    def _answered(self, request: SqlRequest) -> SqlReply:
        child = self._begun()
        try:
            return child.answer(request, self._db)
        except BaseException:
            if child.started or child.ended:
                self._end()
            raise

    def _begun(self) -> "_Child":
        is_stale = monotonic() > self._stale_at
        if self._child is not None and not self._child.ended and not is_stale:
            return self._child
        self._end()
        if is_stale:
            self._forget()
        if not self._folder:
            self._stale_at = inf if only_reads(self._db) else monotonic() + FRESH_SECONDS
            self._folder = str(self._stack.enter_context(snapshot(self._db.folder)))
        self._child = _Child(self._folder, self._db.name)
        return self._child

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()


class _Child:
    def __init__(self, folder: str, database: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-I", "-m", "sql.questions.child", folder, database],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={},
            start_new_session=True,  # Ctrl-C is for this process
        )
        self._questions = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)
        self.started = False

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def answer(self, request: SqlRequest, db: Database) -> SqlReply:
        """Raises QueryCancelled if the work of `db` is stopped, QueryFailed, DatabaseError or _Idle."""
        if not self.started:
            self._read(db, START_SECONDS, MIB)
            self.started = True
        try:
            self._questions.write(packed(request))
            self._questions.flush()
        except BrokenPipeError:
            raise self._gone(db) from None
        return self._read(db, request.limits.seconds + GRACE_SECONDS, request.limits.answer_bytes)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._answers.close()
        with suppress(BrokenPipeError):
            self._questions.close()

    def _read(self, db: Database, seconds: float, most: int) -> SqlReply:
        until = monotonic() + seconds
        length = int.from_bytes(self._bytes(db, LENGTH, until), "big")
        if length > most + MIB:
            raise QueryFailed(f"the answer is larger than {most // MIB} MiB: narrow the query", MEMORY)
        return msgspec.msgpack.decode(self._bytes(db, length, until), type=SqlReply)

    def _bytes(self, db: Database, count: int, until: float) -> bytes:
        found, source = bytearray(), self._answers.fileno()
        arriving = select.poll()  # select() supports no descriptor above 1,023
        arriving.register(source, select.POLLIN)
        while len(found) < count:
            if monotonic() > until:
                raise QueryFailed("the question took too long (TIMEOUT_EXCEEDED): narrow the query", TIMEOUT)
            if arriving.poll(LOOK_SECONDS * 1000):
                piece = os.read(source, count - len(found))
                if not piece:
                    raise self._gone(db)
                found += piece
            elif db.stop is not None and db.stop.is_set:
                raise QueryCancelled(f"{db}: the query was cancelled because its reader has left")
        return bytes(found)

    def _gone(self, db: Database) -> DatabaseError:
        if self._process.wait() == 0:
            return _Idle()
        if not self.started:
            return DatabaseError(f"{db}: the process for your own SQL did not start; saved questions do not need it")
        return QueryFailed(
            "the question exceeded its memory or time limit (MEMORY_LIMIT_EXCEEDED): narrow the query",
            MEMORY,
        )


class _Idle(DatabaseError):
    """The process was idle for a while, and has ended."""
