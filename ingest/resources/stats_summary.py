"""The kubelet's `/stats/summary` in columns: one record a node and sample."""

import re
from typing import Any, Final

import msgspec

from ingest.model.numbers import INT64_MAX, within_int64
from ingest.model.observation import Observation
from ingest.model.records import Record, SummaryRecord
from ingest.model.samples import NodeSample, PodColumns
from ingest.model.summary import (
    Filesystem,
    MemoryStats,
    NodeStats,
    PodStats,
    Psi,
    Rlimit,
    Runtime,
    Summary,
    Swap,
    Volume,
)
from ingest.resources.resource import Fields, KubeletResource, node_of

_SHOWN: Final = 5
_LEFT_OUT: Final = object()
_strict: Final = msgspec.json.Decoder(Summary).decode
_anything: Final = msgspec.json.Decoder().decode
_NO_FILESYSTEM: Final = Filesystem()
_COMMITTED: Final = "windows-global-commit-memory"
"""The system container that a kubelet on Windows takes for the memory of its node (rules: eviction-signals)."""
_SERVICE_ACCOUNT_VOLUME: Final = "kube-api-access-"
"""How the API server names the projected volume of a service account's token."""
_DNS_LABEL: Final = re.compile("[a-z0-9-]{1,63}").fullmatch
_POD_FIELDS: Final = PodColumns.__struct_fields__
_PSI_FIELDS: Final = [name for name in _POD_FIELDS if "_psi_" in name]
"""PSI fields, the same for pods and nodes."""


