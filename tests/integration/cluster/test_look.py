"""`leadsman look` of a real API server."""

import pytest

from components.cluster.kubernetes import Cluster
from components.command import leadsman

pytestmark = pytest.mark.components("cluster")


def test_a_node_that_is_not_ready_is_in_the_story(cluster: Cluster) -> None:
    name = "look-not-ready"
    cluster.request("POST", "/api/v1/nodes", {"metadata": {"name": name}})
    try:
        cluster.request(
            "PATCH",
            f"/api/v1/nodes/{name}/status",
            {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]}},
        )
        done = leadsman("look", f"--kubeconfig={cluster.kubeconfig()}", "--kubelet=off", "--for=10s")
    finally:
        cluster.request("DELETE", f"/api/v1/nodes/{name}")
    assert done.returncode == 0
    assert any(name in line and "not Ready" in line for line in done.stdout.splitlines()), done.stdout
