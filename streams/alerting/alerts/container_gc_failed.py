"""ContainerGCFailed: the kubelet cannot remove dead containers, again and again."""

from collections.abc import Sequence
from typing import Final

from common.amounts import counted
from streams.alerting.active import Group
from streams.alerting.definition import AlertDefinition, Change, Happened, Need, Nothing, Now
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import name
from streams.fold.findings import NodeEvent
from streams.fold.titles import CONTAINER_GC_FAILS


class Settings(RuleSettings):
    failures: Count


def step(settings: Settings, state: Nothing, rows: Sequence[NodeEvent], now: Now) -> tuple[Nothing, Sequence[Change]]:
    """Its Event adds what its count has grown by; the kubelet drops some, so there can be more."""
    before = now.of({})
    group = before.group if before else Group()
    changes: list[Change] = []
    for row in rows:
        if row.reason != "ContainerGCFailed" or row.object_kind != "Node" or now.is_old(row.ts, settings):
            continue
        group = group.plus("", row.ts, row.occurrences)
        changes.append(Happened({}, *_words(row, group), until=row.ts, group=group, least_members=settings.failures))
    return state, changes


def _words(row: NodeEvent, group: Group) -> tuple[str, str]:
    fails = f"{CONTAINER_GC_FAILS[0].lower()}{CONTAINER_GC_FAILS[1:]}"
    return f"Node {name(row.node)}: {fails}, {counted(group.count, 'time')}", (
        "The kubelet tries once a minute and could not remove dead containers, their logs and their sandboxes. They "
        "fill the disk, and an unresponsive container runtime soon makes the node NotReady. Check the "
        f"container runtime and its log. The kubelet reported: {name(row.message)}"
    )


ALERT: Final = AlertDefinition(
    name="ContainerGCFailed",
    settings=Settings,
    needs=(Need("events", "only events show it: it cannot fire"),),
    node_rows=(NodeEvent,),
    step=step,
    exhausts=frozenset({"ephemeral-storage", "inodes"}),
)
