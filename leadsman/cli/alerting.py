"""`alert`: who is told of alerts."""

from typing import Annotated

import typer

from leadsman.cli.console import EXIT_USAGE, fail
from leadsman.cli.live import kafka_flags, live_mistakes, live_settings, run_served
from leadsman.cli.options import ConfigFile, KafkaServers

app = typer.Typer()


@app.command(
    epilog="Examples: leadsman alert --to stdout; "
    "leadsman alert --to alertmanager=http://alertmanager:9093 --to webhook=https://example.org/hook"
)
def alert(
    to: Annotated[
        list[str] | None,
        typer.Option(
            "--to", metavar="RECEIVER", help="alertmanager=URL, webhook=URL, slack=URL or stdout; repeat it."
        ),
    ] = None,
    config: ConfigFile = None,
    kafka: KafkaServers = None,
) -> None:
    """Tell receivers of the alerts that work raises, until SIGTERM.

    Each receiver has a consumer group of its own: one that does not answer is tried again, and none waits for it. Run
    one process for each receiver. Addresses that are secret belong into the settings (alerts.to), and so does the
    secret that signs messages to webhooks (alerts.webhook_secret).
    """
    from leadsman.run.alert import run_alerts  # noqa: PLC0415 - aiohttp and Kafka's client take long to import
    from streams.alerting.receivers.choose import ALLOWED, BadReceiver  # noqa: PLC0415 - as above

    with live_mistakes():
        settings = live_settings(config, kafka=kafka_flags(kafka))
        receivers = to or [text.get_secret_value() for text in settings.alerts.to]
        if not receivers:
            fail(f"alert: nobody to tell. Give --to: {ALLOWED}", EXIT_USAGE)
        try:
            run_served(settings, "alert", run_alerts(settings, receivers))
        except BadReceiver as error:
            fail(f"alert: {error}", EXIT_USAGE)
