"""PodsEvicted: running pods were evicted; one alert for each cause and resource, however many pods."""

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Final

from streams.alerting.active import Group
from streams.alerting.definition import AlertDefinition, Change, Gathers, Need, Now, each_row
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import EVICTION_ADVICE, SHOWN, name, shorten_list
from streams.fold.findings import Eviction
from streams.fold.titles import READ_MESSAGES, WORD_ALONE, for_own_limits, pods_evicted
from streams.rules.eviction.shortage import UNKNOWN_CAUSE, WHY_UNKNOWN


class Settings(RuleSettings):
    pods_pressure: Count
    pods_limit: Count


def changes(settings: Settings, row: Eviction, now: Now) -> Iterator[Change]:
    """Count each pod once, even with several witnesses. A rejection at admission does not end a running pod."""
    if row.cause != "admission" and not now.is_old(row.ts, settings):
        labels = {"cause": row.cause, "resource": row.resource or "unknown"}
        pod = partial(Group.plus_new, member=f"{row.namespace}/{row.pod} {row.uid}", at=row.ts)
        least = settings.pods_limit if row.cause == "limit" else settings.pods_pressure
        yield Gathers(labels, pod, partial(_words, row), row.ts, least)


def _words(row: Eviction, group: Group) -> tuple[str, str]:
    which = shorten_list((pod.rpartition(" ")[0] for pod in islice(group.members, SHOWN)), count=group.count)
    node, evicted = name(row.node), pods_evicted(group.count, group.seconds)
    if row.cause == "limit":
        summary = f"Node {node}: {evicted} {for_own_limits(group.count)}"
        return summary, f"{which}: {name(row.message)} Raise the limit, or find what fills the pod."
    if row.cause == UNKNOWN_CAUSE:
        return f"Node {node}: {evicted}, {WHY_UNKNOWN}", f"Evicted: {which}. {WORD_ALONE} {READ_MESSAGES}."
    outside = f" {row.outside}" if row.outside else ""
    return f"Node {node}: {evicted}, {row.low_on}", (
        f"Evicted: {which}.{outside} {EVICTION_ADVICE.get(row.resource, 'Find what uses it')}. "
        "List the evictions with their predicted ranks: leadsman query evicted_pods."
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
    step=each_row(changes),
)
