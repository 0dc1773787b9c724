"""What a command ends with: a status, and one sentence where it failed."""

import sys
from typing import Final, NamedTuple, NoReturn

import click

from common.errors import FilesUnusable, KafkaUnusable, SourceUnusable, WrongUsage
from common.text import plain
from sql.database.errors import DatabaseError, QueryFailed, SchemaError

EXIT_NO_FIT: Final = 1
EXIT_WRONG: Final = 1
EXIT_USAGE: Final = 2
EXIT_BAD_INPUT: Final = 3
EXIT_NO_SOURCE: Final = 4
EXIT_NO_DATABASE: Final = 5
EXIT_SCHEMA: Final = 6
EXIT_QUERY: Final = 7
EXIT_NO_KAFKA: Final = 8
EXIT_NOT_SEEN: Final = 9
EXIT_INTERRUPTED: Final = 130

MESSAGE: Final = 2000
"""Characters of an error."""
EXITS: Final = """
Exit status: 0 done; 1 fit found no room, or doctor something wrong; 2 wrong usage; 3 done, but some input was bad
(see dead_letters); 4 a source cannot be used; 5 the database cannot be used; 6 its schema is newer, or a migration
changed or is missing; 7 a query was refused; 8 Kafka cannot be used; 9 doctor could not look; 130 interrupted.
"""
_STATUSES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (WrongUsage, EXIT_USAGE),
    (SourceUnusable, EXIT_NO_SOURCE),
    (KafkaUnusable, EXIT_NO_KAFKA),
    (SchemaError, EXIT_SCHEMA),
    (QueryFailed, EXIT_QUERY),
    (DatabaseError, EXIT_NO_DATABASE),
    (FileNotFoundError, EXIT_NO_SOURCE),
    (PermissionError, EXIT_NO_SOURCE),
)
"""The first that an error is of."""


class Mistake(NamedTuple):
    """What the user can fix."""

    message: str
    status: int


def mistake(error: Exception) -> Mistake | None:
    """A command's message for an error, and its status; None for a defect of ours."""
    if files := _unusable_files(error):
        return Mistake(f"Kafka cannot be used: kafka.{files}", EXIT_NO_KAFKA)
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), None)
    return None if status is None else Mistake(str(error), status)


def _unusable_files(error: BaseException | None) -> FilesUnusable | None:
    """The root cause of a Kafka client's failure; a database's are errors of the database."""
    while error is not None and not isinstance(error, FilesUnusable):
        error = error.__cause__
    return error


def note(line: str) -> None:
    """Print a line to standard error, for whoever waits."""
    click.echo(plain(line, MESSAGE), err=True)


def fail(message: str, status: int) -> NoReturn:
    """End with one sentence."""
    note(f"leadsman: {message}")
    sys.exit(status)
