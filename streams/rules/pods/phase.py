"""Which pods still count: as `kubectl describe node` does, one that Succeeded or Failed does not."""

from typing import Final

from ingest.model.records import PodRecord

FINISHED: Final = frozenset({"Succeeded", "Failed"})
"""Phases that a pod never leaves: its containers have ended."""


def has_ended(record: PodRecord) -> bool:
    """Whether the pod was deleted, or is finished: it no longer holds anything."""
    return record.change == "DELETED" or record.object.status.phase in FINISHED
