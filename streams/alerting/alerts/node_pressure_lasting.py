"""NodePressureLasting: a pressure condition stays true, independent of its threshold."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Nothing, Now
from streams.alerting.rule_settings import RuleSettings
from streams.alerting.words import EVICTION_ADVICE, name, timestamp
from streams.fold.findings import PressureChange

_RESOURCES: Final = {
    "MemoryPressure": ("memory", "memory"),
    "DiskPressure": ("disk space or inodes", "ephemeral-storage"),
    "PIDPressure": ("process ids", "pids"),
}
"""The scarce resource in words, and the resource whose advice applies."""


def step(
    settings: RuleSettings, state: Nothing, rows: Sequence[PressureChange], now: Now
) -> tuple[Nothing, Sequence[Change]]:
    return state, [_lasting(row, settings, now) for row in rows if row.condition in _RESOURCES]


def _lasting(row: PressureChange, settings: RuleSettings, now: Now) -> Change:
    labels = {"condition": row.condition}
    if not row.status:
        return Ends(labels)
    short, resource = _RESOURCES[row.condition]
    return Holds(
        labels,
        f"Node {name(row.node)}: {row.condition} since {timestamp(row.ts)}",
        f"The node is short of {short} and does not recover by itself. No new pods are placed on it, and pods can be "
        f"evicted. {EVICTION_ADVICE[resource]}. See the room: leadsman query next_eviction.",
        at_once=now.at - row.ts >= timedelta(seconds=settings.for_seconds),
    )


ALERT: Final = AlertDefinition(
    name="NodePressureLasting",
    settings=RuleSettings,
    needs=(Need("nodes", "no condition is known: it cannot fire"),),
    node_rows=(PressureChange,),
    step=step,
)
