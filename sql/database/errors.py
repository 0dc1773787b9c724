"""Errors of a database, each with a message for a person and without passwords."""

from typing import Final

from common.errors import WrongUsage


class DatabaseError(Exception):
    """Base of all below; its text says what is wrong, where, and what to do."""

    lasting = True
    """True if a retry does not help."""


class BadDsn(DatabaseError, WrongUsage):
    """The DSN cannot be understood."""


class EngineMissing(DatabaseError, WrongUsage):
    """The embedded engine is not installed."""


class DatabaseHeld(DatabaseError):
    """Another process has the embedded database's folder open; only one at a time can."""


class DiskFull(DatabaseError):
    """The disk of the database has less free space than a writer needs."""


class DatabaseUnreachable(DatabaseError):
    """The server does not answer, or refuses the user."""

    lasting = False


class QueryCancelled(DatabaseError):
    """The caller has disconnected."""


LASTING: Final = frozenset({16, 36, 47, 53, 60, 62, 70, 81, 349, 497})
"""ClickHouse's error numbers that a retry does not fix: no such table or column, a wrong type, no permission."""


FORBIDDEN: Final = frozenset({164, 497})
"""ClickHouse's error numbers of forbidden statements: one that writes, or one without a grant."""
UNKNOWN_FUNCTION: Final = 46
UNKNOWN_COLUMN: Final = 47
UNKNOWN_TABLE: Final = 60
SYNTAX: Final = 62
UNKNOWN_PARAMETER: Final = 456


class QueryFailed(DatabaseError):
    """The engine refused a statement or a row; `forbidden` if rights are missing."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.lasting = code in LASTING
        self.forbidden = code in FORBIDDEN


class SchemaError(DatabaseError):
    """Base of the errors of `sql.schema.migrate`."""


class SchemaNewer(SchemaError):
    """The database was migrated by a newer Leadsman."""


class SchemaUnreleased(SchemaError):
    """A development version made the database, before the first release."""


class SchemaOlder(SchemaError):
    """The database is not migrated to this version yet."""


class SchemaMissing(SchemaOlder):
    """The database has no tables of Leadsman yet."""


class MigrationChanged(SchemaError):
    """The text of an applied migration has changed since."""


class MigrationMissing(SchemaError):
    """An applied migration is not among ours, or our numbers have a gap."""
