"""Requests of a container in a pod's spec, as the API server completes them (rules: qos-class, pod-requests)."""

from collections.abc import Iterator

from ingest.model.objects.base import ResourceList, Resources
from ingest.model.objects.pod import Container, Pod


def is_sidecar(init_container: Container) -> bool:
    """Tell whether an init container keeps running with the pod's containers."""
    return init_container.restart_policy == "Always"


def all_containers(pod: Pod) -> Iterator[Container]:
    """Yield the init containers (sidecars among them), then the containers."""
    yield from pod.spec.init_containers or ()
    yield from pod.spec.containers


def declared_requests(resources: Resources | None) -> ResourceList:
    """Return the requests, each missing one taken from its limit: the API server's defaulting, for raw manifests."""
    return declared_limits(resources) | ((resources and resources.requests) or {})


def declared_limits(resources: Resources | None) -> ResourceList:
    return (resources and resources.limits) or {}
