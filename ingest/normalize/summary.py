"""The kubelet's `/stats/summary`, decoded into columns: one record a node and sample.

Only the fields that some table keeps are decoded (msgspec skips the rest), and a part that the answer lacks is one
shared empty part, so that no field needs a test of its own.
"""

from typing import Annotated, Any, Final, TypeAlias

import msgspec

from ingest.model.records import NodeSample, PodColumns

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""What a column of 64 bits holds; a kubelet's number beyond it makes no sense."""


class _Part(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Base of the parts of a summary."""


class _PsiTotals(_Part, frozen=True):
    total: Count | None = None
    avg10: float | None = None


class _Psi(_Part, frozen=True):
    some: _PsiTotals = _PsiTotals()
    full: _PsiTotals = _PsiTotals()


class _Cpu(_Part, frozen=True):
    usage_nano_cores: Count | None = None
    usage_core_nano_seconds: Count | None = None
    psi: _Psi = _Psi()


class _Memory(_Part, frozen=True):
    available_bytes: Count | None = None
    usage_bytes: Count | None = None
    working_set_bytes: Count | None = None
    rss_bytes: Count | None = None
    page_faults: Count | None = None
    major_page_faults: Count | None = None
    psi: _Psi = _Psi()


class _Io(_Part, frozen=True):
    psi: _Psi = _Psi()


class _Filesystem(_Part, frozen=True):
    available_bytes: Count | None = None
    capacity_bytes: Count | None = None
    used_bytes: Count | None = None
    inodes_free: Count | None = None
    inodes: Count | None = None
    inodes_used: Count | None = None


class _Usage(_Part, frozen=True):
    used_bytes: Count | None = None
    inodes_used: Count | None = None


class _Claim(_Part, frozen=True):
    """That there is one is all that counts."""


class _Volume(_Usage, frozen=True, rename="camel", gc=False):
    name: str = ""
    pvc_ref: _Claim | None = None


class _Container(_Part, frozen=True):
    rootfs: _Usage = _Usage()
    logs: _Usage = _Usage()


class _PodReference(_Part, frozen=True):
    name: str
    namespace: str
    uid: str = ""


class _Processes(msgspec.Struct, frozen=True, gc=False):
    process_count: Count | None = None


class _Swap(_Part, frozen=True):
    swap_available_bytes: Count | None = None
    swap_usage_bytes: Count | None = None


class _Pod(_Part, frozen=True):
    pod_ref: _PodReference
    containers: list[_Container] = []
    cpu: _Cpu = _Cpu()
    memory: _Memory = _Memory()
    io: _Io = _Io()
    swap: _Swap = _Swap()
    volume: list[_Volume] = []
    ephemeral_storage: _Usage = msgspec.field(default=_Usage(), name="ephemeral-storage")
    process_stats: _Processes = msgspec.field(default=_Processes(), name="process_stats")


class _SystemContainer(_Part, frozen=True):
    name: str
    memory: _Memory = _Memory()


class _Runtime(_Part, frozen=True):
    image_fs: _Filesystem | None = None
    container_fs: _Filesystem | None = None


class _Rlimit(_Part, frozen=True):
    maxpid: Count | None = None
    curproc: Count | None = None


class _Node(_Part, frozen=True):
    node_name: str = ""
    system_containers: list[_SystemContainer] = []
    cpu: _Cpu = _Cpu()
    memory: _Memory = _Memory()
    io: _Io = _Io()
    fs: _Filesystem | None = None
    runtime: _Runtime | None = None
    rlimit: _Rlimit | None = None
    swap: _Swap | None = None


class Summary(_Part, frozen=True):
    """A kubelet's answer, as far as it is kept."""

    node: _Node
    pods: list[_Pod] | None = None


_decoder: Final = msgspec.json.Decoder(Summary)
_NO_FILESYSTEM: Final = _Filesystem()
_SERVICE_ACCOUNT_VOLUME: Final = "kube-api-access-"
"""How the API server names the projected volume of a service account's token."""


def decode_summary(data: bytes | msgspec.Raw) -> Summary:
    """Decode the JSON text of a `/stats/summary`; raises msgspec.MsgspecError where it is none."""
    return _decoder.decode(data)


def node_sample(node: _Node) -> NodeSample:
    """The node's row of `node_samples`."""
    cpu, memory, io = node.cpu, node.memory, node.io
    runtime = node.runtime or _Runtime()
    rlimit = node.rlimit or _Rlimit()
    swap = node.swap or _Swap()
    pods_memory = next((c.memory for c in node.system_containers if c.name == "pods"), _Memory())
    return NodeSample(
        cpu_usage_nanocores=cpu.usage_nano_cores,
        cpu_usage_core_nanoseconds=cpu.usage_core_nano_seconds,
        memory_available_bytes=memory.available_bytes,
        memory_usage_bytes=memory.usage_bytes,
        memory_working_set_bytes=memory.working_set_bytes,
        memory_rss_bytes=memory.rss_bytes,
        memory_page_faults=memory.page_faults,
        memory_major_page_faults=memory.major_page_faults,
        pods_memory_available_bytes=pods_memory.available_bytes,
        pods_memory_working_set_bytes=pods_memory.working_set_bytes,
        **_filesystem("nodefs", node.fs),
        **_filesystem("imagefs", runtime.image_fs),
        **_filesystem("containerfs", runtime.container_fs),
        pids_max=rlimit.maxpid,
        pids_current=rlimit.curproc,
        swap_available_bytes=swap.swap_available_bytes,
        swap_usage_bytes=swap.swap_usage_bytes,
        **_psi("cpu", cpu.psi),
        **_psi("memory", memory.psi),
        **_psi("io", io.psi),
    )


def _filesystem(prefix: str, filesystem: _Filesystem | None) -> dict[str, Any]:
    fs = filesystem or _NO_FILESYSTEM
    return {
        f"{prefix}_available_bytes": fs.available_bytes,
        f"{prefix}_capacity_bytes": fs.capacity_bytes,
        f"{prefix}_used_bytes": fs.used_bytes,
        f"{prefix}_inodes_free": fs.inodes_free,
        f"{prefix}_inodes": fs.inodes,
        f"{prefix}_inodes_used": fs.inodes_used,
    }


def _psi(prefix: str, psi: _Psi) -> dict[str, Any]:
    return {
        f"{prefix}_psi_some_total_nanoseconds": psi.some.total,
        f"{prefix}_psi_some_avg10_percent": psi.some.avg10,
        f"{prefix}_psi_full_total_nanoseconds": psi.full.total,
        f"{prefix}_psi_full_avg10_percent": psi.full.avg10,
    }


def pod_columns(pods: list[_Pod]) -> PodColumns:
    """The pods' rows of `pod_samples` by column.

    `volumes_*` leave out the volumes of claims and the service account's token, which lie elsewhere or in memory
    (C4). A summary does not tell a Secret or a memory-backed emptyDir from a local volume, so these are counted.
    """
    references = [pod.pod_ref for pod in pods]
    cpus = [pod.cpu for pod in pods]
    memories = [pod.memory for pod in pods]
    ephemeral = [pod.ephemeral_storage for pod in pods]
    written = [_written(pod.containers) for pod in pods]
    volumes = [_in_volumes(pod.volume) for pod in pods]
    return PodColumns(
        namespace=[r.namespace for r in references],
        pod=[r.name for r in references],
        uid=[r.uid for r in references],
        cpu_usage_nanocores=[c.usage_nano_cores for c in cpus],
        cpu_usage_core_nanoseconds=[c.usage_core_nano_seconds for c in cpus],
        memory_usage_bytes=[m.usage_bytes for m in memories],
        memory_working_set_bytes=[m.working_set_bytes for m in memories],
        memory_rss_bytes=[m.rss_bytes for m in memories],
        memory_page_faults=[m.page_faults for m in memories],
        memory_major_page_faults=[m.major_page_faults for m in memories],
        ephemeral_used_bytes=[e.used_bytes for e in ephemeral],
        inodes_used=[e.inodes_used for e in ephemeral],
        rootfs_used_bytes=[w[0] for w in written],
        rootfs_inodes_used=[w[1] for w in written],
        logs_used_bytes=[w[2] for w in written],
        logs_inodes_used=[w[3] for w in written],
        volumes_used_bytes=[v[0] for v in volumes],
        volumes_inodes_used=[v[1] for v in volumes],
        processes=[pod.process_stats.process_count for pod in pods],
        swap_usage_bytes=[pod.swap.swap_usage_bytes for pod in pods],
        **_psi_columns("cpu", [c.psi for c in cpus]),
        **_psi_columns("memory", [m.psi for m in memories]),
        **_psi_columns("io", [pod.io.psi for pod in pods]),
    )


def _written(containers: list[_Container]) -> tuple[int, int, int, int]:
    """Bytes and inodes of the writable layers, and of the logs."""
    rootfs_bytes = rootfs_inodes = logs_bytes = logs_inodes = 0
    for container in containers:
        rootfs, logs = container.rootfs, container.logs
        rootfs_bytes += rootfs.used_bytes or 0
        rootfs_inodes += rootfs.inodes_used or 0
        logs_bytes += logs.used_bytes or 0
        logs_inodes += logs.inodes_used or 0
    return rootfs_bytes, rootfs_inodes, logs_bytes, logs_inodes


def _in_volumes(volumes: list[_Volume]) -> tuple[int, int]:
    """Bytes and inodes of the volumes that the eviction manager counts (C4), as far as the summary alone tells."""
    used_bytes = inodes = 0
    for volume in volumes:
        if volume.pvc_ref is None and not volume.name.startswith(_SERVICE_ACCOUNT_VOLUME):
            used_bytes += volume.used_bytes or 0
            inodes += volume.inodes_used or 0
    return used_bytes, inodes


def _psi_columns(prefix: str, psis: list[_Psi]) -> dict[str, Any]:
    some, full = [p.some for p in psis], [p.full for p in psis]
    return {
        f"{prefix}_psi_some_total_nanoseconds": [p.total for p in some],
        f"{prefix}_psi_some_avg10_percent": [p.avg10 for p in some],
        f"{prefix}_psi_full_total_nanoseconds": [p.total for p in full],
        f"{prefix}_psi_full_avg10_percent": [p.avg10 for p in full],
    }
