"""The volumes of a pod that the eviction manager counts as its use of the node's disk (rules: eviction-order)."""

import re
from functools import lru_cache
from typing import Final, NamedTuple

from ingest.model.objects.pod import Pod
from streams.rules.values.quantity import base_units

_VOLUME: Final = re.compile(r"([^,:]+):(\d{1,19}):(\d{1,19})(?:,|$)", re.ASCII)


class Used(NamedTuple):
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
    """The `sizeLimit` in bytes of each emptyDir on disk that has one; over it, the pod is evicted."""
    return {
        volume.name: base_units(volume.empty_dir.size_limit)
        for volume in pod.spec.volumes or ()
        if volume.empty_dir and not volume.empty_dir.medium and volume.empty_dir.size_limit is not None
    }


@lru_cache(maxsize=65_536)
def used_by(names: tuple[str, ...], volumes: str) -> Used:
    """Return the use of a sample's volumes (`PodColumns.volumes`) that have one of these names.

    Most volumes are unchanged since the sample before.
    """
    used = _VOLUME.findall(volumes)
    local = [(int(used_bytes), int(inodes)) for name, used_bytes, inodes in used if name in names]
    return Used(sum(each[0] for each in local), sum(each[1] for each in local))
