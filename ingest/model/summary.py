"""A kubelet's `/stats/summary`, with the fields that tables keep; msgspec skips all others.

Missing parts of the answer are shared empty parts, so that no field needs a check.
"""

from typing import Annotated, Final, TypeAlias

import msgspec

from ingest.model.numbers import INT64_MAX, Count

_Microseconds: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=INT64_MAX // 1000)]
"""A value in nanoseconds that is kept as a Count."""


class _Part(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Base class of the parts of a summary."""


class PsiTotals(_Part, frozen=True):
    total: _Microseconds | None = None
    """Total in the kernel's unit; the kubelet's own description says nanoseconds (rules: psi-and-swap)."""
    avg10: float | None = None

    @property
    def nanoseconds(self) -> int | None:
        return None if self.total is None else 1000 * self.total


class Psi(_Part, frozen=True):
    some: PsiTotals = PsiTotals()
    full: PsiTotals = PsiTotals()


class CpuStats(_Part, frozen=True):
    usage_nano_cores: Count | None = None
    usage_core_nano_seconds: Count | None = None
    psi: Psi = Psi()


class MemoryStats(_Part, frozen=True):
    available_bytes: Count | None = None
    usage_bytes: Count | None = None
    working_set_bytes: Count | None = None
    rss_bytes: Count | None = None
    page_faults: Count | None = None
    major_page_faults: Count | None = None
    psi: Psi = Psi()


class IoStats(_Part, frozen=True):
    psi: Psi = Psi()


class Filesystem(_Part, frozen=True):
    available_bytes: Count | None = None
    capacity_bytes: Count | None = None
    used_bytes: Count | None = None
    inodes_free: Count | None = None
    inodes: Count | None = None
    inodes_used: Count | None = None

    @property
    def available(self) -> int | None:
        """Return the available bytes, at most the capacity, like the kubelet's image GC (rules: image-gc-loop)."""
        most, available = self.capacity_bytes, self.available_bytes
        return min(available, most) if most and available is not None else available


class Usage(_Part, frozen=True):
    used_bytes: Count | None = None
    inodes_used: Count | None = None


class Claim(_Part, frozen=True):
    """Only its presence matters."""


class Volume(Usage, frozen=True, rename="camel", gc=False):
    name: str = ""
    pvc_ref: Claim | None = None


class ContainerStats(_Part, frozen=True):
    rootfs: Usage = Usage()
    logs: Usage = Usage()


class PodReference(_Part, frozen=True):
    name: str
    namespace: str
    uid: str = ""


class Processes(msgspec.Struct, frozen=True, gc=False):
    process_count: Count | None = None


class Swap(_Part, frozen=True):
    swap_available_bytes: Count | None = None
    swap_usage_bytes: Count | None = None


class PodStats(_Part, frozen=True):
    pod_ref: PodReference
    containers: list[ContainerStats] = []
    cpu: CpuStats = CpuStats()
    memory: MemoryStats = MemoryStats()
    io: IoStats = IoStats()
    swap: Swap = Swap()
    volume: list[Volume] = []
    ephemeral_storage: Usage = msgspec.field(default=Usage(), name="ephemeral-storage")
    process_stats: Processes = msgspec.field(default=Processes(), name="process_stats")


class SystemContainer(_Part, frozen=True):
    name: str
    memory: MemoryStats = MemoryStats()


class Runtime(_Part, frozen=True):
    image_fs: Filesystem | None = None
    container_fs: Filesystem | None = None


class Rlimit(_Part, frozen=True):
    maxpid: Count | None = None
    curproc: Count | None = None


class NodeStats(_Part, frozen=True):
    node_name: str = ""
    system_containers: list[SystemContainer] = []
    cpu: CpuStats = CpuStats()
    memory: MemoryStats = MemoryStats()
    io: IoStats = IoStats()
    fs: Filesystem | None = None
    runtime: Runtime | None = None
    rlimit: Rlimit | None = None
    swap: Swap | None = None

    @property
    def signal_memory(self) -> MemoryStats:
        """Return the memory that `memory.available` counts: on Windows the commit charge
        (rules: eviction-signals).
        """
        committed = self._memory_of("windows-global-commit-memory")
        if committed is None:
            return self.memory
        return MemoryStats(available_bytes=committed.available_bytes, working_set_bytes=committed.usage_bytes)

    @property
    def pods_memory(self) -> MemoryStats:
        """Return the allocatable view (rules: eviction-signals)."""
        return self._memory_of("pods") or _NO_MEMORY

    def _memory_of(self, container: str) -> MemoryStats | None:
        return next((each.memory for each in self.system_containers if each.name == container), None)

    @property
    def nodefs(self) -> Filesystem:
        return self.fs or _NO_FILESYSTEM

    @property
    def imagefs(self) -> Filesystem:
        return (self.runtime and self.runtime.image_fs) or _NO_FILESYSTEM

    @property
    def containerfs(self) -> Filesystem:
        return (self.runtime and self.runtime.container_fs) or _NO_FILESYSTEM

    @property
    def pids(self) -> Rlimit:
        return self.rlimit or _NO_LIMIT

    @property
    def swapped(self) -> Swap:
        return self.swap or _NO_SWAP


_NO_MEMORY: Final = MemoryStats()
_NO_FILESYSTEM: Final = Filesystem()
_NO_LIMIT: Final = Rlimit()
_NO_SWAP: Final = Swap()


class Summary(_Part, frozen=True):
    """The kept fields of a kubelet's answer."""

    node: NodeStats
    pods: list[PodStats] | None = None
    impossible: str = ""
    """Impossible statistics that were left out, in words; not a field of the kubelet's answer."""
