"""`leadsman query`: runs a saved question, or the user's own SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from leadsman.cli import completion, options
from leadsman.cli.exits import note

if TYPE_CHECKING:
    from sql.database.open import Database, Result
    from sql.questions.queries import SavedQuery

When: TypeAlias = datetime | timedelta | None

MOST_ROWS: Final = 50
"""Maximum number of rows of a table without --limit, because nobody reads a longer one."""


@click.command(
    "query",
    epilog="Examples: leadsman query; leadsman query story -n shop --since 2026-11-21T04:20Z; "
    "leadsman query next_eviction --node real-node-1 --depth 10; leadsman query pod_ends -o json; "
    "leadsman query --sql 'SELECT node, max(ts) FROM node_samples GROUP BY node'",
)
@click.argument("name", required=False, shell_complete=completion.questions)
@click.option("--list", "list_", is_flag=True, help="List the saved questions; -o wide adds their parameters.")
@click.option("--sql", metavar="TEXT", help="SQL to run instead of a saved question.")
@options.asked_cluster
@options.asked_node
@options.namespace
@options.since_until
@click.option(
    "--by",
    metavar="WHAT",
    shell_complete=completion.forms,
    help="Group another way, for example pending_pods --by node; the list shows the choices.",
)
@click.option(
    "--depth",
    type=click.IntRange(0),
    metavar="N",
    help="Number of pods to show of each node's eviction order; 0 shows all.",
)
@click.option(
    "--limit",
    type=click.IntRange(0),
    metavar="N",
    help=f"Print at most N rows; if ordered by time, the newest. 0 is all.  [default: {MOST_ROWS} as a table]",
)
@click.option(
    "--param",
    "parameters",
    multiple=True,
    type=options.pair,
    metavar="K=V",
    shell_complete=completion.parameters,
    help="Value of another {k:Type} parameter in the query.",
)
@options.output
@click.option("--write", is_flag=True, help="Let --sql change the database, and reach files and other servers.")
@options.db
def command(
    name: str | None,
    sql: str | None,
    parameters: Sequence[tuple[str, str]],
    since: When,
    until: When,
    limit: int | None,
    form: str,
    db: str,
    *,
    list_: bool,
    write: bool,
    **named: str | int | None,
) -> None:
    """Run a saved question by its NAME, or your own in SQL; without either, list the saved ones.

    --cluster, --node, --namespace, --since, --until, --by and --depth are parameters that many questions have; with
    --sql, they are values for parameters such as {cluster:String}.
    """
    from leadsman.cli.database import called_as, existing_database
    from leadsman.cli.present.questions import show_questions
    from leadsman.cli.present.tables import only, part, show
    from leadsman.cli.since import last_stored, settled
    from sql.questions.missing import why_empty
    from sql.questions.queries import chosen, run, saved_query

    if name is not None and sql is not None:
        raise click.BadParameter("give a saved query's name or --sql, not both")
    if write and sql is None:
        raise click.BadParameter("--write goes with --sql; a saved query only reads")
    if list_ or (name is None and sql is None):
        show_questions(form)
        return
    given = dict(parameters) | {key: str(value) for key, value in named.items() if value not in ("", None)}
    query = None if name is None else saved_query(name)
    if query is None:
        _check_used(sql or "", given | {key: "" for key, at in (("since", since), ("until", until)) if at})
    else:
        query, given = chosen(query, given)
        since, until = _times(query, given, since, until)
    with existing_database(db, write=write) as database:
        times = settled(since, until, lambda: last_stored(database, given.get("cluster", "")))
        given |= {key: at.strftime("%Y-%m-%d %H:%M:%S.%f") for key, at in times._asdict().items() if at}
        result = run(database, query, given) if query else _own(database, sql or "", given, write=write)
        empty = query is not None and not result.rows and form in options.FOR_PEOPLE
        reason = why_empty(database, query, given) if query and empty else ""
    reason = reason.replace("leadsman query", f"{called_as(db)} query")
    most = limit if limit is not None else MOST_ROWS if query and form == "table" else 0
    shown = part(result, most, newest=query is not None and query.newest)
    if form == "table" and query:
        shown = only(shown, query.shows)
    show(shown, form, reason, len(result.rows), fewer=query is not None)


def _times(query: SavedQuery, given: dict[str, str], since: When, until: When) -> tuple[When, When]:
    """Return both times, from options or from parameters of the question, which are removed. Raises BadParameter."""
    from sql.questions.queries import values

    times = {"since": since, "until": until}
    times |= {key: options.when(given.pop(key)) for key in times if key in given}
    known = {each.name for each in query.parameters}
    values(query, given | {key: "" for key, at in times.items() if at and key not in known})
    return times["since"], times["until"]


def _check_used(sql: str, given: Mapping[str, str]) -> None:
    """Raise BadParameter for a value that the user's SQL has no placeholder for."""
    for key in given:
        if not re.search(rf"\{{\s*{re.escape(key)}\s*:", sql):
            raise click.BadParameter(f"the SQL has no {{{key}:Type}}, so {key} would change nothing")


def _own(database: Database, sql: str, given: Mapping[str, str], *, write: bool) -> Result:
    from sql.database.errors import QueryFailed
    from sql.database.held import SocketDatabase
    from sql.questions.ask import ask, run_freely
    from sql.questions.limits import SHARED

    if write:
        return run_freely(database, sql, given)
    try:
        found = ask(database, sql, given)
    except QueryFailed as error:
        if error.forbidden:
            raise QueryFailed(f"{error}. leadsman query only reads; add --write if you mean it") from None
        raise
    if isinstance(database, SocketDatabase) and len(found.rows) > SHARED.rows:
        note(
            f"only the first {SHARED.rows:,} rows: another process holds the database. "
            "Ask for less, or stop that process to get all"
        )
        return found._replace(rows=found.rows[: SHARED.rows])
    return found
