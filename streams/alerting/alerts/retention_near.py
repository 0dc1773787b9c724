"""RetentionNear: Kafka is about to delete messages that a worker or a lander has not read."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from streams.alerting.definition import AlertDefinition, Change, Happened, Now, each_row
from streams.alerting.rule_settings import RuleSettings
from streams.alerting.words import name
from streams.fold.findings import SourceError

REPORTED_EVERY: Final = timedelta(minutes=10)
"""The interval of `streams.kafka.retention`."""


def changes(settings: RuleSettings, row: SourceError, now: Now) -> Iterator[Change]:
    """Raise one alert for each partition; each report keeps it firing until the next is due."""
    if row.kind == "behind" and not now.is_old(row.ts, settings):
        yield Happened(
            {"resource": row.resource},
            f"{name(row.resource)}: Kafka will soon delete unread messages",
            f"Deleted messages are lost for every table. Reported: {name(row.error)}. Check that workers and landers "
            "run, and read their /readyz. Keep messages until they have caught up: kafka-configs.sh, retention.ms.",
            until=row.ts + REPORTED_EVERY,
        )


ALERT: Final = AlertDefinition(
    name="RetentionNear",
    settings=RuleSettings,
    needs=(),
    cluster_rows=(SourceError,),
    step=each_row(changes),
    of_sources=True,
)
