"""`leadsman work`: the analytics over Kafka."""

from pathlib import Path

import click

from leadsman.cli import options
from leadsman.cli.live import live_settings, run_served
from leadsman.run.work import run_worker


@click.command("work", epilog="Example: leadsman work --kafka kafka-1:9092,kafka-2:9092")
@options.config
@options.kafka
def command(config: Path | None, kafka: str | None) -> None:
    """Analyse the event stream that the watchers publish to Kafka, until SIGTERM. Several workers share the nodes."""
    settings = live_settings(config, kafka=kafka)
    run_served(settings, "work", run_worker(settings))
