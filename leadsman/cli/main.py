"""All commands as one, and what a mistake of the user's ends with."""

import sys
from typing import NoReturn

import typer

from ingest.files.capture import SourceError
from leadsman.cli import alerting, asking, backtesting, keeping, paging, replaying, running, scheduler, watching
from leadsman.cli.console import (
    EXIT_INTERRUPTED,
    EXIT_NO_DATABASE,
    EXIT_NO_SOURCE,
    EXIT_QUERY,
    EXIT_SCHEMA,
    EXIT_USAGE,
    EXITS,
    fail,
)
from sql.database.errors import BadDsn, DatabaseError, QueryFailed, SchemaError
from sql.questions.queries import BadParameter, UnknownQuery

app = typer.Typer(
    name="leadsman",
    help="Tells what is left under the keel of a Kubernetes node.\n\n" + EXITS,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for part in (replaying, asking, paging, backtesting, alerting, keeping, scheduler, watching, running):
    app.add_typer(part.app)


def run() -> NoReturn:
    """Run the command; a mistake of the user's is one sentence, not a traceback."""
    try:
        app()
    except SourceError as error:
        fail(str(error), EXIT_NO_SOURCE)
    except SchemaError as error:
        fail(str(error), EXIT_SCHEMA)
    except (BadDsn, BadParameter, UnknownQuery) as error:
        fail(str(error), EXIT_USAGE)
    except QueryFailed as error:
        fail(str(error), EXIT_QUERY)
    except DatabaseError as error:
        fail(str(error), EXIT_NO_DATABASE)
    except SystemExit as ending:
        if ending.code == EXIT_INTERRUPTED:  # typer makes it of Ctrl-C
            fail("interrupted; what is stored stays, and the same command again does the rest", EXIT_INTERRUPTED)
        raise
    sys.exit(0)
