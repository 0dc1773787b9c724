"""`leadsman up`: runs the whole pipeline on one machine."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ingest.apiserver.kubeconfig import check
from leadsman.cli import options
from leadsman.cli.exits import EXIT_NO_CONTEXT, EXIT_NO_KUBECONFIG, EXIT_NO_SOURCE, EXIT_SCHEMA, EXIT_USAGE, fail

if TYPE_CHECKING:
    from leadsman.run.in_process import Page
    from leadsman.run.settings import Settings

LASTING: Final = frozenset({EXIT_USAGE, EXIT_NO_SOURCE, EXIT_SCHEMA, EXIT_NO_KUBECONFIG, EXIT_NO_CONTEXT})
"""Exit status of a part that a restart cannot fix."""


@click.command(
    "up",
    epilog="Examples: leadsman up; leadsman up --context prod --port 8500; "
    "leadsman up --to slack=https://hooks.example.org/T0/B0/x; "
    "leadsman up --kafka localhost:9092 --db http://leadsman:leadsman@localhost:8123/leadsman",
)
@options.page
@click.option(
    "--capture",
    type=options.FILE,
    metavar="DIR",
    help="Without Kafka: write everything that is observed to capture files in DIR.",
)
@click.option(
    "--to",
    multiple=True,
    metavar="RECEIVER",
    help="Deliver alerts: alertmanager=URL, webhook=URL, slack=URL or CHANNEL, pagerduty=FILE, teams=FILE or stdout; "
    "repeat it.",
)
@options.config
@options.kafka_if_any
@options.live_db
@options.live_by_context
@options.for_long
def command(
    *,
    host: str,
    port: int,
    token_file: Path | None,
    capture: Path | None,
    to: tuple[str, ...],
    config: Path | None,
    kafka: str | None,
    db: str | None,
    **flags: Any,
) -> None:
    """Watch the cluster of your kubeconfig, and show it as a live page, until Ctrl-C.

    It is one process with an embedded database. After a restart it resumes where it stopped. If the settings name
    Kafka, it runs watch, work and land instead, restarts a part that ends, and leaves the page to `leadsman serve`.
    Alerts go to the receivers in --to, or otherwise in the settings (alerts.to). Alerts raised while `up` was stopped
    are delivered when it runs again.
    """
    from leadsman.cli.live import live_settings, watch_flags

    alerts = {"to": to} if to else {}
    settings = live_settings(config, kafka=kafka, db=db, watch=watch_flags(**flags), alerts=alerts)
    check(settings.live().kubeconfig)

    from leadsman.run.in_process import Page
    from leadsman.web.site.access import read_token

    if settings.kafka.is_given:
        _run_together(settings)
    else:
        _run_in_process(settings, Page(host, port, read_token(token_file, host)), capture)


def _run_together(settings: Settings) -> None:
    from common.supervise import PartFailedError
    from leadsman.cli.live import run_served, until_signal
    from leadsman.run.up import run_together

    try:
        run_served(settings, "up", until_signal(partial(run_together, settings, LASTING)))
    except PartFailedError as error:
        fail(str(error), error.status)


def _run_in_process(settings: Settings, page: Page, capture: Path | None) -> None:
    from leadsman.cli.live import run_served, until_signal
    from leadsman.run.in_process import run_in_process

    try:
        run_served(settings, "up", until_signal(partial(run_in_process, settings, page, capture, click.echo)))
    except OSError as error:
        fail(f"the journal cannot be written: {error.strerror or error}", EXIT_NO_SOURCE)
