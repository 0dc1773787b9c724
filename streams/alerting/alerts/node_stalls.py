"""NodeStalls: work on a node stands still for memory or for I/O."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Nothing, Now
from streams.alerting.rule_settings import Percent, RuleSettings
from streams.alerting.words import name
from streams.fold.findings import NodeStall
from streams.fold.reasons import stalled
from streams.rules.values.wording import percent


class Settings(RuleSettings):
    memory_full_percent: Percent
    io_full_percent: Percent


class _Words(NamedTuple):
    what: str
    advice: str


_WORDS: Final[dict[Literal["memory", "io"], _Words]] = {
    "memory": _Words(
        "memory",
        "The kernel reclaims pages that are soon needed again. That causes no eviction: the kubelet only checks "
        "available memory (memory.available), and is itself slowed down. Find the pods that stall (leadsman "
        "query stalls), and give them more memory or move one.",
    ),
    "io": _Words(
        "I/O",
        "The disk does not keep up with writes, image pulls or reclaimed memory. Probes and the container runtime "
        "can time out. Find the pods that stall (leadsman query stalls) and the pods that write (leadsman query "
        "disk_growth).",
    ),
}


def step(
    settings: Settings, state: Nothing, rows: Sequence[NodeStall], _now: Now
) -> tuple[Nothing, Sequence[Change]]:
    return state, [
        change
        for row in rows
        for change in (
            _of("memory", row, row.memory_full_percent, row.memory_some_percent, settings.memory_full_percent),
            _of("io", row, row.io_full_percent, row.io_some_percent, settings.io_full_percent),
        )
    ]


def _of(
    resource: Literal["memory", "io"], row: NodeStall, full: float | None, partial: float | None, least: float
) -> Change:
    labels = {"resource": resource}
    if full is None or full < least:
        return Ends(labels)
    what, advice = _WORDS[resource]
    others = "" if partial is None else f" (some of it: {partial:.0f} %)"
    return Holds(labels, f"Node {name(row.node)}: {stalled(what, percent(full))}{others}", advice)


ALERT: Final = AlertDefinition(
    name="NodeStalls",
    settings=Settings,
    needs=(Need("samples", "only statistics with PSI (1.34 and later) show it: it cannot fire"),),
    node_rows=(NodeStall,),
    step=step,
)
