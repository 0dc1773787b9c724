"""NodeStalls: all work on a node stalls on memory or on I/O."""

from collections.abc import Iterator
from typing import Final

from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Now, each_row
from streams.alerting.rule_settings import Percent, RuleSettings
from streams.alerting.words import name
from streams.fold.findings import NodeStall
from streams.fold.reasons import stalled
from streams.rules.values.wording import percent


class Settings(RuleSettings):
    memory_full_percent: Percent
    io_full_percent: Percent


_OF_MEMORY: Final = (
    "The kernel reclaims pages that are soon needed again. That causes no eviction: the kubelet only checks "
    "available memory (memory.available), and is itself slowed down. Find the pods that stall (leadsman "
    "query stalls), and give them more memory or move one."
)
_OF_IO: Final = (
    "The disk does not keep up with writes, image pulls or reclaimed memory. Probes and the container runtime "
    "can time out. Find the pods that stall (leadsman query stalls) and the pods that write (leadsman query "
    "disk_growth)."
)


def changes(settings: Settings, row: NodeStall, _now: Now) -> Iterator[Change]:
    memory = row.memory_full_percent, row.memory_some_percent, settings.memory_full_percent
    io = row.io_full_percent, row.io_some_percent, settings.io_full_percent
    for resource, what, advice, (full, partial, least) in (
        ("memory", "memory", _OF_MEMORY, memory),
        ("io", "I/O", _OF_IO, io),
    ):
        labels = {"resource": resource}
        if full is None or full < least:
            yield Ends(labels)
            continue
        others = "" if partial is None else f"; some tasks waited for {partial:.0f} %"
        yield Holds(labels, f"Node {name(row.node)}: {stalled(what, percent(full))}{others}", advice)


ALERT: Final = AlertDefinition(
    name="NodeStalls",
    settings=Settings,
    needs=(Need("samples", "only statistics with PSI (1.34 and later) show it: it cannot fire"),),
    node_rows=(NodeStall,),
    step=each_row(changes),
)
