"""DeadLetters: observations could not be decoded or made no sense."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from common.amounts import counted
from ingest.model.records import DeadLetterRecord
from streams.alerting.active import Group
from streams.alerting.definition import AlertDefinition, Change, Gathers, Now, each_row
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import name


class Settings(RuleSettings):
    letters: Count


def changes(settings: Settings, record: DeadLetterRecord, _now: Now) -> Iterator[Change]:
    """Raise one alert for all dead letters of a cluster; its text counts those of the first minute."""
    grown = partial(Group.plus, member=record.error_type, at=record.ts)
    yield Gathers({}, grown, partial(_words, record.cluster), record.ts, settings.letters)


def _words(cluster: str, group: Group) -> tuple[str, str]:
    kinds = ", ".join(f"{count} {name(kind.replace('_', ' '))}" for kind, count in sorted(group.members.items()))
    summary = f"Cluster {name(cluster) or 'unknown'}: {counted(group.count, 'dead letter')} within a minute ({kinds})"
    return summary, (
        "These observations could not be decoded or made no sense. All others were used. See the content, source "
        "and reason of each: leadsman query dead_letters."
    )


ALERT: Final = AlertDefinition(
    name="DeadLetters", settings=Settings, needs=(), cluster_rows=(DeadLetterRecord,), step=each_row(changes)
)