def node_sample(node: NodeStats) -> NodeSample:
    """The node's row of `node_samples`."""
    cpu, memory, io = node.cpu, node.memory, node.io
    runtime = node.runtime or Runtime()
    rlimit = node.rlimit or Rlimit()
    swap = node.swap or Swap()
    of_system = {each.name: each.memory for each in node.system_containers}
    pods_memory, committed = of_system.get("pods", MemoryStats()), of_system.get(_COMMITTED)
    return NodeSample(
        cpu_usage_nanocores=cpu.usage_nano_cores,
        cpu_usage_core_nanoseconds=cpu.usage_core_nano_seconds,
        memory_available_bytes=memory.available_bytes if committed is None else committed.available_bytes,
        memory_usage_bytes=memory.usage_bytes,
        memory_working_set_bytes=memory.working_set_bytes if committed is None else committed.usage_bytes,
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


def _filesystem(prefix: str, filesystem: Filesystem | None) -> dict[str, Any]:
    fs = filesystem or _NO_FILESYSTEM
    available = fs.available_bytes
    if available is not None and fs.capacity_bytes and available > fs.capacity_bytes:
        available = None  # no more can be left than there is
    return {
        f"{prefix}_available_bytes": available,
        f"{prefix}_capacity_bytes": fs.capacity_bytes,
        f"{prefix}_used_bytes": fs.used_bytes,
        f"{prefix}_inodes_free": fs.inodes_free,
        f"{prefix}_inodes": fs.inodes,
        f"{prefix}_inodes_used": fs.inodes_used,
    }


def _psi(prefix: str, psi: Psi) -> dict[str, Any]:
    return {
        f"{prefix}_psi_some_total_nanoseconds": psi.some.nanoseconds,
        f"{prefix}_psi_some_avg10_percent": psi.some.avg10,
        f"{prefix}_psi_full_total_nanoseconds": psi.full.nanoseconds,
        f"{prefix}_psi_full_avg10_percent": psi.full.avg10,
    }


def pod_columns(pods: list[PodStats]) -> PodColumns:
    """The pods' rows of `pod_samples` by column.

    Left out are the volumes of claims and the service account's token, which lie elsewhere or in memory
    (rules: eviction-order). A summary does not distinguish a Secret or a memory-backed emptyDir from a local volume,
    so these are counted.
    """
    columns = map(list, zip(*map(_pod_row, pods), strict=True)) if pods else ([] for _ in _POD_FIELDS)
    return PodColumns(**dict(zip(_POD_FIELDS, columns, strict=True)))


def _pod_row(pod: PodStats) -> tuple[Any, ...]:
    """In the order of `PodColumns`. This runs for every pod of every sample: one pass over each."""
    reference, cpu, memory, ephemeral = pod.pod_ref, pod.cpu, pod.memory, pod.ephemeral_storage
    cpu_psi, memory_psi, io_psi = cpu.psi, memory.psi, pod.io.psi
    cpu_some, cpu_full = cpu_psi.some, cpu_psi.full
    memory_some, memory_full = memory_psi.some, memory_psi.full
    io_some, io_full = io_psi.some, io_psi.full
    rootfs_bytes = rootfs_inodes = logs_bytes = logs_inodes = 0
    for container in pod.containers:
        rootfs, logs = container.rootfs, container.logs
        rootfs_bytes += rootfs.used_bytes or 0
        rootfs_inodes += rootfs.inodes_used or 0
        logs_bytes += logs.used_bytes or 0
        logs_inodes += logs.inodes_used or 0
    volumes_bytes, volumes_inodes, volumes = _in_volumes(pod.volume)
    return (
        reference.namespace,
        reference.name,
        reference.uid,
        cpu.usage_nano_cores,
        cpu.usage_core_nano_seconds,
        memory.usage_bytes,
        memory.working_set_bytes,
        memory.rss_bytes,
        memory.page_faults,
        memory.major_page_faults,
        ephemeral.used_bytes,
        ephemeral.inodes_used,
        *map(within_int64, (rootfs_bytes, rootfs_inodes, logs_bytes, logs_inodes, volumes_bytes, volumes_inodes)),
        pod.process_stats.process_count,
        pod.swap.swap_usage_bytes,
        cpu_some.nanoseconds,
        cpu_some.avg10,
        cpu_full.nanoseconds,
        cpu_full.avg10,
        memory_some.nanoseconds,
        memory_some.avg10,
        memory_full.nanoseconds,
        memory_full.avg10,
        io_some.nanoseconds,
        io_some.avg10,
        io_full.nanoseconds,
        io_full.avg10,
        volumes,
    )


def _in_volumes(volumes: list[Volume]) -> tuple[int, int, str]:
    """Bytes and inodes of the volumes that the eviction manager counts (rules: eviction-order), as far as the summary
    alone shows, and those of each that has an API server's name.
    """
    used_bytes = inodes = 0
    each = []
    for volume in volumes:
        name = volume.name
        if volume.pvc_ref is None and not name.startswith(_SERVICE_ACCOUNT_VOLUME):
            volume_bytes, volume_inodes = volume.used_bytes or 0, volume.inodes_used or 0
            used_bytes += volume_bytes
            inodes += volume_inodes
            if _DNS_LABEL(name):
                each.append(f"{name}:{volume_bytes}:{volume_inodes}")
    return used_bytes, inodes, ",".join(each)


def _decode(data: bytes | msgspec.Raw) -> Summary:
    """A summary; numbers that cannot be cost their fields alone. A kubelet wraps what it computes below 0 to 64 bits
    without a sign.
    """
    try:
        found = _strict(data)
        return msgspec.structs.replace(found, impossible="") if found.impossible else found
    except msgspec.ValidationError:
        left_out: list[str] = []
        possible = _possible(_anything(data), "", left_out)
        if not left_out:
            raise
        summary = msgspec.convert(possible, Summary)
        return msgspec.structs.replace(summary, impossible="; ".join(left_out[:_SHOWN]))


def _possible(value: Any, path: str, left_out: list[str]) -> Any:
    """JSON without the numbers that no statistic has."""
    if isinstance(value, dict):
        kept = {name: _possible(each, f"{path}.{name}" if path else name, left_out) for name, each in value.items()}
        return {name: each for name, each in kept.items() if each is not _LEFT_OUT}
    if isinstance(value, list):
        return [_possible(each, path, left_out) for each in value]
    if isinstance(value, int | float) and not isinstance(value, bool) and not 0 <= value <= INT64_MAX:
        left_out.append(f"{path} is {value}")
        return _LEFT_OUT
    return value


class _Node(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


_node: Final = msgspec.json.Decoder(_Node).decode


def _named_node(fields: Fields) -> str:
    try:
        return _node(fields["node"]).node_name
    except (UnicodeDecodeError, msgspec.DecodeError):
        return ""


def _known(summary: Summary) -> tuple[NodeSample, PodColumns]:
    """Without the zeros that a kubelet has for PSI on a kernel that has none: tasks of any node have once waited for
    CPU since boot (rules: psi-and-swap).
    """
    sample, pods = node_sample(summary.node), pod_columns(summary.pods or [])
    if sample.cpu_psi_some_total_nanoseconds == 0:
        nothing = [None] * len(pods.uid)
        sample = msgspec.structs.replace(sample, **dict.fromkeys(_PSI_FIELDS))
        pods = msgspec.structs.replace(pods, **dict.fromkeys(_PSI_FIELDS, nothing))
    return sample, pods


def _records(observation: Observation, summary: Summary) -> list[Record]:
    sample, pods = _known(summary)
    return [
        SummaryRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            node=observation.node or summary.node.node_name or node_of(observation),
            sample=sample,
            pods=pods,
        )
    ]


STATS_SUMMARY: Final = KubeletResource(
    name="stats/summary",
    decode=_decode,
    records=_records,
    secrets=False,
    fields=lambda fields: "node" in fields and "pods" in fields,
    node=_named_node,
    sampled=True,
    seconds=10.0,
    permission="nodes/stats",
    without="there are no statistics, trends and forecasts",
)
