"""What is watched, and what is peculiar about each (domain-reference A4, A6, F4)."""

from typing import Final, NamedTuple


class Resource(NamedTuple):
    name: str
    """As in a capture."""
    paths: tuple[str, ...]
    """Where the API server has it; the first path that is there is taken."""
    deletion_is_news: bool = True
    """The DELETED of an Event is its time to live."""
    optional: bool = False
    """A custom resource that a cluster need not have."""


NODES: Final = Resource("nodes", ("/api/v1/nodes",))
PODS: Final = Resource("pods", ("/api/v1/pods",))
EVENTS: Final = Resource("events", ("/api/v1/events",), deletion_is_news=False)
NODE_RESOURCE_TOPOLOGIES: Final = Resource(
    "noderesourcetopologies",
    (
        "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies",
        "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies",
        "/apis/topology.crane.io/v1alpha1/noderesourcetopologies",
    ),
    optional=True,
)
RESOURCES: Final = (NODES, PODS, EVENTS, NODE_RESOURCE_TOPOLOGIES)
