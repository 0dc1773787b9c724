"""`leadsman watch`: publishes a live cluster to Kafka."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from ingest.apiserver.kubeconfig import check
from leadsman.cli import options


@click.command(
    "watch",
    epilog="Example: leadsman watch --cluster prod --kafka kafka-1:9092,kafka-2:9092 "
    "--versions /var/lib/leadsman/versions.json",
)
@options.config
@options.kafka
@options.live
@options.for_long
def command(config: Path | None, kafka: str | None, **flags: Any) -> None:
    """Publish a cluster's changes and its kubelets' statistics to Kafka, without secrets, until SIGTERM.

    It acknowledges nothing before Kafka has it. Several replicas can run: the one that holds the Lease watches.
    """
    from leadsman.cli.live import live_settings, run_served, until_signal, watch_flags

    settings = live_settings(config, kafka=kafka, watch=watch_flags(**flags))
    check(settings.live().kubeconfig)

    from leadsman.run.watch import run_watcher

    run_served(settings, "watch", until_signal(partial(run_watcher, settings.kafka, settings.live())))
