"""A `/stats/summary` by the names of its tables' columns: the node's figures, and its pods' by column."""

from typing import Final

import msgspec

from ingest.model.numbers import Count


class NodeSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The node's figures in `/stats/summary`; None where it has none. The names are the columns'."""

    cpu_usage_nanocores: Count | None = None
    cpu_usage_core_nanoseconds: Count | None = None
    memory_available_bytes: Count | None = None
    memory_usage_bytes: Count | None = None
    memory_working_set_bytes: Count | None = None
    memory_rss_bytes: Count | None = None
    memory_page_faults: Count | None = None
    memory_major_page_faults: Count | None = None
    pods_memory_available_bytes: Count | None = None
    """Available memory of the system container `pods`: the allocatable view (rules: eviction-signals)."""
    pods_memory_working_set_bytes: Count | None = None
    nodefs_available_bytes: Count | None = None
    nodefs_capacity_bytes: Count | None = None
    nodefs_used_bytes: Count | None = None
    nodefs_inodes_free: Count | None = None
    nodefs_inodes: Count | None = None
    nodefs_inodes_used: Count | None = None
    imagefs_available_bytes: Count | None = None
    imagefs_capacity_bytes: Count | None = None
    imagefs_used_bytes: Count | None = None
    imagefs_inodes_free: Count | None = None
    imagefs_inodes: Count | None = None
    imagefs_inodes_used: Count | None = None
    containerfs_available_bytes: Count | None = None
    containerfs_capacity_bytes: Count | None = None
    containerfs_used_bytes: Count | None = None
    containerfs_inodes_free: Count | None = None
    containerfs_inodes: Count | None = None
    containerfs_inodes_used: Count | None = None
    pids_max: Count | None = None
    pids_current: Count | None = None
    swap_available_bytes: Count | None = None
    swap_usage_bytes: Count | None = None
    cpu_psi_some_total_nanoseconds: Count | None = None
    cpu_psi_some_avg10_percent: float | None = None
    cpu_psi_full_total_nanoseconds: Count | None = None
    cpu_psi_full_avg10_percent: float | None = None
    memory_psi_some_total_nanoseconds: Count | None = None
    memory_psi_some_avg10_percent: float | None = None
    memory_psi_full_total_nanoseconds: Count | None = None
    memory_psi_full_avg10_percent: float | None = None
    io_psi_some_total_nanoseconds: Count | None = None
    io_psi_some_avg10_percent: float | None = None
    io_psi_full_total_nanoseconds: Count | None = None
    io_psi_full_avg10_percent: float | None = None


class PodColumns(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The pods of one sample by column: index i of every list is one pod. The names are the columns'.

    `ephemeral_*`, `rootfs_*`, `logs_*` and `volumes_*` are bytes or inodes as the eviction manager adds them up
    (rules: eviction-order). Which volumes it adds up depends on the pod's spec: `volumes_*` are the sums that the
    summary allows, and `volumes` has each of them as `name:bytes:inodes`, separated by commas.
    """

    namespace: list[str]
    pod: list[str]
    uid: list[str]
    cpu_usage_nanocores: list[Count | None]
    cpu_usage_core_nanoseconds: list[Count | None]
    memory_usage_bytes: list[Count | None]
    memory_working_set_bytes: list[Count | None]
    memory_rss_bytes: list[Count | None]
    memory_page_faults: list[Count | None]
    memory_major_page_faults: list[Count | None]
    ephemeral_used_bytes: list[Count | None]
    inodes_used: list[Count | None]
    rootfs_used_bytes: list[Count]
    rootfs_inodes_used: list[Count]
    logs_used_bytes: list[Count]
    logs_inodes_used: list[Count]
    volumes_used_bytes: list[Count]
    volumes_inodes_used: list[Count]
    processes: list[Count | None]
    swap_usage_bytes: list[Count | None]
    cpu_psi_some_total_nanoseconds: list[Count | None]
    cpu_psi_some_avg10_percent: list[float | None]
    cpu_psi_full_total_nanoseconds: list[Count | None]
    cpu_psi_full_avg10_percent: list[float | None]
    memory_psi_some_total_nanoseconds: list[Count | None]
    memory_psi_some_avg10_percent: list[float | None]
    memory_psi_full_total_nanoseconds: list[Count | None]
    memory_psi_full_avg10_percent: list[float | None]
    io_psi_some_total_nanoseconds: list[Count | None]
    io_psi_some_avg10_percent: list[float | None]
    io_psi_full_total_nanoseconds: list[Count | None]
    io_psi_full_avg10_percent: list[float | None]
    volumes: list[str] = []

    def __post_init__(self) -> None:
        check_columns(self)


class PodUsages(msgspec.Struct, frozen=True, gc=False):
    """The pods' names and uses in a sample that decide the eviction order (rules: eviction-order)."""

    namespace: list[str]
    pod: list[str]
    uid: list[str]
    memory_working_set_bytes: list[Count | None]
    rootfs_used_bytes: list[Count]
    rootfs_inodes_used: list[Count]
    logs_used_bytes: list[Count]
    logs_inodes_used: list[Count]
    volumes_used_bytes: list[Count]
    volumes_inodes_used: list[Count]
    processes: list[Count | None]
    volumes: list[str] = []

    def __post_init__(self) -> None:
        check_columns(self)


def check_columns(pods: PodColumns | PodUsages) -> None:
    """Raises ValueError where columns are not of one length; an older version has no `volumes`."""
    lengths = {len(getattr(pods, name)) for name in pods.__struct_fields__[:-1]}
    if len(lengths) > 1 or len(pods.volumes) not in {0, *lengths}:
        raise ValueError("columns of pods are not of one length")


USAGES: Final = PodUsages.__struct_fields__[3:-1]
"""The columns of numbers among them."""
