"""`leadsman report`: writes an incident as one file."""

from datetime import datetime, timedelta
from pathlib import Path

import click

from leadsman.cli import completion, options


@click.command(
    "report",
    epilog="Examples: leadsman report; "
    "leadsman report -o incident.html --since 2026-11-21T04:10Z --until 2026-11-21T04:30Z",
)
@click.option("--output", "-o", type=options.FILE, default="report.html", metavar="FILE", help="File to write.")
@options.since_until
@options.of_database("--cluster", completion.clusters, "The cluster.  [default: the one observed last]")
@click.option(
    "--nodes",
    type=click.IntRange(0, 200),
    metavar="N",
    default=options.NODES,
    help="Number of nodes to show in detail, worst findings first.",
)
@options.config
@options.live_db
def command(
    *,
    output: Path,
    since: datetime | timedelta | None,
    until: datetime | timedelta | None,
    cluster: str,
    nodes: int,
    config: Path | None,
    db: str | None,
) -> None:
    """Write one HTML file about a cluster and a time range; any browser shows it offline.

    Without --since, the range is the last day.
    """
    from common.text import plain
    from leadsman.cli.console import out
    from leadsman.cli.database import readable_database
    from leadsman.cli.present.report_file import save_report
    from leadsman.cli.since import last_stored, settled
    from leadsman.run.settings import load
    from leadsman.web.reading.scope import RequestedRange, address_time

    settings = load(config, db=db)
    with readable_database(settings.db.get_secret_value()) as database:
        times = settled(since, until, lambda: last_stored(database, cluster))
        requested = RequestedRange(cluster, *("" if at is None else address_time(at) for at in times))
        size_bytes = save_report(database, output, requested, settings.page, nodes)
    out.print(f"{plain(output)}: {size_bytes / 1e6:.1f} MB", soft_wrap=True)
