"""`leadsman serve`: the page."""

from pathlib import Path
from typing import Final

import click

from leadsman.cli import options
from leadsman.cli.database import readable_database
from leadsman.cli.exits import EXIT_NO_SOURCE, fail, note
from leadsman.web.site.access import read_token
from leadsman.web.site.running import run_site

PORT: Final = 8420


@click.command(
    "serve",
    epilog="Examples: leadsman serve; "
    "leadsman serve --host 0.0.0.0 --token-file token --db http://leadsman@clickhouse:8123/leadsman",
)
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="Addresses other than loopback need a token.")
@click.option("--port", type=click.IntRange(0, 65535), metavar="N", default=PORT, help="0 picks a free port.")
@click.option(
    "--token-file",
    type=options.FILE,
    metavar="FILE",
    help="File with the token: the password of any user, or a bearer token.",
)
@options.db
def command(*, host: str, port: int, token_file: Path | None, db: str) -> None:
    """Show what report writes as a live page until Ctrl-C; nothing is ever written.

    An embedded database belongs to one process: while the page is open, no replay or landing can use it.
    """
    token = read_token(token_file, host)
    with readable_database(db) as database:
        try:
            run_site(database, host, port, token, note)
        except OSError as error:
            fail(f"{host} port {port} cannot be listened on: {error.strerror or error}", EXIT_NO_SOURCE)
