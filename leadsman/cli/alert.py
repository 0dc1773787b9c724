"""`leadsman alert`: sends alerts to receivers."""

from pathlib import Path

import click

from leadsman.cli import options
from leadsman.cli.exits import EXIT_USAGE, EXIT_WRONG, fail, note


@click.command(
    "alert",
    epilog="Examples: leadsman alert --to stdout; "
    "leadsman alert --test --to slack=https://hooks.example.org/T0/B0/x; "
    "leadsman alert --to alertmanager=http://alertmanager:9093 --to webhook=https://example.org/hook",
)
@click.option(
    "--to",
    multiple=True,
    metavar="RECEIVER",
    help="alertmanager=URL, webhook=URL, slack=URL or CHANNEL, pagerduty=FILE, teams=FILE or stdout; repeat it.",
)
@click.option("--test", is_flag=True, help="Send one test alert to each receiver, then exit. Needs no Kafka.")
@options.config
@options.kafka
@click.option("--db", metavar="DSN", help="Database with the silences to apply; by default the one in the settings.")
def command(to: tuple[str, ...], config: Path | None, kafka: str | None, db: str | None, *, test: bool) -> None:
    """Deliver the alerts that work raises to receivers, until SIGTERM.

    Each receiver has its own consumer group. One that does not answer is retried, and does not block the others.
    Put secret addresses in the settings (alerts.to), and also the secret that signs messages to webhooks
    (alerts.webhook_secret). FILE holds PagerDuty's routing key or the URL of a Teams workflow.
    """
    from leadsman.cli.live import live_settings, run_served
    from leadsman.run.alert import run_alerts, send_test
    from streams.alerting.receivers.choose import ALLOWED

    settings = live_settings(config, kafka=kafka, db=db)
    receivers = to or [text.get_secret_value() for text in settings.alerts.to]
    if not receivers:
        fail(f"alert: no receiver. Give --to: {ALLOWED}", EXIT_USAGE)
    if test:
        if problems := run_served(settings, "alert", send_test(settings, receivers)):
            fail("; ".join(problems), EXIT_WRONG)
        note(f"sent to {len(set(receivers))} receiver{'s' if len(set(receivers)) > 1 else ''}")
    else:
        run_served(settings, "alert", run_alerts(settings, receivers))
