"""`report` and `serve`: what the database concluded, for people to read."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from leadsman.cli.console import EXIT_NO_SOURCE, EXIT_USAGE, fail, out, say
from leadsman.cli.options import DEFAULT_DSN, Dsn
from leadsman.web.asked import has_table
from sql.database.errors import SchemaOlder
from sql.database.open import Database, connect
from sql.schema.migrate import check_migrated

PORT: Final = 8420

app = typer.Typer()


@app.command(
    epilog="Examples: leadsman report; "
    "leadsman report -o incident.html --since 2026-11-21T04:10Z --until 2026-11-21T04:30Z"
)
def report(
    *,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write it.")] = Path(
        "report.html"
    ),
    since: Annotated[str, typer.Option(metavar="TIME", help="Not before.  [default: a day before --until]")] = "",
    until: Annotated[str, typer.Option(metavar="TIME", help="Before.  [default: the last observation]")] = "",
    cluster: Annotated[str, typer.Option(help="The cluster.  [default: the one that was observed last]")] = "",
    nodes: Annotated[
        int, typer.Option(min=0, max=200, help="So many nodes in detail, those with the worst findings first.")
    ] = 20,
    db: Dsn = DEFAULT_DSN,
) -> None:
    """Write one HTML file about a cluster and a time range, which any browser shows without a network."""
    from leadsman.web.report import write_report  # noqa: PLC0415 - other commands do without templates
    from leadsman.web.scope import Asked, BadScope  # noqa: PLC0415 - as above

    with connect(db, make=False, read_only=True) as database:
        check_tables(database)
        try:
            text = write_report(database, Asked(cluster, since, until), datetime.now(UTC), nodes)
        except BadScope as error:
            fail(str(error), EXIT_USAGE)
    try:
        output.write_text(text, "utf-8")
    except OSError as error:
        fail(f"{output}: {error.strerror}", EXIT_NO_SOURCE)
    out.print(f"{output}: {len(text.encode()) / 1e6:.1f} MB", soft_wrap=True)


@app.command(
    epilog="Examples: leadsman serve; "
    "leadsman serve --host 0.0.0.0 --token-file token --db http://leadsman@clickhouse:8123/leadsman"
)
def serve(
    *,
    host: Annotated[str, typer.Option(help="An address; other than loopback only with a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = PORT,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Its content is the password of any user, or a bearer token."),
    ] = None,
    db: Dsn = DEFAULT_DSN,
) -> None:
    """Show the same as a live page until Ctrl-C; nothing is ever written.

    An embedded database belongs to one process: while the page is open, no replay or landing can use it.
    """
    from leadsman.web.access import BadAccess, read_token  # noqa: PLC0415 - other commands do without
    from leadsman.web.running import run_site  # noqa: PLC0415 - as above

    try:
        token = read_token(token_file, host)
    except BadAccess as error:
        fail(str(error), EXIT_USAGE)
    with connect(db, make=False, read_only=True) as database:
        check_tables(database)
        try:
            run_site(database, host, port, token, say)
        except OSError as error:
            fail(f"{host} port {port} cannot be listened on: {error.strerror or error}", EXIT_NO_SOURCE)


def check_tables(database: Database) -> None:
    """A database without any tables is empty, and told as a page; one of an older version is an error."""
    try:
        check_migrated(database)
    except SchemaOlder:
        if has_table(database, "schema_migrations"):
            raise
