"""A `/stats/summary` with the names of its tables' columns: the node's numbers, and its pods' numbers by column."""

import struct
from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain, compress, count
from operator import attrgetter
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias, get_args, get_type_hints

import msgspec

from ingest.model.numbers import Count, within_int64


class From(NamedTuple):
    """The source of a field: a path from the node's or a pod's part of `ingest.model.summary`."""

    path: str


def sources(columns: "type[NodeSample | PodColumns]") -> dict[str, str]:
    """Return paths by field, in order; fields without a path are computed."""
    hints = get_type_hints(columns, include_extras=True)
    found = {name: getattr(hint, "__metadata__", (None,))[-1] for name, hint in hints.items()}
    return {name: source.path for name, source in found.items() if isinstance(source, From)}


class NodeSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The node's numbers in `/stats/summary`; None for a missing one. The names are the columns'."""

    cpu_usage_nanocores: Annotated[Count | None, From("cpu.usage_nano_cores")] = None
    cpu_usage_core_nanoseconds: Annotated[Count | None, From("cpu.usage_core_nano_seconds")] = None
    memory_available_bytes: Annotated[Count | None, From("signal_memory.available_bytes")] = None
    memory_usage_bytes: Annotated[Count | None, From("memory.usage_bytes")] = None
    memory_working_set_bytes: Annotated[Count | None, From("signal_memory.working_set_bytes")] = None
    memory_rss_bytes: Annotated[Count | None, From("memory.rss_bytes")] = None
    memory_page_faults: Annotated[Count | None, From("memory.page_faults")] = None
    memory_major_page_faults: Annotated[Count | None, From("memory.major_page_faults")] = None
    pods_memory_available_bytes: Annotated[Count | None, From("pods_memory.available_bytes")] = None
    """Available memory of the system container `pods`: the allocatable view (rules: eviction-signals)."""
    pods_memory_working_set_bytes: Annotated[Count | None, From("pods_memory.working_set_bytes")] = None
    nodefs_available_bytes: Annotated[Count | None, From("nodefs.available")] = None
    nodefs_capacity_bytes: Annotated[Count | None, From("nodefs.capacity_bytes")] = None
    nodefs_used_bytes: Annotated[Count | None, From("nodefs.used_bytes")] = None
    nodefs_inodes_free: Annotated[Count | None, From("nodefs.inodes_free")] = None
    nodefs_inodes: Annotated[Count | None, From("nodefs.inodes")] = None
    nodefs_inodes_used: Annotated[Count | None, From("nodefs.inodes_used")] = None
    imagefs_available_bytes: Annotated[Count | None, From("imagefs.available")] = None
    imagefs_capacity_bytes: Annotated[Count | None, From("imagefs.capacity_bytes")] = None
    imagefs_used_bytes: Annotated[Count | None, From("imagefs.used_bytes")] = None
    imagefs_inodes_free: Annotated[Count | None, From("imagefs.inodes_free")] = None
    imagefs_inodes: Annotated[Count | None, From("imagefs.inodes")] = None
    imagefs_inodes_used: Annotated[Count | None, From("imagefs.inodes_used")] = None
    containerfs_available_bytes: Annotated[Count | None, From("containerfs.available")] = None
    containerfs_capacity_bytes: Annotated[Count | None, From("containerfs.capacity_bytes")] = None
    containerfs_used_bytes: Annotated[Count | None, From("containerfs.used_bytes")] = None
    containerfs_inodes_free: Annotated[Count | None, From("containerfs.inodes_free")] = None
    containerfs_inodes: Annotated[Count | None, From("containerfs.inodes")] = None
    containerfs_inodes_used: Annotated[Count | None, From("containerfs.inodes_used")] = None
    pids_max: Annotated[Count | None, From("pids.maxpid")] = None
    pids_current: Annotated[Count | None, From("pids.curproc")] = None
    swap_available_bytes: Annotated[Count | None, From("swapped.swap_available_bytes")] = None
    swap_usage_bytes: Annotated[Count | None, From("swapped.swap_usage_bytes")] = None
    cpu_psi_some_total_nanoseconds: Annotated[Count | None, From("cpu.psi.some.nanoseconds")] = None
    cpu_psi_some_avg10_percent: Annotated[float | None, From("cpu.psi.some.avg10")] = None
    cpu_psi_full_total_nanoseconds: Annotated[Count | None, From("cpu.psi.full.nanoseconds")] = None
    cpu_psi_full_avg10_percent: Annotated[float | None, From("cpu.psi.full.avg10")] = None
    memory_psi_some_total_nanoseconds: Annotated[Count | None, From("memory.psi.some.nanoseconds")] = None
    memory_psi_some_avg10_percent: Annotated[float | None, From("memory.psi.some.avg10")] = None
    memory_psi_full_total_nanoseconds: Annotated[Count | None, From("memory.psi.full.nanoseconds")] = None
    memory_psi_full_avg10_percent: Annotated[float | None, From("memory.psi.full.avg10")] = None
    io_psi_some_total_nanoseconds: Annotated[Count | None, From("io.psi.some.nanoseconds")] = None
    io_psi_some_avg10_percent: Annotated[float | None, From("io.psi.some.avg10")] = None
    io_psi_full_total_nanoseconds: Annotated[Count | None, From("io.psi.full.nanoseconds")] = None
    io_psi_full_avg10_percent: Annotated[float | None, From("io.psi.full.avg10")] = None


class PodColumns(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The pods of one sample by column: index i of every list is one pod. The names are the columns'.

    `ephemeral_*`, `rootfs_*`, `logs_*` and `volumes_*` are bytes or inodes as the eviction manager adds them up
    (rules: eviction-order). The pod's spec decides which volumes count: `volumes_*` are the sums that the
    summary allows, and `volumes` has each of them as `name:bytes:inodes`, separated by commas.
    """

    namespace: Annotated[list[str], From("pod_ref.namespace")]
    pod: Annotated[list[str], From("pod_ref.name")]
    uid: Annotated[list[str], From("pod_ref.uid")]
    cpu_usage_nanocores: Annotated[list[Count | None], From("cpu.usage_nano_cores")]
    cpu_usage_core_nanoseconds: Annotated[list[Count | None], From("cpu.usage_core_nano_seconds")]
    memory_usage_bytes: Annotated[list[Count | None], From("memory.usage_bytes")]
    memory_working_set_bytes: Annotated[list[Count | None], From("memory.working_set_bytes")]
    memory_rss_bytes: Annotated[list[Count | None], From("memory.rss_bytes")]
    memory_page_faults: Annotated[list[Count | None], From("memory.page_faults")]
    memory_major_page_faults: Annotated[list[Count | None], From("memory.major_page_faults")]
    ephemeral_used_bytes: Annotated[list[Count | None], From("ephemeral_storage.used_bytes")]
    inodes_used: Annotated[list[Count | None], From("ephemeral_storage.inodes_used")]
    rootfs_used_bytes: list[Count]
    rootfs_inodes_used: list[Count]
    logs_used_bytes: list[Count]
    logs_inodes_used: list[Count]
    volumes_used_bytes: list[Count]
    volumes_inodes_used: list[Count]
    processes: Annotated[list[Count | None], From("process_stats.process_count")]
    swap_usage_bytes: Annotated[list[Count | None], From("swap.swap_usage_bytes")]
    cpu_psi_some_total_nanoseconds: Annotated[list[Count | None], From("cpu.psi.some.nanoseconds")]
    cpu_psi_some_avg10_percent: Annotated[list[float | None], From("cpu.psi.some.avg10")]
    cpu_psi_full_total_nanoseconds: Annotated[list[Count | None], From("cpu.psi.full.nanoseconds")]
    cpu_psi_full_avg10_percent: Annotated[list[float | None], From("cpu.psi.full.avg10")]
    memory_psi_some_total_nanoseconds: Annotated[list[Count | None], From("memory.psi.some.nanoseconds")]
    memory_psi_some_avg10_percent: Annotated[list[float | None], From("memory.psi.some.avg10")]
    memory_psi_full_total_nanoseconds: Annotated[list[Count | None], From("memory.psi.full.nanoseconds")]
    memory_psi_full_avg10_percent: Annotated[list[float | None], From("memory.psi.full.avg10")]
    io_psi_some_total_nanoseconds: Annotated[list[Count | None], From("io.psi.some.nanoseconds")]
    io_psi_some_avg10_percent: Annotated[list[float | None], From("io.psi.some.avg10")]
    io_psi_full_total_nanoseconds: Annotated[list[Count | None], From("io.psi.full.nanoseconds")]
    io_psi_full_avg10_percent: Annotated[list[float | None], From("io.psi.full.avg10")]
    volumes: list[str] = []

    def __post_init__(self) -> None:
        check_columns(self)


