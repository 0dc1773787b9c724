"""Why a pod does not fit a node, in the scheduler's own words (rules: scheduler-fit)."""

from collections.abc import Mapping
from typing import Final

NATIVE: Final = ("cpu", "memory", "ephemeral-storage")
_GUARDED_SINCE_MINOR: Final = 28
"""From Kubernetes 1.28 on, only a resource that the pod asks for can be insufficient."""


def fit_reasons(
    pod_requests: Mapping[str, int],
    allocatable: Mapping[str, int],
    requested: Mapping[str, int],
    pods: int,
    allocatable_pods: int,
    minor_version: int,
) -> list[str]:
    """Return the reasons against one more pod on a node that has `pods` of them; the empty list where it fits.

    `requested` is the sum of their effective requests (rules: pod-requests). Amounts are in base units, cpu in
    millicores. `minor_version` is that of who judges, scheduler or kubelet: 28 for Kubernetes 1.28. Resources other
    than cpu, memory and ephemeral-storage come last and by name, for the scheduler has no order for them.
    """
    reasons = ["Too many pods"] if pods + 1 > allocatable_pods else []
    others = sorted(name for name in pod_requests if name not in {*NATIVE, "pods"})
    if not others and not any(pod_requests.get(name) for name in NATIVE):
        return reasons
    for name in (*NATIVE, *others):
        wanted = pod_requests.get(name, 0)
        free = allocatable.get(name, 0) - requested.get(name, 0)
        judged = wanted > 0 or minor_version < _GUARDED_SINCE_MINOR
        if judged and wanted > free:
            reasons.append(f"Insufficient {name}")
    return reasons
