"""`leadsman alert`: alerts to their receivers."""

from pathlib import Path

import click

from leadsman.cli import options
from leadsman.cli.exits import EXIT_USAGE, fail


@click.command(
    "alert",
    epilog="Examples: leadsman alert --to stdout; "
    "leadsman alert --to alertmanager=http://alertmanager:9093 --to webhook=https://example.org/hook",
)
@click.option(
    "--to",
    multiple=True,
    metavar="RECEIVER",
    help="alertmanager=URL, webhook=URL, slack=URL, pagerduty=FILE, teams=FILE or stdout; repeat it.",
)
@options.config
@options.kafka
@click.option("--db", metavar="DSN", help="Apply the silences of this database. By default: the settings'.")
def command(to: tuple[str, ...], config: Path | None, kafka: str | None, db: str | None) -> None:
    """Deliver the alerts that work raises to receivers, until SIGTERM.

    Each receiver has its own consumer group. One that does not answer is retried, and blocks no other. Run one
    process for each receiver. Put secret addresses in the settings (alerts.to), and also the secret that signs
    messages to webhooks (alerts.webhook_secret). FILE holds PagerDuty's routing key or the URL of a Teams workflow.
    """
    from leadsman.cli.live import live_settings, run_served
    from leadsman.run.alert import run_alerts
    from streams.alerting.receivers.choose import ALLOWED

    settings = live_settings(config, kafka=kafka, db=db)
    receivers = to or [text.get_secret_value() for text in settings.alerts.to]
    if not receivers:
        fail(f"alert: no receiver. Give --to: {ALLOWED}", EXIT_USAGE)
    run_served(settings, "alert", run_alerts(settings, receivers))
