"""`leadsman report`: an incident as one file."""

from pathlib import Path

import click

from leadsman.cli import completion, options
from leadsman.cli.console import out
from leadsman.cli.database import readable_database
from leadsman.cli.present.report_file import NODES, save_report
from leadsman.web.reading.scope import Asked


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
    shell_complete=completion.clusters,
    help="The cluster.  [default: the one observed last]",
)
@click.option(
    "--nodes",
    type=click.IntRange(0, 200),
    metavar="N",
    default=NODES,
    help="Nodes in detail, those with the worst findings first.",
)
@options.db
def command(*, output: Path, since: str, until: str, cluster: str, nodes: int, db: str) -> None:
    """Write one HTML file about a cluster and a time range, which any browser shows without a network."""
    with readable_database(db) as database:
        size_bytes = save_report(database, output, Asked(cluster, since, until), nodes)
    out.print(f"{output}: {size_bytes / 1e6:.1f} MB", soft_wrap=True)
