"""The kubelet's `/stats/summary` in columns: one record a node and sample."""

import re
from typing import Any, Final

import msgspec

from ingest.model.observation import Observation
from ingest.model.records import Record, SummaryRecord
from ingest.model.samples import NodeSample, PodColumns
from ingest.model.summary import (
    ContainerStats,
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

_NO_FILESYSTEM: Final = Filesystem()
_SERVICE_ACCOUNT_VOLUME: Final = "kube-api-access-"
"""How the API server names the projected volume of a service account's token."""
_DNS_LABEL: Final = re.compile("[a-z0-9-]{1,63}")


def node_sample(node: NodeStats) -> NodeSample:
    """The node's row of `node_samples`."""
    cpu, memory, io = node.cpu, node.memory, node.io
    runtime = node.runtime or Runtime()
    rlimit = node.rlimit or Rlimit()
    swap = node.swap or Swap()
    pods_memory = next((c.memory for c in node.system_containers if c.name == "pods"), MemoryStats())
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


def _filesystem(prefix: str, filesystem: Filesystem | None) -> dict[str, Any]:
    fs = filesystem or _NO_FILESYSTEM
    return {
        f"{prefix}_available_bytes": fs.available_bytes,
        f"{prefix}_capacity_bytes": fs.capacity_bytes,
        f"{prefix}_used_bytes": fs.used_bytes,
        f"{prefix}_inodes_free": fs.inodes_free,
        f"{prefix}_inodes": fs.inodes,
        f"{prefix}_inodes_used": fs.inodes_used,
    }


def _psi(prefix: str, psi: Psi) -> dict[str, Any]:
    return {
        f"{prefix}_psi_some_total_nanoseconds": psi.some.total,
        f"{prefix}_psi_some_avg10_percent": psi.some.avg10,
        f"{prefix}_psi_full_total_nanoseconds": psi.full.total,
        f"{prefix}_psi_full_avg10_percent": psi.full.avg10,
    }


def pod_columns(pods: list[PodStats]) -> PodColumns:
    """The pods' rows of `pod_samples` by column.

    Left out are the volumes of claims and the service account's token, which lie elsewhere or in memory
    (rules: eviction-order). A summary does not distinguish a Secret or a memory-backed emptyDir from a local volume,
    so these are counted.
    """
    references = [pod.pod_ref for pod in pods]
    cpus = [pod.cpu for pod in pods]
    memories = [pod.memory for pod in pods]
    ephemeral = [pod.ephemeral_storage for pod in pods]
    written = [_written(pod.containers) for pod in pods]
    volumes = [_in_volumes(pod.volume) for pod in pods]
    return PodColumns(
        volumes=[v[2] for v in volumes],
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


def _written(containers: list[ContainerStats]) -> tuple[int, int, int, int]:
    """Bytes and inodes of the writable layers, and of the logs."""
    rootfs_bytes = rootfs_inodes = logs_bytes = logs_inodes = 0
    for container in containers:
        rootfs, logs = container.rootfs, container.logs
        rootfs_bytes += rootfs.used_bytes or 0
        rootfs_inodes += rootfs.inodes_used or 0
        logs_bytes += logs.used_bytes or 0
        logs_inodes += logs.inodes_used or 0
    return rootfs_bytes, rootfs_inodes, logs_bytes, logs_inodes


def _in_volumes(volumes: list[Volume]) -> tuple[int, int, str]:
    """Bytes and inodes of the volumes that the eviction manager counts (rules: eviction-order), as far as the summary
    alone shows, and those of each that has an API server's name.
    """
    used_bytes = inodes = 0
    each = []
    for volume in volumes:
        if volume.pvc_ref is None and not volume.name.startswith(_SERVICE_ACCOUNT_VOLUME):
            used_bytes += volume.used_bytes or 0
            inodes += volume.inodes_used or 0
            if _DNS_LABEL.fullmatch(volume.name):
                each.append(f"{volume.name}:{volume.used_bytes or 0}:{volume.inodes_used or 0}")
    return used_bytes, inodes, ",".join(each)


def _psi_columns(prefix: str, psis: list[Psi]) -> dict[str, Any]:
    some, full = [p.some for p in psis], [p.full for p in psis]
    return {
        f"{prefix}_psi_some_total_nanoseconds": [p.total for p in some],
        f"{prefix}_psi_some_avg10_percent": [p.avg10 for p in some],
        f"{prefix}_psi_full_total_nanoseconds": [p.total for p in full],
        f"{prefix}_psi_full_avg10_percent": [p.avg10 for p in full],
    }


class _Node(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


_node: Final = msgspec.json.Decoder(_Node).decode


def _named_node(fields: Fields) -> str:
    try:
        return _node(fields["node"]).node_name
    except (UnicodeDecodeError, msgspec.DecodeError):
        return ""


def _records(observation: Observation, summary: Summary) -> list[Record]:
    return [
        SummaryRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            node=observation.node or summary.node.node_name or node_of(observation),
            sample=node_sample(summary.node),
            pods=pod_columns(summary.pods or []),
        )
    ]


STATS_SUMMARY: Final = KubeletResource(
    name="stats/summary",
    decode=msgspec.json.Decoder(Summary).decode,
    records=_records,
    secrets=False,
    fields=lambda fields: "node" in fields and "pods" in fields,
    node=_named_node,
    sampled=True,
    seconds=10.0,
    permission="nodes/stats",
    without="there are no statistics, trends and forecasts",
)
