"""`leadsman validate`: settings and connections, tried."""

import asyncio
from pathlib import Path

import click

from common.text import plain
from leadsman.cli import options
from leadsman.cli.console import out
from leadsman.cli.exits import EXIT_USAGE, MESSAGE
from leadsman.cli.live import live_settings
from leadsman.run.validate import validate


@click.command("validate", epilog="Example: leadsman validate --config leadsman.yaml")
@options.config
@options.kafka
@options.live_db
def command(config: Path | None, kafka: str | None, db: str | None) -> None:
    """Check the settings and try every connection that they name; nothing is changed."""
    checked = asyncio.run(validate(live_settings(config, kafka=kafka, db=db)))
    for each in checked:
        detail = each.problem or each.note
        verdict = "NOT USABLE" if each.problem else "ok"
        out.print(plain(f"{each.what}: {verdict}{f': {detail}' if detail else ''}", MESSAGE), soft_wrap=True)
    if any(each.problem for each in checked):
        click.get_current_context().exit(EXIT_USAGE)
