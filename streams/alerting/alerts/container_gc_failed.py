"""ContainerGCFailed: the kubelet cannot remove dead containers, again and again."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from common.amounts import counted
from streams.alerting.active import Group
from streams.alerting.definition import AlertDefinition, Change, Gathers, Need, Now, each_row
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import name
from streams.fold.findings import NodeEvent
from streams.fold.titles import CONTAINER_GC_FAILS


class Settings(RuleSettings):
    failures: Count


def changes(settings: Settings, row: NodeEvent, now: Now) -> Iterator[Change]:
    """Count each Event by the growth of its count. The kubelet drops Events, so this is a lower bound."""
    if row.reason == "ContainerGCFailed" and row.object_kind == "Node" and not now.is_old(row.ts, settings):
        grown = partial(Group.plus, member="", at=row.ts, times=row.occurrences)
        yield Gathers({}, grown, partial(_words, row), row.ts, settings.failures)


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
    step=each_row(changes),
    exhausts=frozenset({"ephemeral-storage", "inodes"}),
)
