"""Opens the database that a command queries."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from common.text import argument
from leadsman.cli.given import DEFAULT_DSN

if TYPE_CHECKING:
    from sql.database.open import Database


@contextmanager
def existing_database(dsn: str, *, write: bool = False) -> Iterator[Database]:
    """Open an existing database of this version, to read unless `write`. Raises DatabaseError.

    If `leadsman up` or `leadsman serve` holds it, that process answers queries.
    """
    from sql.database.held import connect_to_read
    from sql.database.open import connect
    from sql.schema.migrate import check_migrated

    with connect(dsn, make=False) if write else connect_to_read(dsn) as database:
        check_migrated(database)
        yield database


@contextmanager
def readable_database(dsn: str, *, hold: bool = False) -> Iterator[Database]:
    """Open a database to show. One without tables counts as empty; one of an older version is an error.

    With `hold`, this process must open it itself.
    """
    from sql.database.errors import SchemaMissing
    from sql.database.held import connect_to_read
    from sql.database.open import connect
    from sql.schema.migrate import check_migrated

    with connect(dsn, make=False, read_only=True) if hold else connect_to_read(dsn) as database:
        with suppress(SchemaMissing):
            check_migrated(database)
        yield database


def called_as(dsn: str) -> str:
    """Return the command as the user can type it again, with the database unless it is the default.

    A server's DSN may contain a password, so a placeholder stands for it.
    """
    from sql.database.dsn import Embedded, parse_dsn

    program = (
        f"{argument(sys.executable)} -m leadsman" if sys.argv[0].endswith("__main__.py") else argument(sys.argv[0])
    )
    database, usual = parse_dsn(dsn), os.environ.get("LEADSMAN_DB") or DEFAULT_DSN
    if dsn == usual or (isinstance(database, Embedded) and usual == DEFAULT_DSN and database == parse_dsn(usual)):
        return program
    named = argument(str(database)) if isinstance(database, Embedded) else "DSN"
    return f"LEADSMAN_DB={named} {program}"
