"""`leadsman validate`: tries settings and connections."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from common.text import plain
from leadsman.cli import options
from leadsman.cli.exits import EXIT_NOT_VALID, MESSAGE

if TYPE_CHECKING:
    from leadsman.run.permissions import Checked


@click.command("validate", epilog="Example: leadsman validate --config leadsman.yaml")
@options.config
@options.kafka
@options.live_db
@options.output
def command(config: Path | None, kafka: str | None, db: str | None, form: str) -> None:
    """Check the settings, and try every connection that they name. It changes nothing."""
    import asyncio

    from leadsman.cli.console import out
    from leadsman.cli.live import live_settings
    from leadsman.cli.present.tables import raw_rows, show
    from leadsman.run.validate import validate

    checked = asyncio.run(validate(live_settings(config, kafka=kafka, db=db)))
    if form in options.FOR_PEOPLE:
        for each in checked:
            detail = each.problem or each.note
            out.print(
                plain(f"{each.what}: {_verdict(each)}{f': {detail}' if detail else ''}", MESSAGE), soft_wrap=True
            )
    else:
        rows = ((each.what, _verdict(each), each.problem or each.note) for each in checked)
        show(raw_rows(("connection", "verdict", "detail"), rows), form)
    if any(each.problem for each in checked):
        click.get_current_context().exit(EXIT_NOT_VALID)


def _verdict(checked: Checked) -> str:
    return "NOT USABLE" if checked.problem else "ok"
