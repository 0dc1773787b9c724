"""`leadsman query`: a saved question, or the reader's own SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from leadsman.cli import completion, options

if TYPE_CHECKING:
    from sql.database.open import Database, Result


@click.command(
    "query",
    epilog="Examples: leadsman query; leadsman query story -n shop -o json; "
    "leadsman query --sql 'SELECT node, max(ts) FROM node_samples GROUP BY node'",
)
@click.argument("name", required=False, shell_complete=completion.questions)
@click.option("--list", "list_", is_flag=True, help="List the saved questions; -o wide with their parameters.")
@click.option("--sql", metavar="TEXT", help="Your own query instead.")
@click.option(
    "--param",
    "parameters",
    multiple=True,
    type=options.pair,
    metavar="K=V",
    shell_complete=completion.parameters,
    help="A value for {k:Type} in the query.",
)
@click.option("--namespace", "-n", metavar="NAME", help="As --param namespace=NAME, for questions about pods.")
@options.output
@click.option("--write", is_flag=True, help="Let --sql change the database, and reach files and other servers.")
@options.db
def command(
    name: str | None,
    sql: str | None,
    parameters: Sequence[tuple[str, str]],
    namespace: str | None,
    form: str,
    db: str,
    *,
    list_: bool,
    write: bool,
) -> None:
    """Run a saved question by its NAME, or your own in SQL; without either, list the saved ones."""
    from leadsman.cli.database import existing_database
    from leadsman.cli.present.questions import show_questions
    from leadsman.cli.present.tables import show
    from sql.questions.missing import why_empty
    from sql.questions.queries import run, saved_query

    if name is not None and sql is not None:
        raise click.BadParameter("give a saved query's name or --sql, not both")
    if write and sql is None:
        raise click.BadParameter("--write goes with --sql; a saved query only reads")
    if list_ or (name is None and sql is None):
        show_questions(form)
        return
    given = dict(parameters) | ({} if namespace is None else {"namespace": namespace})
    if sql is not None:
        with existing_database(db, write=write) as database:
            result = _own(database, sql, given, write=write)
        show(result, form)
        return
    query = saved_query(name or "")
    times = {each.name for each in query.parameters if each.type.startswith("DateTime")}
    given |= {key: options.time(value).isoformat() for key, value in given.items() if key in times}
    with existing_database(db) as database:
        result = run(database, query, given)
        reason = "" if result.rows or form not in options.FOR_PEOPLE else why_empty(database, query, given)
    show(result, form, reason)


def _own(database: Database, sql: str, given: Mapping[str, str], *, write: bool) -> Result:
    from sql.database.errors import QueryFailed
    from sql.questions.ask import ask, run_freely

    if write:
        return run_freely(database, sql, given)
    try:
        return ask(database, sql, given)
    except QueryFailed as error:
        if error.forbidden:
            raise QueryFailed(f"leadsman query only reads; add --write if you mean it. {error}") from None
        raise
