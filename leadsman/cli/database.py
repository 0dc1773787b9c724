"""The database that a command asks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from common.text import argument
from leadsman.cli.options import DEFAULT_DSN

if TYPE_CHECKING:
    from sql.database.open import Database


@contextmanager
def existing_database(dsn: str, *, write: bool = False) -> Iterator[Database]:
    """A database that is there and of this version, opened to read unless `write`. Raises DatabaseError.

    One to read may be held by `leadsman up` or `leadsman serve`, which then answers.
    """
    from sql.database.held import connect_to_read
    from sql.database.open import connect
    from sql.schema.migrate import check_migrated

    with connect(dsn, make=False) if write else connect_to_read(dsn) as database:
        check_migrated(database)
        yield database


@contextmanager
def readable_database(dsn: str, *, hold: bool = False) -> Iterator[Database]:
    """A database to show, opened to read; one without any tables is empty, one of an older version is an error.

    With `hold`, it has to be opened in this process.
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
    """The command as the reader typed it, with the database where it is another folder; a server's may be secret."""
    program = argument(sys.argv[0])
    return f"LEADSMAN_DB={argument(dsn)} {program}" if dsn != DEFAULT_DSN and dsn.startswith("chdb:") else program
