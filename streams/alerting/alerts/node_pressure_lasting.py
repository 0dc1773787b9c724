"""NodePressureLasting: a pressure condition stays true, independent of its threshold."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Now, each_row
from streams.alerting.rule_settings import RuleSettings
from streams.alerting.words import EVICTION_ADVICE, name, timestamp
from streams.fold.findings import PressureChange
from streams.rules.eviction.shortage import WHILE_UNDER_PRESSURE

_RESOURCES: Final = {
    "MemoryPressure": ("memory", "memory"),
    "DiskPressure": ("disk space or inodes", "ephemeral-storage"),
    "PIDPressure": ("process IDs", "pids"),
}
"""The scarce resource in words, and the resource whose advice applies."""


def changes(settings: RuleSettings, row: PressureChange, now: Now) -> Iterator[Change]:
    labels = {"condition": row.condition}
    if not row.status:
        yield Ends(labels)
    elif row.condition in _RESOURCES:
        short, resource = _RESOURCES[row.condition]
        yield Holds(
            labels,
            f"Node {name(row.node)}: {row.condition} since {timestamp(row.ts)}",
            f"The node is short of {short} and does not recover by itself. {WHILE_UNDER_PRESSURE} "
            f"{EVICTION_ADVICE[resource]}. See what is left: leadsman query next_eviction.",
            at_once=now.at - row.ts >= timedelta(seconds=settings.for_seconds),
        )


ALERT: Final = AlertDefinition(
    name="NodePressureLasting",
    settings=RuleSettings,
    needs=(Need("nodes", "no condition is known: it cannot fire"),),
    node_rows=(PressureChange,),
    step=each_row(changes),
)
