"""`leadsman work`: runs the analytics on Kafka."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from leadsman.cli import options

_POSITION: Final = re.compile(r"[A-Za-z0-9._-]+:[0-9]+@[0-9]+")


def _positions(_: click.Context, __: click.Parameter, values: Sequence[str]) -> Sequence[str]:
    for value in values:
        if not _POSITION.fullmatch(value):
            raise click.BadParameter(f"{value!r} is not TOPIC:PARTITION@OFFSET")
    return values


@click.command("work", epilog="Example: leadsman work --kafka kafka-1:9092,kafka-2:9092")
@options.config
@options.kafka
@click.option(
    "--skip",
    "skipped",
    multiple=True,
    callback=_positions,
    metavar="TOPIC:PARTITION@OFFSET",
    help="Make a dead letter of this record instead of folding it; may be given several times.",
)
def command(config: Path | None, kafka: str | None, skipped: Sequence[str]) -> None:
    """Analyse the event stream that the watchers publish to Kafka, until SIGTERM. Several workers share the nodes."""
    from leadsman.cli.live import live_settings, run_served
    from leadsman.run.work import run_worker

    settings = live_settings(config, kafka=kafka)
    run_served(settings, "work", run_worker(settings, skipped=skipped))
