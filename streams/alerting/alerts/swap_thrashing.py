"""SwapThrashing: a node swaps, and reads pages back faster than it can work."""

from collections.abc import Sequence
from typing import Final

from common.amounts import size
from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Nothing, Now
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import name
from streams.fold.findings import NodeStall


class Settings(RuleSettings):
    faults_per_second: Count


def step(
    settings: Settings, state: Nothing, rows: Sequence[NodeStall], _now: Now
) -> tuple[Nothing, Sequence[Change]]:
    return state, [_thrashing(row, settings) for row in rows]


def _thrashing(row: NodeStall, settings: Settings) -> Change:
    faults = row.major_faults_per_second
    if not row.swap_usage_bytes or faults is None or faults < settings.faults_per_second:
        return Ends({})
    swapped = size(row.swap_usage_bytes)
    left = "" if row.swap_available_bytes is None else f", {size(row.swap_available_bytes)} of swap is free"
    return Holds(
        {},
        f"Node {name(row.node)}: {swapped} are swapped, {faults:.0f} pages a second read back{left}",
        "Eviction does not look at swap: available memory (memory.available) stays high while pods wait for the "
        "disk, and once swap is full memory falls at once. Find the pods that swap (leadsman query pod_stalls), and "
        "give them a memory limit or move one.",
    )


ALERT: Final = AlertDefinition(
    name="SwapThrashing",
    settings=Settings,
    needs=(Need("samples", "only statistics show swap and page faults: it cannot fire"),),
    node_rows=(NodeStall,),
    step=step,
)