class PodUsages(msgspec.Struct, frozen=True, gc=False):
    """The names and resource use of a sample's pods that determine the eviction order (rules: eviction-order)."""

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
    """Check the columns. Raises ValueError if their lengths differ; older versions lack `volumes`."""
    lengths = {len(getattr(pods, name)) for name in pods.__struct_fields__[:-1]}
    if len(lengths) > 1 or len(pods.volumes) not in {0, *lengths}:
        raise ValueError("columns of pods differ in length")


USAGES: Final = PodUsages.__struct_fields__[3:-1]
"""The numeric columns."""


BYTES: Final = 8
TypeCode: TypeAlias = Literal["q", "d"]
Column: TypeAlias = list[int | None] | list[float | None]


class Packed(NamedTuple):
    """The columns TYPE_CODES in sequence, all of one length. An integer beyond 64 bits becomes the nearest that
    fits.
    """

    values: bytes
    """Int64 (`q`) or Float64 (`d`), 0 if one is None."""
    absent: bytes
    """One byte for each value, 1 if it is None; empty if none is."""


def _type_codes() -> dict[str, TypeCode]:
    values = {name: get_args(hint)[0] for name, hint in get_type_hints(PodColumns).items()}
    kinds = {name: {value, *get_args(value)} for name, value in values.items()}
    return {name: "d" if float in kind else "q" for name, kind in kinds.items() if str not in kind}


