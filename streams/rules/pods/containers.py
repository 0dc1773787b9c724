"""Containers of a pod and their requests, as the API server completes them (rules: qos-class, pod-requests)."""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Final, TypeVar

import msgspec

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


_KEPT_ANSWERS: Final = 4096
_encode: Final = msgspec.json.Encoder().encode
Answer = TypeVar("Answer")


def alike(function: Callable[[Pod], Answer]) -> Callable[[Pod], Answer]:
    """Keep the answers for pods that are alike: those of one workload, and a pod whose status goes on changing."""
    known: dict[bytes, Answer] = {}

    @wraps(function)
    def answer(pod: Pod) -> Answer:
        asked = _what_is_asked(pod)
        try:
            return known[asked]
        except KeyError:
            if len(known) >= _KEPT_ANSWERS:
                known.clear()
        found = known[asked] = function(pod)
        return found

    return answer


def _of_the_last(function: Callable[[Pod], bytes]) -> Callable[[Pod], bytes]:
    last: tuple[Pod | None, bytes] = (None, b"")

    def of(pod: Pod) -> bytes:
        nonlocal last
        if last[0] is not pod:
            last = (pod, function(pod))
        return last[1]

    return of


@_of_the_last
def _what_is_asked(pod: Pod) -> bytes:
    """All of a pod that rules about its requests and limits read: where it is equal, their answers are."""
    spec, status = pod.spec, pod.status
    statuses = (*(status.init_container_statuses or ()), *(status.container_statuses or ()))
    resizes = [each.reason for each in status.conditions or () if each.type == "PodResizePending"]
    return _encode(
        (
            spec.containers,
            spec.init_containers,
            spec.overhead,
            spec.resources,
            status.qos_class,
            status.resources,
            status.allocated_resources,
            [(each.name, each.allocated_resources, each.resources) for each in statuses],
            resizes,
            status.resize,
        )
    )
