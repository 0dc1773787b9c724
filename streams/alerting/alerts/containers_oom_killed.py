"""ContainersOOMKilled: containers of one workload are OOM killed on a node again and again."""

from collections.abc import Sequence
from typing import Final

from streams.alerting.active import Group, key_of
from streams.alerting.definition import AlertDefinition, Change, Happened, Need, Nothing, Now
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import name, shortened
from streams.fold.findings import KERNEL_KILLS, PodEnd
from streams.fold.titles import oom_kills

MAX_MEMBERS: Final = 1000
"""Kills of one alert that are kept apart; the alert counts no further."""


class Settings(RuleSettings):
    kills: Count


def step(settings: Settings, state: Nothing, rows: Sequence[PodEnd], now: Now) -> tuple[Nothing, Sequence[Change]]:
    """Each end of a container counts once, however often its row is updated."""
    groups = {key: alert.group for key, alert in now.active.items()}
    changes: list[Change] = []
    for row in rows:
        if row.cause != "oom_kill" or now.is_old(row.ts, settings):
            continue
        labels = _workload(row)
        group = groups.get(key_of(labels), Group())
        kill = f"{row.uid} {row.attempt} {row.container}"
        if kill in group.members or len(group.members) >= MAX_MEMBERS:
            continue
        group = groups[key_of(labels)] = group.plus(kill, row.ts, under=f"{row.pod}/{row.container}")
        changes.append(Happened(labels, *_words(row, group), until=row.ts, group=group, least_members=settings.kills))
    return state, changes


def _workload(row: PodEnd) -> dict[str, str]:
    kind, owner = (row.owner_kind, row.owner_name) if row.owner_name else ("Pod", row.pod)
    return {"namespace": name(row.namespace), "workload": f"{name(kind)}/{name(owner)}"}


def _words(row: PodEnd, group: Group) -> tuple[str, str]:
    workload = _workload(row)
    kills = oom_kills(group.count, group.seconds)
    which = shortened(group.breakdown)
    return f"Node {name(row.node)}: {kills} of {workload['workload']} in namespace {workload['namespace']}", (
        f"The kernel killed {which}. {KERNEL_KILLS} Raise the limit or find the leak; if the node was low, see "
        "EvictionThresholdNear. List the kills: leadsman query pod_ends --param cause=oom_kill."
    )


ALERT: Final = AlertDefinition(
    name="ContainersOOMKilled",
    settings=Settings,
    needs=(Need("pods", "only the status of containers shows it: it cannot fire"),),
    node_rows=(PodEnd,),
    step=step,
)
