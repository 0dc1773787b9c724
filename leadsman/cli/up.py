"""`leadsman up`: the live pipeline on one machine."""

from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from common.supervise import PartFailedError
from leadsman.cli import options
from leadsman.cli.exits import EXIT_NO_SOURCE, EXIT_SCHEMA, EXIT_USAGE, fail
from leadsman.cli.live import live_settings, run_served, until_signal, watch_flags
from leadsman.run.up import run_together

LASTING: Final = frozenset({EXIT_USAGE, EXIT_NO_SOURCE, EXIT_SCHEMA})
"""Status of a part that a restart cannot fix."""


@click.command(
    "up", epilog="Example: leadsman up --kafka localhost:9092 --db http://leadsman:leadsman@localhost:8123/leadsman"
)
@options.config
@options.kafka
@options.live_db
@options.live_for_long
def command(config: Path | None, kafka: str | None, db: str | None, **flags: Any) -> None:
    """Run watch, work and land together on this machine until SIGTERM; a part that ends is restarted.

    It needs Kafka, a database and a kubeconfig, nothing else.
    """
    settings = live_settings(config, kafka=kafka, db=db, watch=watch_flags(**flags))
    try:
        run_served(settings, "up", until_signal(partial(run_together, settings, LASTING)))
    except PartFailedError as error:
        fail(str(error), error.status)
