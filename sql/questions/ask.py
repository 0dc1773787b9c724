"""A reader's own SQL: it only reads."""

from collections.abc import Mapping
from typing import Final

import msgspec

from sql.database.errors import QueryFailed
from sql.database.held import Held
from sql.database.open import Database, Result
from sql.questions.frames import OWN, Answered, Asked
from sql.questions.limits import SHARED, Limits
from sql.questions.mistakes import explained
from sql.questions.vetting import refusal, vetted

_READ_ONLY: Final = {"readonly": 1}
"""A server refuses every function that reaches outside of it; the embedded engine's reader has no grant for one."""
_READER: Final = [("GRANT SHOW, SELECT ON *.* TO default",)]
"""All that the embedded engine's user may, where the database was opened to read."""


def ask(db: Database, sql: str, given: Mapping[str, str], limits: Limits | None = None) -> Result:
    """The answer to one statement; `db` is open to read. Raises QueryFailed for what `sql.questions.vetting` refuses.

    With `limits` the statement cannot lift them, and is refused where the engine's user may do more than read. In a
    process that also writes an embedded database, a quoted name is a file, and `url()` connects. Another process that
    holds the database answers within its own limits.
    """
    if isinstance(db, Held):
        return _asked_there(db, Asked(sql, dict(given), limits or SHARED))
    if limits:
        check_reader(db)
    settings = (limits.settings(embedded=db.embedded) if limits else {}) | ({} if db.embedded else _READ_ONLY)
    try:
        return db.query(vetted(db, sql, bounded=limits is not None), given, settings)
    except QueryFailed as error:
        raise explained(db, sql, error) from None


def run_freely(db: Database, sql: str, given: Mapping[str, str]) -> Result:
    """The answer to one statement, with all rights of the database's user. Raises QueryFailed."""
    try:
        return db.query(sql, given)
    except QueryFailed as error:
        raise explained(db, sql, error) from None


def check_reader(db: Database) -> None:
    """Raises QueryFailed if the embedded engine's user may do more than read."""
    if db.embedded and not only_reads(db):
        raise refusal(
            "SQL of your own is not answered by a process that also writes the database, for it could reach files "
            "and other machines: ask a saved question, or stop it and run leadsman query"
        )


def only_reads(db: Database) -> bool:
    """Tell whether the embedded engine of this process was opened to read, so that its tables never change."""
    return db.query("SHOW GRANTS").rows == _READER


def _asked_there(db: Held, asked: Asked) -> Result:
    answered = msgspec.msgpack.decode(db.post(OWN, msgspec.msgpack.encode(asked)), type=Answered)
    if answered.problem:
        raise QueryFailed(answered.problem, answered.code)
    return Result(answered.column_names, answered.column_types, answered.rows)
