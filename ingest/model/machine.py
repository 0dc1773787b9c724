"""Parts of records about one machine: its CPUs, the use of its NUMA nodes, who holds them, throttling."""

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
    """Since the sample before."""


class NumaPodMemory(msgspec.Struct, frozen=True):
    uid: str
    numa_bytes: dict[Int64, Count]
    """Anonymous memory and page cache, by NUMA node."""


class CgroupThrottling(msgspec.Struct, frozen=True, gc=False):
    """Counters since the cgroup was made."""

    container: str
    """Its id; empty for the pod's own cgroup."""
    periods: Count
    """In which its quota was enforced, whether it was used up or not."""
    throttled_periods: Count
    throttled_nanoseconds: Count = 0


class PodThrottling(msgspec.Struct, frozen=True):
    uid: str
    cgroups: list[CgroupThrottling]


class NumaBin(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """CPUs of a NUMA node for exclusive use: whole physical cores, and loose threads of cores partly reserved."""

    numa_node: Int64
    whole_cores: Int64
    loose_cpus: Int64
    threads_per_core: Int64


class NumaClaim(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The exclusive CPUs of a pod's containers, when it arrived, and the pod group that it belongs to."""

    arrived_at: datetime
    uid: str
    cpus: tuple[Int64, ...]
    group: str = ""
