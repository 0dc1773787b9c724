"""The node pool (rules: node-pool)."""

import pytest

from streams.rules.values.labels import pool

CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        ({}, ""),
        ({"karpenter.sh/nodepool": "spot", "eks.amazonaws.com/nodegroup": "base"}, "spot"),
        ({"eks.amazonaws.com/nodegroup": "base", "alpha.eksctl.io/nodegroup-name": "b"}, "base"),
        ({"alpha.eksctl.io/nodegroup-name": "b"}, "b"),
        ({"cloud.google.com/gke-nodepool": "default-pool"}, "default-pool"),
        ({"kubernetes.azure.com/agentpool": "agents"}, "agents"),
        ({"kops.k8s.io/instancegroup": "nodes-a", CONTROL_PLANE: ""}, "nodes-a"),
        ({CONTROL_PLANE: ""}, "control-plane"),
        ({"node-role.kubernetes.io/master": ""}, "control-plane"),
    ],
)
def test_the_first_label_that_names_a_pool_counts(labels: dict[str, str], name: str) -> None:
    assert pool(labels) == name


def test_a_node_without_labels_has_no_pool() -> None:
    assert pool(None) == ""
