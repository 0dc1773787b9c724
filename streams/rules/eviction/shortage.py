"""Words for a node's scarce resource, shared by the story, cards and alerts."""

from typing import Final

_SHORT_OF: Final = {"ephemeral-storage": "ephemeral storage", "pids": "process IDs", "": "an unknown resource"}
PRESSURES: Final = {
    "MemoryPressure": "memory pressure",
    "DiskPressure": "disk pressure",
    "PIDPressure": "PID pressure",
}
"""The text after "under", by condition."""
FAMILIES: Final = {
    "memory": "memory",
    "ephemeral-storage": "disk",
    "inodes": "disk",
    "pids": "pids",
    "MemoryPressure": "memory",
    "DiskPressure": "disk",
    "PIDPressure": "pids",
}
"""Kinds of shortage by resource and condition: disks run out of bytes and of inodes."""
UNKNOWN_CAUSE: Final = "unknown"
"""Cause of an eviction that only the word Evicted or a log line without a reason shows."""
WHY_UNKNOWN: Final = "reason unknown"
"""Text after an eviction for this cause."""
NO_NEW_PODS: Final = "no new pods are placed there"
"""Consequence of a node that is cordoned or not Ready."""
WHILE_UNDER_PRESSURE: Final = "New pods may be refused, and pods can be evicted."


def evicted_for(about: str) -> str:
    """Return why pods were evicted, by the resource that was low, or UNKNOWN_CAUSE."""
    return WHY_UNKNOWN if about == UNKNOWN_CAUSE else f"low on {short_of(about)}"


def short_of(resource: str) -> str:
    """Return the text after "low on" for a resource; an unknown one stays unchanged."""
    return _SHORT_OF.get(resource, resource)
