"""A reader's own SQL: it only reads."""

from collections.abc import Mapping
from typing import Final

from sql.database.errors import QueryFailed
from sql.database.open import Database, Result
from sql.questions.limits import Limits
from sql.questions.mistakes import explained
from sql.questions.vetting import refusal, vetted

_READ_ONLY: Final = {"readonly": 1}
"""A server refuses every function that reaches outside of it; the embedded engine's reader has no grant for one."""
_READER: Final = [("GRANT SHOW, SELECT ON *.* TO default",)]
"""All that the embedded engine's user may, where the database was opened to read."""


def ask(db: Database, sql: str, given: Mapping[str, str], limits: Limits | None = None) -> Result:
    """The answer to one statement; `db` is open to read. Raises QueryFailed for what `sql.questions.vetting` refuses.

    With `limits` the statement cannot lift them, and is refused where the engine's user may do more than read. In a
    process that also writes an embedded database, a quoted name is a file, and `url()` connects.
    """
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
    """Raises QueryFailed where the embedded engine's user may do more than read."""
    if db.embedded and db.query("SHOW GRANTS").rows != _READER:
        raise refusal(
            "SQL of your own is not answered by a process that also writes the database, for it could reach files "
            "and other machines: ask a saved question, or stop it and run leadsman query"
        )
