"""Finds the program that drains a node, by the taint that it puts on it first."""

from collections.abc import Iterable
from typing import Final

DRAINERS: Final = {
    "karpenter.sh/disrupted": "karpenter",
    "karpenter.sh/disruption": "karpenter",
    "ToBeDeletedByClusterAutoscaler": "cluster-autoscaler",
}
"""Programs by the key of their taint."""


def drainer(taints: Iterable[str]) -> str:
    """Return the drainer by taints as `key`, or `key=value:effect`; empty if the node is not drained."""
    return next((DRAINERS[key] for taint in taints if (key := taint.partition("=")[0]) in DRAINERS), "")
