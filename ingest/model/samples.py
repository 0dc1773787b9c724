"""A `/stats/summary` by the names of its tables' columns: the node's figures, and its pods' by column."""

from typing import Final

import msgspec


class NodeSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The node's figures in `/stats/summary`; None where it has none. The names are the columns'."""

    cpu_usage_nanocores: int | None = None
    cpu_usage_core_nanoseconds: int | None = None
    memory_available_bytes: int | None = None
    memory_usage_bytes: int | None = None
    memory_working_set_bytes: int | None = None
    memory_rss_bytes: int | None = None
    memory_page_faults: int | None = None
    memory_major_page_faults: int | None = None
    pods_memory_available_bytes: int | None = None
    """Of the system container `pods`: the allocatable view (rules: eviction-signals)."""
    pods_memory_working_set_bytes: int | None = None
    nodefs_available_bytes: int | None = None
    nodefs_capacity_bytes: int | None = None
    nodefs_used_bytes: int | None = None
    nodefs_inodes_free: int | None = None
    nodefs_inodes: int | None = None
    nodefs_inodes_used: int | None = None
    imagefs_available_bytes: int | None = None
    imagefs_capacity_bytes: int | None = None
    imagefs_used_bytes: int | None = None
    imagefs_inodes_free: int | None = None
    imagefs_inodes: int | None = None
    imagefs_inodes_used: int | None = None
    containerfs_available_bytes: int | None = None
    containerfs_capacity_bytes: int | None = None
    containerfs_used_bytes: int | None = None
    containerfs_inodes_free: int | None = None
    containerfs_inodes: int | None = None
    containerfs_inodes_used: int | None = None
    pids_max: int | None = None
    pids_current: int | None = None
    swap_available_bytes: int | None = None
    swap_usage_bytes: int | None = None
    cpu_psi_some_total_nanoseconds: int | None = None
    cpu_psi_some_avg10_percent: float | None = None
    cpu_psi_full_total_nanoseconds: int | None = None
    cpu_psi_full_avg10_percent: float | None = None
    memory_psi_some_total_nanoseconds: int | None = None
    memory_psi_some_avg10_percent: float | None = None
    memory_psi_full_total_nanoseconds: int | None = None
    memory_psi_full_avg10_percent: float | None = None
    io_psi_some_total_nanoseconds: int | None = None
    io_psi_some_avg10_percent: float | None = None
    io_psi_full_total_nanoseconds: int | None = None
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
    cpu_usage_nanocores: list[int | None]
    cpu_usage_core_nanoseconds: list[int | None]
    memory_usage_bytes: list[int | None]
    memory_working_set_bytes: list[int | None]
    memory_rss_bytes: list[int | None]
    memory_page_faults: list[int | None]
    memory_major_page_faults: list[int | None]
    ephemeral_used_bytes: list[int | None]
    inodes_used: list[int | None]
    rootfs_used_bytes: list[int]
    rootfs_inodes_used: list[int]
    logs_used_bytes: list[int]
    logs_inodes_used: list[int]
    volumes_used_bytes: list[int]
    volumes_inodes_used: list[int]
    processes: list[int | None]
    swap_usage_bytes: list[int | None]
    cpu_psi_some_total_nanoseconds: list[int | None]
    cpu_psi_some_avg10_percent: list[float | None]
    cpu_psi_full_total_nanoseconds: list[int | None]
    cpu_psi_full_avg10_percent: list[float | None]
    memory_psi_some_total_nanoseconds: list[int | None]
    memory_psi_some_avg10_percent: list[float | None]
    memory_psi_full_total_nanoseconds: list[int | None]
    memory_psi_full_avg10_percent: list[float | None]
    io_psi_some_total_nanoseconds: list[int | None]
    io_psi_some_avg10_percent: list[float | None]
    io_psi_full_total_nanoseconds: list[int | None]
    io_psi_full_avg10_percent: list[float | None]
    volumes: list[str] = []


class PodUsages(msgspec.Struct, frozen=True, gc=False):
    """Of the pods of one sample what an analytic reads: their names, and what evicts them in their order
    (rules: eviction-order).
    """

    namespace: list[str]
    pod: list[str]
    uid: list[str]
    memory_working_set_bytes: list[int | None]
    rootfs_used_bytes: list[int]
    rootfs_inodes_used: list[int]
    logs_used_bytes: list[int]
    logs_inodes_used: list[int]
    volumes_used_bytes: list[int]
    volumes_inodes_used: list[int]
    processes: list[int | None]
    volumes: list[str] = []


USAGES: Final = PodUsages.__struct_fields__[3:-1]
"""The columns of numbers among them."""
