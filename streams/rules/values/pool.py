"""The node pool that a node was made by (rules: node-pool)."""

from collections.abc import Mapping
from typing import Final

_NAMES: Final = (
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "kops.k8s.io/instancegroup",
)
_CONTROL_PLANE: Final = frozenset({"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})


def pool(labels: Mapping[str, str] | None) -> str:
    """Its name; `control-plane` of such a node without one, else the empty text."""
    named = next((name for label in _NAMES if (name := (labels or {}).get(label))), "")
    return named or ("control-plane" if is_control_plane(labels) else "")


def is_control_plane(labels: Mapping[str, str] | None) -> bool:
    """Decide by its role, independent of the label's value."""
    return labels is not None and not _CONTROL_PLANE.isdisjoint(labels)
