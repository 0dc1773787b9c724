"""DeadLetters: observations could not be decoded or made no sense."""

from collections.abc import Sequence
from typing import Final

from common.amounts import counted
from ingest.model.records import DeadLetterRecord
from streams.alerting.active import Group
from streams.alerting.definition import AlertDefinition, Change, Happened, Nothing, Now
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import name


class Settings(RuleSettings):
    letters: Count


def step(
    settings: Settings, state: Nothing, rows: Sequence[DeadLetterRecord], now: Now
) -> tuple[Nothing, Sequence[Change]]:
    """One alert for all dead letters of a cluster; its words count those of its first minute."""
    before = now.of({})
    group = before.group if before else Group()
    changes: list[Change] = []
    for record in rows:
        group = group.plus(record.error_type, record.ts)
        changes.append(
            Happened({}, *_words(record.cluster, group), until=record.ts, group=group, least_members=settings.letters)
        )
    return state, changes


def _words(cluster: str, group: Group) -> tuple[str, str]:
    kinds = ", ".join(f"{count} {name(kind.replace('_', ' '))}" for kind, count in sorted(group.members.items()))
    summary = f"Cluster {name(cluster) or 'unknown'}: {counted(group.count, 'dead letter')} within a minute ({kinds})"
    return summary, (
        "These observations could not be decoded or made no sense. All others were used. See the content, source "
        "and reason of each: leadsman query dead_letters."
    )


ALERT: Final = AlertDefinition(
    name="DeadLetters", settings=Settings, needs=(), cluster_rows=(DeadLetterRecord,), step=step
)
