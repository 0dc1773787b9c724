"""PodsEvicted: running pods were evicted; one alert for each cause and resource, however many pods."""

from collections.abc import Sequence
from itertools import islice
from typing import Final

from streams.alerting.active import Group, key_of
from streams.alerting.definition import AlertDefinition, Change, Happened, Need, Nothing, Now
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import EVICTION_ADVICE, SHOWN, name, shortened
from streams.fold.findings import Eviction
from streams.fold.titles import READ_MESSAGES, WORD_ALONE, for_own_limits, pods_evicted
from streams.rules.eviction.shortage import UNKNOWN_CAUSE, WHY_UNKNOWN

MAX_MEMBERS: Final = 1000
"""Pods of one alert that are kept apart; of a larger storm, the rest are counted by row."""


class Settings(RuleSettings):
    pods_pressure: Count
    pods_limit: Count


def step(settings: Settings, state: Nothing, rows: Sequence[Eviction], now: Now) -> tuple[Nothing, Sequence[Change]]:
    """Count each pod once, even with several witnesses. A rejection at admission does not end a running pod."""
    groups = {key: alert.group for key, alert in now.active.items()}
    changes: list[Change] = []
    for row in rows:
        if row.cause == "admission":
            continue
        labels = {"cause": row.cause, "resource": row.resource or "unknown"}
        group = groups.get(key_of(labels), Group())
        pod = f"{row.namespace}/{row.pod} {row.uid}"
        if now.is_old(row.ts, settings) or pod in group.members:
            continue
        group = groups[key_of(labels)] = group.plus(pod if len(group.members) < MAX_MEMBERS else "", row.ts)
        least = settings.pods_limit if row.cause == "limit" else settings.pods_pressure
        changes.append(Happened(labels, *_words(row, group), until=row.ts, group=group, least_members=least))
    return state, changes


def _words(row: Eviction, group: Group) -> tuple[str, str]:
    which = shortened((pod.rpartition(" ")[0] for pod in islice(group.members, SHOWN)), count=group.count)
    node, evicted = name(row.node), pods_evicted(group.count, group.seconds)
    if row.cause == "limit":
        summary = f"Node {node}: {evicted} {for_own_limits(group.count)}"
        return summary, f"{which}: {name(row.message)} Raise the limit, or find what fills the pod."
    if row.cause == UNKNOWN_CAUSE:
        return f"Node {node}: {evicted}, {WHY_UNKNOWN}", f"{which}. {WORD_ALONE} {READ_MESSAGES}."
    outside = f" {row.outside}" if row.outside else ""
    return f"Node {node}: {evicted}, {row.low_on}", (
        f"{which}.{outside} {EVICTION_ADVICE.get(row.resource, 'Find what uses it')}. List the evictions with "
        "their predicted ranks: leadsman query evicted_pods."
    )


ALERT: Final = AlertDefinition(
    name="PodsEvicted",
    settings=Settings,
    needs=(
        Need("pods or events", "there is no witness: it cannot fire"),
        Need("pods", "an eviction whose event is lost is not seen", required=False),
        Need("events", "threshold and cause of an eviction can be missing", required=False),
    ),
    node_rows=(Eviction,),
    step=step,
)
