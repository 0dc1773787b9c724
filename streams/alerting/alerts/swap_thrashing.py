"""SwapThrashing: a node swaps, and reads pages back faster than it can work (rules: psi-and-swap)."""

from collections.abc import Iterator
from typing import Final

from common.amounts import size
from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Now, each_row
from streams.alerting.rule_settings import Count, Percent, RuleSettings
from streams.alerting.words import name
from streams.fold.findings import NodeStall


class Settings(RuleSettings):
    faults_per_second: Count
    memory_some_percent: Percent


_LEAST_BYTES: Final = 4096
"""Bytes in swap for each page read a second. With less, the pages belong to files, or are read back within a
second.
"""


def changes(settings: Settings, row: NodeStall, _now: Now) -> Iterator[Change]:
    faults, partial_percent = row.major_faults_per_second, row.memory_some_percent or 0.0
    # a slow disk reads few pages a second, however long tasks wait for them
    least = 1.0 if partial_percent >= settings.memory_some_percent else settings.faults_per_second
    if not row.swap_usage_bytes or faults is None or faults < least or row.swap_usage_bytes < faults * _LEAST_BYTES:
        yield Ends({})
        return
    swapped = size(row.swap_usage_bytes)
    waits = f", some work waits for memory {partial_percent:.0f} % of the time" if partial_percent >= 1 else ""
    left = "" if row.swap_available_bytes is None else f", {size(row.swap_available_bytes)} of swap is free"
    yield Holds(
        {},
        f"Node {name(row.node)}: {swapped} swapped, {faults:.0f} pages a second read back{waits}{left}",
        "Eviction ignores swap: available memory (memory.available) stays high while pods wait for the disk, and "
        "once swap is full, memory falls at once. Find the pods that swap (leadsman query stalls), and "
        "give them a memory limit or move one.",
    )


ALERT: Final = AlertDefinition(
    name="SwapThrashing",
    settings=Settings,
    needs=(Need("samples", "only statistics show swap and page faults: it cannot fire"),),
    node_rows=(NodeStall,),
    step=each_row(changes),
)
