"""Ends a command with an exit status, and with one sentence if it failed."""

import sys
from collections.abc import Mapping
from typing import Final, NamedTuple, NoReturn

import click

from common.errors import (
    AddressTaken,
    ContextUnknown,
    CredentialsRefused,
    FilesUnusable,
    HeldElsewhere,
    KafkaUnusable,
    KubeconfigUnusable,
    SourceUnusable,
    WrongUsage,
)
from common.text import plain
from sql.database.errors import DatabaseError, DatabaseHeld, QueryFailed, SchemaError

EXIT_NO_FIT: Final = 1
EXIT_WRONG: Final = 1
EXIT_USAGE: Final = 2
EXIT_BAD_INPUT: Final = 3
EXIT_NO_SOURCE: Final = 4
EXIT_NO_DATABASE: Final = 5
EXIT_SCHEMA: Final = 6
EXIT_QUERY: Final = 7
EXIT_NO_KAFKA: Final = 8
EXIT_NOT_VALID: Final = 9
EXIT_NO_KUBECONFIG: Final = 10
EXIT_NO_CONTEXT: Final = 11
EXIT_NO_ACCOUNT: Final = 12
EXIT_ADDRESS: Final = 13
EXIT_HELD: Final = 14
EXIT_NO_KUBELETS: Final = 15
EXIT_NOT_SEEN: Final = 16
EXIT_INTERRUPTED: Final = 130

MESSAGE: Final = 2000
"""Maximum number of characters of an error."""
STATUSES: Final[Mapping[int, str]] = {
    0: "done",
    EXIT_NO_FIT: "fit found no room, a drain would not move every pod, "
    "a test alert was not delivered, doctor found a problem, or look found what --fail-on names",
    EXIT_USAGE: "wrong usage",
    EXIT_BAD_INPUT: "done, but some input was bad (see dead_letters)",
    EXIT_NO_SOURCE: "a source cannot be used",
    EXIT_NO_DATABASE: "the database cannot be used",
    EXIT_SCHEMA: "the schema is newer, or a migration changed or is missing",
    EXIT_QUERY: "a query was refused",
    EXIT_NO_KAFKA: "Kafka cannot be used",
    EXIT_NOT_VALID: "validate found an unusable setting or connection",
    EXIT_NO_KUBECONFIG: "the kubeconfig cannot be used",
    EXIT_NO_CONTEXT: "the kubeconfig has no such context",
    EXIT_NO_ACCOUNT: "the API server refused the credentials",
    EXIT_ADDRESS: "the address of the page is in use",
    EXIT_HELD: "another process holds the database",
    EXIT_NO_KUBELETS: "done, but no kubelet could be read",
    EXIT_NOT_SEEN: "doctor could not check everything",
    EXIT_INTERRUPTED: "interrupted",
}
EXITS: Final = f"Exit status: {'; '.join(f'{status} {meaning}' for status, meaning in STATUSES.items())}."
_STATUSES: Final[tuple[tuple[type[Exception], int], ...]] = (
    (WrongUsage, EXIT_USAGE),
    (ContextUnknown, EXIT_NO_CONTEXT),
    (KubeconfigUnusable, EXIT_NO_KUBECONFIG),
    (CredentialsRefused, EXIT_NO_ACCOUNT),
    (AddressTaken, EXIT_ADDRESS),
    (HeldElsewhere, EXIT_HELD),
    (SourceUnusable, EXIT_NO_SOURCE),
    (KafkaUnusable, EXIT_NO_KAFKA),
    (SchemaError, EXIT_SCHEMA),
    (QueryFailed, EXIT_QUERY),
    (DatabaseHeld, EXIT_HELD),
    (DatabaseError, EXIT_NO_DATABASE),
    (FileNotFoundError, EXIT_NO_SOURCE),
    (PermissionError, EXIT_NO_SOURCE),
)
"""Exit statuses by error; the first matching type counts."""


class Mistake(NamedTuple):
    """An error that the user can fix."""

    message: str
    status: int


def mistake(error: Exception) -> Mistake | None:
    """Return a command's message for an error, and its exit status; None for a bug in Leadsman."""
    if files := _unusable_files(error):
        return Mistake(f"Kafka cannot be used: kafka.{files}", EXIT_NO_KAFKA)
    status = next((status for kind, status in _STATUSES if isinstance(error, kind)), None)
    return None if status is None else Mistake(str(error), status)


def _unusable_files(error: BaseException | None) -> FilesUnusable | None:
    """Return the root cause of a Kafka client's failure; a database's failures are DatabaseErrors."""
    while error is not None and not isinstance(error, FilesUnusable):
        error = error.__cause__
    return error


def note(line: str) -> None:
    """Print a line for the user to standard error, separate from the result."""
    click.echo(plain(line, MESSAGE), err=True)


def fail(message: str, status: int) -> NoReturn:
    note(f"leadsman: {message}")
    sys.exit(status)
