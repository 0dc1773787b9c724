"""Parses the kubelet's texts about a node and about admission (rules: admission-failures, eviction-messages), and
what all texts share.

The texts come from a cluster and may be anything: nothing here raises, and what is not one of the known texts is
None, never a guess. Texts of eviction and of image GC are in `streams.rules.eviction.messages` and
`streams.rules.image_gc.messages`.
"""

import re
from typing import Final, Literal, NamedTuple, TypeAlias

from ingest.messages.reasons import COMBINED
from streams.rules.values.quantity import INT64_MAX

LONGEST_MESSAGE: Final = 16 * 1024
"""Characters; no known text is nearly as long, except lists of errors, of which only the beginning is read."""


def message_body(message: str) -> str:
    """Return the text without the prefix of combined events and surrounding space, cut at `LONGEST_MESSAGE`."""
    return message[: LONGEST_MESSAGE + len(COMBINED)].removeprefix(COMBINED)[:LONGEST_MESSAGE].strip()


def whole_number(digits: str) -> int | None:
    """Return a number of a message; None beyond 64 bits."""
    number = int(digits)
    return number if number <= INT64_MAX else None


NodeCondition: TypeAlias = Literal["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"]


class ConditionChange(NamedTuple):
    condition: NodeCondition
    status: bool


_EVENT_REASONS: Final = {
    "NodeHasInsufficientMemory": ConditionChange("MemoryPressure", status=True),
    "NodeHasSufficientMemory": ConditionChange("MemoryPressure", status=False),
    "NodeHasDiskPressure": ConditionChange("DiskPressure", status=True),
    "NodeHasNoDiskPressure": ConditionChange("DiskPressure", status=False),
    "NodeHasInsufficientPID": ConditionChange("PIDPressure", status=True),
    "NodeHasSufficientPID": ConditionChange("PIDPressure", status=False),
    "NodeReady": ConditionChange("Ready", status=True),
    "NodeNotReady": ConditionChange("Ready", status=False),
}
PRESSURES: Final = {
    reason: change.condition
    for reason, change in _EVENT_REASONS.items()
    if change.status and change.condition != "Ready"
}
"""The pressure that begins with an Event, by its reason."""

_STATUS_IS_NOW: Final = re.compile(r"Node (\S{1,253}) status is now: ([A-Za-z]{1,64})")


def parse_node_status(reason: str, message: str) -> ConditionChange | None:
    """Parse a node event such as NodeHasDiskPressure; None for others and where reason and message disagree."""
    match = _STATUS_IS_NOW.fullmatch(message_body(message))
    return None if match is None or match[2] != reason else _EVENT_REASONS.get(reason)
