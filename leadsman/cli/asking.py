"""`query` and `fit`: questions to a database."""

from enum import StrEnum
from typing import Annotated

import typer

from leadsman.cli.console import EXIT_NO_FIT, out, wide
from leadsman.cli.options import DEFAULT_DSN, Dsn, existing_database, pair
from leadsman.cli.present.fit import fit_json, fit_lines, fit_table
from leadsman.cli.present.tables import as_csv, as_json, as_table, query_list
from sql.questions.fit import read_known
from sql.questions.queries import run as run_saved
from sql.questions.queries import saved_query
from streams.questions.fit import BadQuestion, answer, question

app = typer.Typer()


class Format(StrEnum):
    """How `query` prints."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class FitFormat(StrEnum):
    """How `fit` prints."""

    TABLE = "table"
    JSON = "json"


@app.command(
    epilog="Examples: leadsman query; leadsman query eviction_causes --format json; "
    "leadsman query --sql 'SELECT node, max(ts) FROM node_samples GROUP BY node'"
)
def query(
    name: Annotated[str | None, typer.Argument(help="A saved query; without one, all are listed.")] = None,
    sql: Annotated[str | None, typer.Option("--sql", metavar="TEXT", help="Your own query instead.")] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="K=V", help="A value for {k:Type} in the query.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TABLE,
    db: Dsn = DEFAULT_DSN,
) -> None:
    """Ask a saved question, or your own, in SQL."""
    if name is None and sql is None:
        wide.print(query_list())
        return
    if name is not None and sql is not None:
        raise typer.BadParameter("give a saved query's name or --sql, not both")
    given = dict(pair(text) for text in param or ())
    with existing_database(db) as database:
        if sql is not None:
            result = database.query(sql, given)
        else:
            result = run_saved(database, saved_query(name or ""), given)
    match format_:
        case Format.TABLE:
            wide.print(as_table(result))
        case Format.JSON:
            typer.echo(as_json(result))
        case Format.CSV:
            typer.echo(as_csv(result), nl=False)


@app.command(epilog="Example: leadsman fit --cpu 8 --exclusive --memory 16Gi --count 3")
def fit(
    *,
    cpu: Annotated[str, typer.Option(metavar="QUANTITY", help="CPUs of each container, as 8 or 500m.")],
    memory: Annotated[str, typer.Option(metavar="QUANTITY", help="Memory of each container, as 16Gi.")] = "0",
    device: Annotated[
        list[str] | None, typer.Option(metavar="NAME=COUNT", help="Another resource of each container.")
    ] = None,
    exclusive: Annotated[
        bool, typer.Option("--exclusive", help="Guaranteed, with whole CPUs that the CPU Manager pins.")
    ] = False,
    containers: Annotated[int, typer.Option(min=1, max=100, help="So many such containers in the pod.")] = 1,
    count: Annotated[int, typer.Option(min=1, help="So many such pods, one after the other.")] = 1,
    node: Annotated[str, typer.Option(help="Judge this node only.")] = "",
    cluster: Annotated[str, typer.Option(help="The cluster, where the database holds several.")] = "",
    format_: Annotated[FitFormat, typer.Option("--format", help="How to print.")] = FitFormat.TABLE,
    db: Dsn = DEFAULT_DSN,
) -> None:
    """Say which nodes and NUMA nodes take such a pod now, why each other does not, and by which placement it would.

    The pod tolerates no taint and asks for no particular node. Exit status 1 where it, or one of --count, does not
    fit; what nothing tells for sure does not count as fitting.
    """
    try:
        asked = question(cpu, memory, device or (), exclusive=exclusive, containers=containers, count=count)
    except BadQuestion as error:
        raise typer.BadParameter(str(error)) from None
    with existing_database(db) as database:
        known = read_known(database, cluster, node)
    found = answer(asked, known.candidates, known.strategies, known.scheduler_minor)
    if format_ is FitFormat.JSON:
        typer.echo(fit_json(known, asked, found))
    else:
        for line in fit_lines(known, asked, found):
            out.print(line, soft_wrap=True)
        wide.print(fit_table(found))
    if not found.fits:
        raise typer.Exit(EXIT_NO_FIT)
