"""A node's zone and pool, by its labels (rules: zone-key, node-pool)."""

from collections.abc import Mapping
from typing import Final

REGION: Final = "topology.kubernetes.io/region"
ZONE: Final = "topology.kubernetes.io/zone"
_BETA_REGION: Final = "failure-domain.beta.kubernetes.io/region"
_BETWEEN: Final = ":\0:"
_BETA_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"


def zone_key(labels: Mapping[str, str] | None) -> str:
    """Return region + ":\0:" + zone, or empty without either; a beta label wins over the stable, even when empty."""
    labels = labels or {}
    zone = labels.get(_BETA_ZONE, labels.get(ZONE, ""))
    region = labels.get(_BETA_REGION, labels.get(REGION, ""))
    return f"{region}{_BETWEEN}{zone}" if region or zone else ""


def zone_of(key: str) -> str:
    """Return the zone of a zone key, or its region where it has no zone."""
    region, _, zone = key.partition(_BETWEEN)
    return zone or region


_POOL_LABELS: Final = (
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
    "alpha.eksctl.io/nodegroup-name",
    "cloud.google.com/gke-nodepool",
    "kubernetes.azure.com/agentpool",
    "kops.k8s.io/instancegroup",
)
"""The first of these labels that a node has names its pool."""
_CONTROL_PLANE: Final = frozenset({"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})


def pool(labels: Mapping[str, str] | None) -> str:
    """Return a node's pool. Without a label it is `control-plane` for such a node, else the empty text."""
    named = next((name for label in _POOL_LABELS if (name := (labels or {}).get(label))), "")
    return named or ("control-plane" if is_control_plane(labels) else "")


def is_control_plane(labels: Mapping[str, str] | None) -> bool:
    """Decide by its role, independent of the label's value."""
    return labels is not None and not _CONTROL_PLANE.isdisjoint(labels)
