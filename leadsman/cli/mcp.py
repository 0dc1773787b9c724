"""`leadsman mcp`: answers questions of assistants from the database."""

import sys
from pathlib import Path

import click

from common.errors import WrongUsage
from leadsman.cli import options
from leadsman.cli.exits import note

PORT = 8421


@click.command(
    "mcp",
    epilog="Examples: leadsman mcp; leadsman mcp --http --db http://leadsman@clickhouse:8123/leadsman; "
    "leadsman mcp --http --host 0.0.0.0 --token-file token",
)
@click.option("--http", is_flag=True, help="Serve HTTP at /mcp instead of standard input and output.")
@options.host
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", default=PORT, help="With --http; 0 picks a free one."
)
@click.option("--token-file", type=options.READABLE, metavar="FILE", help="File with the bearer token, for --http.")
@options.db
def command(*, http: bool, host: str, port: int, token_file: Path | None, db: str) -> None:
    """Answer an assistant's questions (Model Context Protocol): the story, saved questions, eviction order, fit, SQL.

    It never writes. Needs the extra mcp: pipx install '.[embedded,mcp]' in a checkout. An embedded database belongs
    to one process. If `leadsman up` or `leadsman serve` holds it, the questions go to that process. Otherwise this
    process holds it, and answers other commands that only read.
    """
    import asyncio

    from common.cycles import timed_searches
    from common.logs import configure
    from leadsman.cli.database import readable_database
    from leadsman.run.beside import answering
    from leadsman.web.site.access import read_token

    try:
        from leadsman.web.assistant.server import run_on_standard_io, run_over_http
    except ModuleNotFoundError as error:
        raise WrongUsage(
            f"{error.name} is not installed: in a checkout, pipx install --force '.[embedded,mcp]'"
        ) from None
    token = read_token(token_file, host) if http else ""
    configure("text", sys.stderr)
    with readable_database(db) as database:

        async def run() -> None:
            async with timed_searches(), answering(database):
                if http:
                    await run_over_http(database, host, port, token, note)
                else:
                    await run_on_standard_io(database)

        asyncio.run(run())
