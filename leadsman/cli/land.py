"""`leadsman land`: writes Kafka's messages to the database."""

from pathlib import Path

import click

from leadsman.cli import options


@click.command(
    "land",
    epilog="Example: leadsman land --kafka localhost:9092 --db http://leadsman:leadsman@localhost:8123/leadsman",
)
@options.config
@options.kafka
@options.live_db
def command(config: Path | None, kafka: str | None, db: str | None) -> None:
    """Write Kafka messages to the database exactly once; runs until SIGTERM."""
    from leadsman.cli.live import live_settings, run_served
    from leadsman.run.land import run_lander

    settings = live_settings(config, kafka=kafka, db=db)
    run_served(settings, "land", run_lander(settings))
