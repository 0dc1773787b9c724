"""`leadsman report`: an incident as one file."""

from pathlib import Path

import click

from leadsman.cli import completion, options


@click.command(
    "report",
    epilog="Examples: leadsman report; "
    "leadsman report -o incident.html --since 2026-11-21T04:10Z --until 2026-11-21T04:30Z",
)
@click.option("--output", "-o", type=options.FILE, default="report.html", metavar="FILE", help="File to write.")
@click.option(
    "--since",
    default="",
    show_default=False,
    metavar="TIME",
    help="Start of the range, such as 2026-11-21T04:10 in your zone; 1h is an hour before --until.  [default: 1d]",
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
    default=options.NODES,
    help="Nodes in detail, those with the worst findings first.",
)
@options.config
@options.live_db
def command(
    *, output: Path, since: str, until: str, cluster: str, nodes: int, config: Path | None, db: str | None
) -> None:
    """Write one HTML file about a cluster and a time range, which any browser shows without a network."""
    from leadsman.cli.console import out
    from leadsman.cli.database import readable_database
    from leadsman.cli.present.report_file import save_report
    from leadsman.run.settings import load
    from leadsman.web.reading.overview import read_spans
    from leadsman.web.reading.scope import Asked, address_time, choose

    settings = load(config, db=db)
    asked = Asked(cluster, until=_address(until))
    with readable_database(settings.db.get_secret_value()) as database:
        before, spans = options.ago(since), read_spans(database)
        start = (
            _address(since) if before is None else address_time(choose(spans, asked).until - before) if spans else ""
        )
        asked = asked._replace(since=start)
        size_bytes = save_report(database, output, asked, settings.page, nodes)
    out.print(f"{output}: {size_bytes / 1e6:.1f} MB", soft_wrap=True)


def _address(text: str) -> str:
    from leadsman.web.reading.scope import address_time

    return address_time(options.time(text)) if text else ""
