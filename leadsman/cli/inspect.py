"""`leadsman inspect`: summarises what a source contains."""

from datetime import datetime
from pathlib import Path

import click

from leadsman.cli import options
from leadsman.cli.exits import EXIT_BAD_INPUT, EXIT_NO_SOURCE, fail


@click.command("inspect", epilog="Example: leadsman inspect examples/node-pressure-k8s-1.36.jsonl.gz")
@options.sources
@options.output
def command(paths: tuple[Path, ...], cluster: str, node: str, at: datetime | None, form: str) -> None:
    """Show what captures, kubectl dumps, must-gathers and bundles contain: resources, time range, nodes, gaps,
    errors.

    Nothing is written.
    """
    from rich.console import Console

    from ingest.files.inspection import inspect, render
    from ingest.files.progress import progress_bar
    from leadsman.cli.console import WIDE, wide
    from leadsman.cli.piped import on_disk
    from leadsman.cli.present.inspection import counted, document
    from leadsman.cli.present.tables import show_raw

    with on_disk(paths) as files, progress_bar() as progress:
        inspection = inspect(files, cluster=cluster, node=node, at=at, progress=progress)
    if not show_raw(form, lambda: document(inspection), lambda: counted(inspection)):
        (Console(width=WIDE) if form == "wide" else wide).print(render(inspection))
    if inspection.refused:
        fail(inspection.refused, EXIT_NO_SOURCE)
    if inspection.unreadable:
        click.get_current_context().exit(EXIT_BAD_INPUT)
