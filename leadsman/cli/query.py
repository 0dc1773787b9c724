"""`leadsman query`: a saved question, or the reader's own SQL."""

from collections.abc import Sequence

import click

from leadsman.cli import options
from leadsman.cli.console import wide
from leadsman.cli.database import existing_database
from leadsman.cli.present.tables import as_csv, as_json, as_table, query_list
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
@options.db
def command(name: str | None, sql: str | None, parameters: Sequence[tuple[str, str]], format_: str, db: str) -> None:
    """Run a saved question by its NAME, or your own in SQL; without either, list the saved ones."""
    if name is not None and sql is not None:
        raise click.BadParameter("give a saved query's name or --sql, not both")
    if name is None and sql is None:
        wide.print(query_list())
        return
    given = dict(parameters)
    with existing_database(db) as database:
        result = database.query(sql, given) if sql is not None else run(database, saved_query(name or ""), given)
    match format_:
        case "json":
            click.echo(as_json(result))
        case "csv":
            click.echo(as_csv(result), nl=False)
        case _:
            wide.print(as_table(result))
