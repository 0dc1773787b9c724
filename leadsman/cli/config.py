"""`leadsman config`: shows the settings in force, and writes a file of all settings."""

from pathlib import Path

import click

from leadsman.cli import options
from leadsman.cli.exits import EXIT_USAGE, fail


@click.group(
    "config",
    invoke_without_command=True,
    epilog="Examples: leadsman config init; leadsman config --config leadsman.yaml",
)
@options.config
@options.kafka
@options.live_db
@click.pass_context
def command(ctx: click.Context, config: Path | None, kafka: str | None, db: str | None) -> None:
    """Print the settings in force, from file, environment and flags, without passwords."""
    from leadsman.cli.live import live_settings
    from leadsman.run.settings import redacted_yaml

    if ctx.invoked_subcommand is None:
        click.echo(redacted_yaml(live_settings(config, kafka=kafka, db=db)), nl=False)


@command.command("init", epilog="Examples: leadsman config init prod.yaml; leadsman config init -")
@click.argument("file", type=options.FILE, default="leadsman.yaml")
def init(file: Path) -> None:
    """Write a file with every setting, its default and meaning.

    All of them are commented out; - prints the file instead.
    """
    from common.private import open_private
    from leadsman.run.settings import Settings, settings_file

    text = settings_file(Settings)
    if file == Path("-"):
        click.echo(text, nl=False)
        return
    if file.exists():
        fail(f"{file} exists; give another name, or - to print", EXIT_USAGE)
    try:
        with open_private(file, "wb") as opened:
            opened.write(text.encode())
    except OSError as error:
        fail(f"{file}: {error.strerror}", EXIT_USAGE)
    click.echo(f"{file}: every setting with its default; nothing is set yet")
