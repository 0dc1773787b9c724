"""The API server serves a resource at one of several paths."""

from ingest.resources.node_resource_topologies import NODE_RESOURCE_TOPOLOGIES
from ingest.resources.pods import PODS


def test_a_resource_is_served_under_its_own_plural_in_all_namespaces_or_in_one() -> None:
    assert PODS.served_at("") == ["/api/v1/pods"]
    assert PODS.served_at("team-a") == ["/api/v1/namespaces/team-a/pods"]
    assert NODE_RESOURCE_TOPOLOGIES.served_at("")[-1] == "/apis/nodeinfo.volcano.sh/v1alpha1/numatopologies"
