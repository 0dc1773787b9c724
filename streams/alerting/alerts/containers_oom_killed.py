"""ContainersOOMKilled: containers of one workload are OOM killed on a node again and again."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from streams.alerting.active import MAX_MEMBERS, Group
from streams.alerting.definition import AlertDefinition, Change, Gathers, Need, Now, each_row
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import name, shorten_list
from streams.fold.findings import KERNEL_KILLS, PodEnd
from streams.fold.titles import oom_kills


class Settings(RuleSettings):
    kills: Count


def changes(settings: Settings, row: PodEnd, now: Now) -> Iterator[Change]:
    """Count each container end once, however often its row is updated."""
    if row.cause == "oom_kill" and not now.is_old(row.ts, settings):
        yield Gathers(_workload(row), partial(_plus, row), partial(_words, row), row.ts, settings.kills)


def _plus(row: PodEnd, group: Group) -> Group | None:
    """Add a kill, up to MAX_MEMBERS."""
    kill = f"{row.uid} {row.attempt} {row.container}"
    return group.plus_new(kill, row.ts, f"{row.pod}/{row.container}") if group.count < MAX_MEMBERS else None


def _workload(row: PodEnd) -> dict[str, str]:
    kind, owner = (row.owner_kind, row.owner_name) if row.owner_name else ("Pod", row.pod)
    return {"namespace": name(row.namespace), "workload": f"{name(kind)}/{name(owner)}"}


def _words(row: PodEnd, group: Group) -> tuple[str, str]:
    workload = _workload(row)
    kills = oom_kills(group.count, group.seconds)
    which = shorten_list(group.breakdown)
    return f"Node {name(row.node)}: {kills} of {workload['workload']} in namespace {workload['namespace']}", (
        f"The kernel killed {which}. {KERNEL_KILLS} Raise the limit or find the leak; if the node was low, see "
        "EvictionThresholdNear. List the kills: leadsman query pod_ends --param cause=oom_kill."
    )


ALERT: Final = AlertDefinition(
    name="ContainersOOMKilled",
    settings=Settings,
    needs=(Need("pods", "only the status of containers shows it: it cannot fire"),),
    node_rows=(PodEnd,),
    step=each_row(changes),
)
