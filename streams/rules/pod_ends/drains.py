"""Who drains a node, by the taint that it puts on it first."""

from collections.abc import Iterable
from typing import Final

DRAINERS: Final = {
    "karpenter.sh/disrupted": "karpenter",
    "karpenter.sh/disruption": "karpenter",
    "ToBeDeletedByClusterAutoscaler": "cluster-autoscaler",
}
"""By the key of the taint."""


def drainer(taints: Iterable[str]) -> str:
    """By taints as `key`, or `key=value:effect`; empty where nobody drains the node."""
    return next((DRAINERS[key] for taint in taints if (key := taint.partition("=")[0]) in DRAINERS), "")
