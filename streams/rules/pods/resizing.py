"""How the resize of a pod in place stands, by its conditions or by the field before them (rules: resizes)."""

from datetime import datetime
from typing import Final, NamedTuple

from ingest.model.objects.pod import Pod

_PENDING: Final = {"Deferred": "deferred", "Infeasible": "infeasible"}
"""States by the condition's reason."""
_FIELD: Final = {**_PENDING, "Proposed": "pending", "InProgress": "in_progress"}
"""States by `status.resize`, of kubelets 1.27 to 1.32 with their alpha gate."""


class Resizing(NamedTuple):
    state: str
    message: str = ""
    since: datetime | None = None
    """None where nothing has it."""


def resizing(pod: Pod) -> Resizing | None:
    """Return what the kubelet reports of a resize that is not done; None where it reports nothing."""
    conditions = {each.type: each for each in pod.status.conditions or () if each.status == "True"}
    if pending := conditions.get("PodResizePending"):
        return Resizing(_PENDING.get(pending.reason, "pending"), pending.message, pending.last_transition_time)
    if going := conditions.get("PodResizeInProgress"):
        return Resizing("in_progress", going.message, going.last_transition_time)
    field = _FIELD.get(pod.status.resize)
    return Resizing(field) if field else None


def is_infeasible(pod: Pod) -> bool:
    """Tell whether the scheduler counts requests without the resize, because it is infeasible."""
    pending = [each.reason for each in pod.status.conditions or () if each.type == "PodResizePending"]
    return (pending[0] if pending else pod.status.resize) == "Infeasible"
