"""`leadsman query`: a saved question, or the reader's own SQL."""

from collections.abc import Mapping, Sequence

import click

from leadsman.cli import options
from leadsman.cli.console import wide
from leadsman.cli.database import existing_database
from leadsman.cli.present.tables import as_json, as_table, query_list
from sql.database.errors import QueryFailed
from sql.database.open import Database, Result
from sql.questions.answers import as_csv
from sql.questions.ask import ask
from sql.questions.queries import run, saved_query


@click.command(
    "query",
    epilog="Examples: leadsman query; leadsman query eviction_causes --format json; "
    "leadsman query --sql 'SELECT node, max(ts) FROM node_samples GROUP BY node'",
)
@click.argument("name", required=False)
@click.option("--sql", metavar="TEXT", help="Your own query instead.")
@click.option(
    "--param",
    "parameters",
    multiple=True,
    type=options.pair,
    metavar="K=V",
    help="A value for {k:Type} in the query.",
)
@click.option(
    "--format", "format_", type=click.Choice(["table", "json", "csv"]), default="table", help="How to print."
)
@click.option("--write", is_flag=True, help="Let --sql change the database, and reach files and other servers.")
@options.db
def command(
    name: str | None, sql: str | None, parameters: Sequence[tuple[str, str]], format_: str, db: str, *, write: bool
) -> None:
    """Run a saved question by its NAME, or your own in SQL; without either, list the saved ones."""
    if name is not None and sql is not None:
        raise click.BadParameter("give a saved query's name or --sql, not both")
    if write and sql is None:
        raise click.BadParameter("--write goes with --sql; a saved query only reads")
    if name is None and sql is None:
        wide.print(query_list())
        return
    given = dict(parameters)
    with existing_database(db, write=write) as database:
        result = (
            run(database, saved_query(name or ""), given) if sql is None else _own(database, sql, given, write=write)
        )
    match format_:
        case "json":
            click.echo(as_json(result))
        case "csv":
            click.echo(as_csv(result), nl=False)
        case _:
            wide.print(as_table(result))


def _own(database: Database, sql: str, given: Mapping[str, str], *, write: bool) -> Result:
    if write:
        return database.query(sql, given)
    try:
        return ask(database, sql, given)
    except QueryFailed as error:
        if error.forbidden:
            raise QueryFailed(f"leadsman query only reads; add --write if you mean it. {error}") from None
        raise
