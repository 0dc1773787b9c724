"""The kubelet's `/stats/summary` in columns: one record per node and sample."""

import re
from collections.abc import Collection, Iterable
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec

from ingest.model.numbers import INT64_MAX, within_int64
from ingest.model.observation import Observation, if_decodable
from ingest.model.records import Record, SummaryRecord
from ingest.model.samples import NodeSample, PodColumns, sources
from ingest.model.summary import NodeStats, PodStats, Summary, Volume
from ingest.resources.resource import Fields, KubeletResource, node_of, seen

_SHOWN: Final = 5
_LEFT_OUT: Final = object()
_is_average: Final = re.compile(r".*\.avg\d+").fullmatch
_is_statistic: Final = re.compile(
    r".*(?:Bytes|Cores|Seconds|Faults|[iI]nodes|inodesFree|inodesUsed|maxpid|curproc|process_count|\.total|\.avg\d+)"
).fullmatch
"""Matches the path of a field."""
_strict: Final = msgspec.json.Decoder(Summary).decode
_anything: Final = msgspec.json.Decoder().decode
_SERVICE_ACCOUNT_VOLUME: Final = "kube-api-access-"
"""Prefix that the API server gives to the projected volume of a service account's token."""
_DNS_LABEL: Final = re.compile("[a-z0-9-]{1,63}").fullmatch
_NODE_SOURCES: Final = sources(NodeSample)
_POD_SOURCES: Final = sources(PodColumns)
_of_node: Final = attrgetter(*_NODE_SOURCES.values())
_of_pod: Final = attrgetter(*_POD_SOURCES.values())
_PSI_FIELDS: Final = [name for name in _POD_SOURCES if "_psi_" in name]
"""PSI fields, the same for pods and nodes."""


class _Local(NamedTuple):
    """The fields of a pod without a path: its local storage, as the eviction manager adds it up."""

    rootfs_used_bytes: int
    rootfs_inodes_used: int
    logs_used_bytes: int
    logs_inodes_used: int
    volumes_used_bytes: int
    volumes_inodes_used: int
    volumes: str


def node_sample(node: NodeStats) -> NodeSample:
    return NodeSample(**dict(zip(_NODE_SOURCES, _of_node(node), strict=True)))


def pod_columns(pods: list[PodStats]) -> PodColumns:
    """Return the pods' rows of `pod_samples` by column.

    It leaves out the volumes of claims and the service account's token, which are elsewhere or in memory
    (rules: eviction-order). A summary does not distinguish a Secret or a memory-backed emptyDir from a local volume,
    so these are counted.
    """
    return PodColumns(**_by_column(_POD_SOURCES, map(_of_pod, pods)), **_by_column(_Local._fields, map(_local, pods)))


def _by_column(names: Collection[str], rows: Iterable[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=False)) or {name: [] for name in names}


def _local(pod: PodStats) -> _Local:
    """Sum up a pod in one pass over its containers, because this runs for every pod of every sample."""
    rootfs_bytes = rootfs_inodes = logs_bytes = logs_inodes = 0
    for container in pod.containers:
        rootfs, logs = container.rootfs, container.logs
        rootfs_bytes += rootfs.used_bytes or 0
        rootfs_inodes += rootfs.inodes_used or 0
        logs_bytes += logs.used_bytes or 0
        logs_inodes += logs.inodes_used or 0
    volumes_bytes, volumes_inodes, volumes = _in_volumes(pod.volume)
    sums = rootfs_bytes, rootfs_inodes, logs_bytes, logs_inodes, volumes_bytes, volumes_inodes
    if max(sums) > INT64_MAX:
        return _Local._make((*map(within_int64, sums), volumes))
    return _Local(*sums, volumes)


def _in_volumes(volumes: list[Volume]) -> tuple[int, int, str]:
    """Return bytes and inodes of the volumes that the eviction manager counts (rules: eviction-order), as far as the
    summary shows, and those of each with a name from an API server.
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
    """Decode a summary without impossible numbers: kubelets wrap negative results to unsigned 64 bits."""
    try:
        found = _strict(data)
        return msgspec.structs.replace(found, impossible="") if found.impossible else found
    except msgspec.ValidationError:
        left_out: list[str] = []
        possible = _possible(_anything(data), "", left_out)
        summary = msgspec.convert(possible, Summary)
        return msgspec.structs.replace(summary, impossible="; ".join(left_out[:_SHOWN]))


def _possible(value: Any, path: str, left_out: list[str]) -> Any:
    """Return JSON without numbers that no statistic can have.

    Programs write large numbers with an exponent; those stay.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and 0 <= value <= INT64_MAX and (_is_average(path) or value == int(value)):
        return value if _is_average(path) else int(value)
    if is_number or (value is not None and _is_statistic(path)):
        left_out.append(f"{path} is {value}" if is_number else f"{path} is no number")
        return _LEFT_OUT
    if isinstance(value, dict):
        kept = {name: _possible(each, f"{path}.{name}" if path else name, left_out) for name, each in value.items()}
        return {name: each for name, each in kept.items() if each is not _LEFT_OUT}
    if isinstance(value, list):
        return [_possible(each, path, left_out) for each in value]
    return value


class _Node(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


_node: Final = msgspec.json.Decoder(_Node).decode


def _named_node(fields: Fields) -> str:
    found = if_decodable(_node, fields["node"])
    return found.node_name if found else ""


def _known(summary: Summary) -> tuple[NodeSample, PodColumns]:
    """Leave out PSI values of 0, which kernels without PSI have: some task has waited since boot
    (rules: psi-and-swap).
    """
    sample, pods = node_sample(summary.node), pod_columns(summary.pods or [])
    if sample.cpu_psi_some_total_nanoseconds == 0:
        nothing = [None] * len(pods.uid)
        sample = msgspec.structs.replace(sample, **dict.fromkeys(_PSI_FIELDS))
        pods = msgspec.structs.replace(pods, **dict.fromkeys(_PSI_FIELDS, nothing))
    return sample, pods


def _records(observation: Observation, summary: Summary) -> list[Record]:
    sample, pods = _known(summary)
    node = observation.node or summary.node.node_name or node_of(observation)
    return [SummaryRecord(**seen(observation), node=node, sample=sample, pods=pods)]


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
    without="there are no statistics, trends or forecasts",
)
