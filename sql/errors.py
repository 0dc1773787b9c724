"""What can go wrong with a database, each with a message for a person and never a password in it."""


class DatabaseError(Exception):
    """Base of all below; its text says what is wrong, where, and what to do."""


class BadDsn(DatabaseError):
    """The DSN cannot be understood."""


class DatabaseHeld(DatabaseError):
    """Another process has the embedded database's folder open; one process at a time can."""


class DatabaseUnreachable(DatabaseError):
    """The server does not answer, or refuses the user."""


class QueryFailed(DatabaseError):
    """The engine refused a statement or a row."""


class SchemaError(DatabaseError):
    """Base of what `sql.migrate` refuses."""


class SchemaNewer(SchemaError):
    """The database was migrated by a newer Leadsman."""


class SchemaOlder(SchemaError):
    """The database was not migrated to this version yet."""


class MigrationChanged(SchemaError):
    """A migration that was applied here has another text now."""


class MigrationMissing(SchemaError):
    """A migration that was applied here is not among ours, or our numbers have a gap."""
