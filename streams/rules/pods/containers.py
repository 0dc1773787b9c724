"""Containers of a pod and their requests, as the API server completes them, and the volumes that the eviction manager
counts as its use of the node's disk (rules: eviction-order, pod-requests, qos-class).
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache, wraps
from typing import Final, NamedTuple, TypeVar

import msgspec

from ingest.model.objects.base import ResourceList, Resources
from ingest.model.objects.pod import Container, Pod
from streams.rules.values.quantity import base_units


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


def memoize(function: Callable[[Pod], Answer]) -> Callable[[Pod], Answer]:
    """Cache answers by the fields that these rules read: pods of one workload and versions of a pod share them."""
    known: dict[bytes, Answer] = {}

    @wraps(function)
    def answer(pod: Pod) -> Answer:
        key = _read_fields(pod)
        try:
            return known[key]
        except KeyError:
            if len(known) >= _KEPT_ANSWERS:
                known.clear()
        found = known[key] = function(pod)
        return found

    return answer


def _keep_last(function: Callable[[Pod], bytes]) -> Callable[[Pod], bytes]:
    last: tuple[Pod | None, bytes] = (None, b"")

    def of(pod: Pod) -> bytes:
        nonlocal last
        if last[0] is not pod:
            last = (pod, function(pod))
        return last[1]

    return of


@_keep_last
def _read_fields(pod: Pod) -> bytes:
    """Encode the fields of a pod that rules about requests and limits read."""
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


_VOLUME: Final = re.compile(r"([^,:]+):(\d{1,19}):(\d{1,19})(?:,|$)", re.ASCII)


class VolumeUse(NamedTuple):
    used_bytes: int
    inodes: int


def local_volumes(pod: Pod) -> tuple[str, ...]:
    """Return the names of its hostPath and local ephemeral volumes, without memory-backed emptyDirs.

    Kubernetes: pkg/kubelet/eviction/helpers.go localVolumeNames, pkg/volume/util IsLocalEphemeralVolume.
    """
    return tuple(
        volume.name
        for volume in pod.spec.volumes or ()
        if volume.host_path
        or volume.git_repo
        or volume.config_map
        or (volume.empty_dir and not volume.empty_dir.medium)
    )


def volume_limits(pod: Pod) -> dict[str, int]:
    """Return the `sizeLimit` in bytes of each emptyDir on disk that has one; over it, the pod is evicted."""
    return {
        volume.name: base_units(volume.empty_dir.size_limit)
        for volume in pod.spec.volumes or ()
        if volume.empty_dir and not volume.empty_dir.medium and volume.empty_dir.size_limit is not None
    }


@lru_cache(maxsize=65_536)
def used_by(names: tuple[str, ...], volumes: str) -> VolumeUse:
    """Return the use of a sample's volumes (`PodColumns.volumes`) with these names; most are unchanged."""
    used = _VOLUME.findall(volumes)
    local = [(int(used_bytes), int(inodes)) for name, used_bytes, inodes in used if name in names]
    return VolumeUse(sum(each[0] for each in local), sum(each[1] for each in local))
