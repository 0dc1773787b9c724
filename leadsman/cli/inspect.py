"""`leadsman inspect`: what a source holds."""

from datetime import datetime
from pathlib import Path

import click

from ingest.files.inspect import inspect, render
from ingest.files.progress import progress_bar
from leadsman.cli import options
from leadsman.cli.console import wide
from leadsman.cli.exits import EXIT_BAD_INPUT
from leadsman.cli.piped import on_disk


@click.command("inspect", epilog="Example: leadsman inspect examples/node-pressure-k8s-1.36.jsonl.gz")
@options.sources
def command(paths: tuple[Path, ...], cluster: str, node: str, at: datetime | None) -> None:
    """Show what captures, kubectl dumps and must-gather folders hold: resources, time range, nodes, gaps, errors.

    Nothing is written.
    """
    with on_disk(paths) as files, progress_bar() as progress:
        inspection = inspect(files, cluster=cluster, node=node, at=at, progress=progress)
    wide.print(render(inspection))
    if inspection.unreadable:
        click.get_current_context().exit(EXIT_BAD_INPUT)
