"""`leadsman config`: the settings in force."""

from pathlib import Path

import click

from leadsman.cli import options
from leadsman.cli.live import live_settings
from leadsman.run.settings import shown


@click.command("config", epilog="Example: leadsman config --config leadsman.yaml")
@options.config
@options.kafka
@options.live_db
def command(config: Path | None, kafka: str | None, db: str | None) -> None:
    """Print the settings in force, from file, environment and flags; of a secret, only that there is one."""
    click.echo(shown(live_settings(config, kafka=kafka, db=db)), nl=False)