TYPE_CODES: Final[Mapping[str, TypeCode]] = _type_codes()
"""Type of each numeric column of a sample's pods."""
_columns_of: Final = attrgetter(*TYPE_CODES)


def pack(pods: PodColumns) -> Packed:
    columns = _columns_of(pods)
    try:
        # one call for all, because one call for each column takes twice as long
        return Packed(_struct(len(pods.uid)).pack(*chain.from_iterable(columns)), b"")
    except struct.error:
        values = [pack_column(typecode, each) for typecode, each in zip(TYPE_CODES.values(), columns, strict=True)]
        return Packed(b"".join(values), bytes([value is None for value in chain.from_iterable(columns)]))


def unpack(packed: Packed) -> dict[str, Column]:
    """Return the columns that were given to `pack`, by name."""
    pods = len(packed.values) // BYTES // len(TYPE_CODES)
    return {
        name: _unpacked(typecode, packed.values[BYTES * start :][: BYTES * pods], packed.absent[start:][:pods])
        for start, (name, typecode) in zip(count(0, pods), TYPE_CODES.items(), strict=False)
    }


def _unpacked(typecode: TypeCode, values: bytes, absent: bytes) -> Column:
    column: list[Any] = array(typecode, values).tolist()
    for place in compress(count(), absent):
        column[place] = None
    return column


def pack_column(typecode: TypeCode, values: Sequence[float | None]) -> bytes:
    """Pack one column for `Packed.values`."""
    try:
        # takes half the time of array's own method
        return struct.pack(f"{len(values)}{typecode}", *values)
    except struct.error:
        stored: Any = [within_int64(value) if isinstance(value, int) else value or 0 for value in values]
        return array(typecode, stored).tobytes()


@lru_cache
def _struct(pods: int) -> struct.Struct:
    return struct.Struct("".join(f"{pods}{typecode}" for typecode in TYPE_CODES.values()))
