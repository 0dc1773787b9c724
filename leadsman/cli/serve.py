"""`leadsman serve`: serves the page."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import click

from leadsman.cli import options
from leadsman.cli.exits import note


@click.command(
    "serve",
    epilog="Examples: leadsman serve; "
    "leadsman serve --host 0.0.0.0 --token-file token --db http://leadsman@clickhouse:8123/leadsman",
)
@options.page
@options.config
@options.live_db
def command(*, host: str, port: int, token_file: Path | None, config: Path | None, db: str | None) -> None:
    """Serve the content of `leadsman report` as a live page until Ctrl-C. It never writes anything.

    Only one process can open an embedded database. While this one runs, it answers commands that only read, and no
    replay or landing can use the database.
    """
    from common.logs import configure
    from leadsman.cli.database import readable_database
    from leadsman.cli.live import push_metrics
    from leadsman.run.beside import answering
    from leadsman.run.settings import load
    from leadsman.web.site.access import read_token
    from leadsman.web.site.serve import run_site

    token = read_token(token_file, host)
    settings = load(config, db=db)
    configure(settings.log, sys.stderr)
    with readable_database(settings.db.get_secret_value(), hold=True) as database:

        @asynccontextmanager
        async def side_tasks() -> AsyncIterator[None]:
            async with answering(database), push_metrics(settings, "serve"):
                yield

        run_site(database, host, port, token, settings.page, note, side_tasks())
