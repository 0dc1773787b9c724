"""Conditions of nodes beside the kubelet's own."""

import pytest

from ingest.model.objects.base import Condition
from streams.rules.kubelet.conditions import problems


@pytest.mark.parametrize(
    ("kind", "trouble"),
    [
        ("KernelDeadlock", "True"),
        ("ReadonlyFilesystem", "True"),
        ("NetworkUnavailable", "True"),
        ("VMEventScheduled", "True"),
        ("OutOfDisk", "True"),
        ("EtcdIsVoter", "False"),
        ("ContainerRuntimeReady", "False"),
        ("KubeletConfigOk", "False"),
    ],
)
def test_conditions_are_true_in_trouble_except_those_whose_names_say_otherwise(kind: str, trouble: str) -> None:
    """Conditions of node-problem-detector, route controllers, clouds, etcd of RKE2 and the agent of EKS."""
    for status in ("True", "False", "Unknown"):
        found = problems([Condition(type=kind, status=status, reason="R", message="m ")])
        assert [(each.type, each.words) for each in found] == ([(kind, "R: m")] if status == trouble else [])


@pytest.mark.parametrize("kind", ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"])
def test_the_kubelets_own_conditions_have_findings_of_their_own(kind: str) -> None:
    assert not problems([Condition(type=kind, status=status) for status in ("True", "False", "Unknown")])
