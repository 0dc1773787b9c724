"""Decides which pods still count. Like `kubectl describe node`, a pod that Succeeded or Failed does not."""

from typing import Final

from ingest.model.records import PodRecord

FINISHED: Final = frozenset({"Succeeded", "Failed"})
"""Phases that a pod never leaves: its containers have ended."""


def has_ended(record: PodRecord) -> bool:
    """Tell whether the pod was deleted or is finished, and holds nothing."""
    return record.change == "DELETED" or record.object.status.phase in FINISHED
