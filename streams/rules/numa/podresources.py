"""Reads CPUs and devices from the kubelet's podresources service (rules: podresources, numa-sources)."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from common.errors import BadRecord
from ingest.model.podresources import AllocatableResources, DeviceResources, PodResources
from streams.rules.numa.sources import PODRESOURCES, Amount, Holder, NumaView, NumaZone
from streams.rules.values.version import is_at_least

EXCLUSIVE_SINCE: Final = 23
"""Kubernetes 1.23; before, `cpu_ids` of a container without exclusive CPUs are the shared pool."""
_MOST_CPUS: Final = 65_536
_MOST_NUMA_NODES: Final = 4096


def podresources_view(pods: Sequence[PodResources], allocatable: AllocatableResources | None) -> NumaView:
    """Return the resources of containers, and the devices of each NUMA node if the kubelet reports its allocatable.

    The service names no uids. Its holders are incomplete: only the checkpoint has what a finished init container
    keeps from the shared pool (rules: cpu-checkpoint). A device that is on no NUMA node, or on several, is in no
    zone. Raises BadRecord.
    """
    containers = [(pod, container) for pod in pods for container in pod.containers]
    holders = (
        Holder(pod.namespace, pod.name, "", each.name, _ids(each.cpu_ids, _MOST_CPUS, "CPU"))
        for pod, each in containers
    )
    taken = [device for _, container in containers for device in container.devices]
    return NumaView(
        PODRESOURCES,
        "exact",
        "kubelet",
        holders=tuple(sorted(holder for holder in holders if holder.cpus)),
        zones=_zones(allocatable.devices, taken) if allocatable else (),
        cpu_manager_policy=_policy(allocatable),
    )


def allocatable_cpus(allocatable: AllocatableResources | None) -> frozenset[int]:
    """Return the CPUs that are not reserved; empty if the kubelet does not report them. Raises BadRecord."""
    return _ids(allocatable.cpu_ids, _MOST_CPUS, "CPU") if allocatable else frozenset()


def names_exclusive_cpus(kubelet_version: str) -> bool:
    """Tell whether this kubelet's `cpu_ids` are exclusive ones; an unknown version counts as a new one."""
    return is_at_least(kubelet_version, EXCLUSIVE_SINCE)


def _policy(allocatable: AllocatableResources | None) -> str:
    """The policy `none` gives no CPU: pkg/kubelet/cm/cpumanager/policy_none.go."""
    if allocatable is None:
        return ""
    return "static" if allocatable.cpu_ids else "none"


def _zones(devices: Iterable[DeviceResources], taken: Iterable[DeviceResources]) -> tuple[NumaZone, ...]:
    assigned = {(each.resource_name, device) for each in taken for device in each.device_ids}
    total: Counter[tuple[int, str]] = Counter()
    free: Counter[tuple[int, str]] = Counter()
    for each in devices:
        numa_nodes = _ids(each.numa_nodes, _MOST_NUMA_NODES, "NUMA node")
        if len(numa_nodes) == 1:
            place = (min(numa_nodes), each.resource_name)
            total[place] += len(each.device_ids)
            free[place] += sum((each.resource_name, device) not in assigned for device in each.device_ids)
    amounts: defaultdict[int, dict[str, Amount]] = defaultdict(dict)
    for (numa, name), count in total.items():
        amounts[numa][name] = Amount(count, count, free[numa, name])
    return tuple(NumaZone(numa, resources=resources) for numa, resources in sorted(amounts.items()))


def _ids(ids: Iterable[int], most: int, what: str) -> frozenset[int]:
    for each in ids:
        if not 0 <= each < most:
            raise BadRecord("bad_numa_source", f"podresources: {each} is not the id of a {what}")
    return frozenset(ids)
