"""Parts of records about one machine: CPUs, memory, disks, NUMA nodes, cgroups, lines of a kubelet's log."""

from datetime import datetime

import msgspec

from ingest.model.numbers import Count, Int64


class Cpu(msgspec.Struct, frozen=True, gc=False):
    cpu: Int64
    core: Int64
    socket: Int64
    numa: Int64


class NumaNodeUsage(msgspec.Struct, frozen=True, gc=False):
    numa_node: Int64
    memory_total_bytes: Count
    memory_free_bytes: Count
    hugepages_total_bytes: Count = 0
    hugepages_free_bytes: Count = 0
    cpu_busy_ratio: float | None = None
    """Share of busy time since the previous sample."""


class MachineMemory(msgspec.Struct, frozen=True, gc=False):
    """Amounts of /proc/meminfo."""

    total_bytes: Count
    free_bytes: Count
    available_bytes: Count
    buffers_bytes: Count
    cached_bytes: Count
    swap_cached_bytes: Count
    anonymous_bytes: Count
    active_file_bytes: Count
    inactive_file_bytes: Count
    reclaimable_slab_bytes: Count


class FileSystem(msgspec.Struct, frozen=True, gc=False):
    """A file system of the machine that no eviction signal is about."""

    mount_point: str
    device: str
    """Major and minor number."""
    kind: str
    capacity_bytes: Count
    available_bytes: Count
    used_bytes: Count
    inodes: Count | None = None
    """None if it has no limit of inodes."""
    inodes_free: Count | None = None
    images_known: bool = False
    """True if the file systems of images and writable layers were known, and this is neither of them."""


class NumaPodMemory(msgspec.Struct, frozen=True):
    uid: str
    numa_bytes: dict[Int64, Count]
    """Anonymous memory and page cache, by NUMA node."""


class CgroupThrottling(msgspec.Struct, frozen=True, gc=False):
    """Counters since the cgroup was made."""

    container: str
    """The container's id; empty for the pod's own cgroup."""
    periods: Count
    """Periods in which its quota was enforced, whether it was used up or not."""
    throttled_periods: Count
    throttled_nanoseconds: Count = 0


class PodThrottling(msgspec.Struct, frozen=True):
    uid: str
    cgroups: list[CgroupThrottling]


class KubeletLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of a kubelet's log (rules: kubelet-log)."""

    said: str
    """The kind of its text: one of `ingest.resources.kubelet_log.SAID`."""
    pod: str = ""
    """`namespace/name`."""
    uid: str = ""
    resource: str = ""
    pods: tuple[str, ...] = ()
    """Pods in the order in which they would be evicted."""
    image: str = ""
    amount_bytes: Count | None = None
    """Bytes to free, or the size of the image."""
    message: str = ""
    earliest: datetime | None = None
    """Bounds of its time, if the exact time is unknown."""
    latest: datetime | None = None


class CgroupValues(msgspec.Struct, frozen=True, gc=False):
    """Values of the cgroup of a pod or container; None is unknown, and -1 unlimited."""

    uid: str
    container: str
    """The container's id; empty for the pod's own cgroup."""
    path: str
    cpu_shares: Int64 | None = None
    cpu_weight: Int64 | None = None
    cpu_quota_microseconds: Int64 | None = None
    cpu_period_microseconds: Int64 | None = None
    memory_limit_bytes: Int64 | None = None


class NumaBin(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """CPUs of a NUMA node for exclusive use: whole physical cores, and loose threads of cores partly reserved."""

    numa_node: Int64
    whole_cores: Int64
    loose_cpus: Int64
    threads_per_core: Int64

    @property
    def cpus(self) -> int:
        return self.whole_cores * self.threads_per_core + self.loose_cpus


class NumaClaim(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The exclusive CPUs of a pod's containers, when it arrived, and the pod group that it belongs to."""

    arrived_at: datetime
    uid: str
    cpus: tuple[Int64, ...]
    """CPUs of each of its containers that is placed separately."""
    group: str = ""


class Metric(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One of a kubelet's metrics."""

    name: str
    labels: dict[str, str]
    value: float
