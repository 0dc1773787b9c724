"""The node pool that a node was made by (rules: node-pool)."""

from ingest.model.objects.node import NodeLabels


def pool(labels: NodeLabels | None) -> str:
    """Its name; `control-plane` of such a node without one, else the empty text."""
    if labels is None:
        return ""
    named = (
        labels.karpenter_pool
        or labels.eks_group
        or labels.eksctl_group
        or labels.gke_pool
        or labels.aks_pool
        or labels.kops_group
    )
    control_plane = labels.control_plane is not None or labels.master is not None
    return named or ("control-plane" if control_plane else "")
