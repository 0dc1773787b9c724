"""RetentionNear: Kafka is about to delete messages that a worker or a lander has not read."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from streams.alerting.definition import AlertDefinition, Change, Happened, Nothing, Now
from streams.alerting.rule_settings import RuleSettings
from streams.alerting.words import name
from streams.fold.findings import SourceError

REPORTED_EVERY: Final = timedelta(minutes=10)
"""The interval of `streams.kafka.retention`."""


def step(
    settings: RuleSettings, state: Nothing, rows: Sequence[SourceError], now: Now
) -> tuple[Nothing, Sequence[Change]]:
    """One alert for each partition, from report to report."""
    found = [row for row in rows if row.kind == "behind" and not now.is_old(row.ts, settings)]
    return state, [_near(row) for row in found]


def _near(row: SourceError) -> Change:
    return Happened(
        {"resource": row.resource},
        f"{name(row.resource)}: Kafka will soon delete unread messages",
        f"Deleted messages are lost for every table. Reported: {name(row.error)}. Check that workers and landers "
        "run, and read their /readyz. Keep messages until they have caught up: kafka-configs.sh, retention.ms.",
        until=row.ts + REPORTED_EVERY,
    )


ALERT: Final = AlertDefinition(
    name="RetentionNear", settings=RuleSettings, needs=(), cluster_rows=(SourceError,), step=step, of_sources=True
)
