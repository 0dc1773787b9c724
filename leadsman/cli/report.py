"""`leadsman report`: an incident as one file."""

from datetime import UTC, datetime
from pathlib import Path

import click

from common.private import open_private
from leadsman.cli import options
from leadsman.cli.console import out
from leadsman.cli.database import readable_database
from leadsman.cli.exits import EXIT_NO_SOURCE, fail
from leadsman.web.reading.scope import Asked
from leadsman.web.rendering.report import write_report


@click.command(
    "report",
    epilog="Examples: leadsman report; "
    "leadsman report -o incident.html --since 2026-11-21T04:10Z --until 2026-11-21T04:30Z",
)
@click.option("--output", "-o", type=options.FILE, default="report.html", metavar="FILE", help="Where to write it.")
@click.option(
    "--since",
    default="",
    show_default=False,
    metavar="TIME",
    help="Start of the range.  [default: a day before --until]",
)
@click.option(
    "--until",
    default="",
    show_default=False,
    metavar="TIME",
    help="End of the range, exclusive.  [default: the last observation]",
)
@click.option(
    "--cluster",
    default="",
    show_default=False,
    metavar="NAME",
    help="The cluster.  [default: the one observed last]",
)
@click.option(
    "--nodes",
    type=click.IntRange(0, 200),
    metavar="N",
    default=20,
    help="Nodes in detail, those with the worst findings first.",
)
@options.db
def command(*, output: Path, since: str, until: str, cluster: str, nodes: int, db: str) -> None:
    """Write one HTML file about a cluster and a time range, which any browser shows without a network."""
    with readable_database(db) as database:
        text = write_report(database, Asked(cluster, since, until), datetime.now(UTC), nodes)
    try:
        with open_private(output, "wb") as file:
            file.write(text.encode())
    except OSError as error:
        fail(f"{output}: {error.strerror}", EXIT_NO_SOURCE)
    out.print(f"{output}: {len(text.encode()) / 1e6:.1f} MB", soft_wrap=True)
