"""Predicts the rank of an eviction from the last sample before it (rules: eviction-order)."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from operator import attrgetter
from typing import Any, Final

import msgspec

from ingest.model.objects.node import KubeletConfiguration
from ingest.model.objects.pod import Pod
from ingest.model.records import SampleRecord
from ingest.model.samples import USAGES, NodeSample, PodUsages, pack_column
from streams.fold.findings import Eviction
from streams.rules.eviction.messages import PressureEviction
from streams.rules.eviction.order import UNEXPLAINED, RankedPod, rank, signal_use, tied
from streams.rules.eviction.signals import RESOURCES, Layout, layout_of, observe
from streams.rules.eviction.thresholds import SignalThresholds, effective_thresholds, named_signal
from streams.rules.pods.containers import local_volumes, used_by
from streams.rules.pods.requests import eviction_requests, is_critical

FRESH: Final = timedelta(seconds=30)
"""An older sample predicts no eviction. In this time there are three samples and three checks by the kubelet."""
_usages_of: Final = attrgetter(*USAGES)
_NOBODY: Final = RankedPod("", "", "", 0, 0, 0, has_stats=False)


class PodSpecs(msgspec.Struct, frozen=True, array_like=True, gc=False):
    namespace: str
    name: str
    priority: int
    memory_request_bytes: int
    ephemeral_request_bytes: int
    critical: bool
    local_volumes: tuple[str, ...] | None = None
    """Volumes that the ranking counts; None in states of older versions."""


class Sample(msgspec.Struct, frozen=True):
    """A node's summary and the pods known then, from which the eviction order is predicted."""

    ts: datetime
    node: NodeSample
    pods: dict[str, PodSpecs]
    """Pods by uid."""
    all_known: bool
    """True if `pods` has every pod of the summary; a static pod has a different uid there than in the API."""
    uids: list[str]
    """UIDs of the pods in the summary."""
    usages: bytes
    """The columns USAGES of these pods in sequence, as Int64."""


def sample_of(record: SampleRecord, pods: dict[str, PodSpecs]) -> Sample:
    """Combine a summary with the known pods, by uid."""
    columns = record.pods
    all_known = pods.keys() >= set(columns.uid) or _names_known(pods, columns)
    usages = pack_column("q", list(chain.from_iterable(_usages_of(_with_local_volumes(columns, pods)))))
    return Sample(record.ts, record.sample, pods, all_known, columns.uid, usages)


def _with_local_volumes(columns: PodUsages, pods: Mapping[str, PodSpecs]) -> PodUsages:
    """Limit each known pod's use of volumes to its local ones; for unknown pods, count all that may be local."""
    used, inodes = list(columns.volumes_used_bytes), list(columns.volumes_inodes_used)
    # an older version wrote no `volumes`
    for place, (uid, volumes) in enumerate(zip(columns.uid, columns.volumes, strict=False)):
        specs = pods.get(uid)
        if specs is not None and specs.local_volumes is not None:
            used[place], inodes[place] = used_by(specs.local_volumes, volumes)
    return msgspec.structs.replace(columns, volumes_used_bytes=used, volumes_inodes_used=inodes)


def _names_known(pods: Mapping[str, PodSpecs], columns: PodUsages) -> bool:
    names = {(specs.namespace, specs.name) for specs in pods.values()}
    return names.issuperset(zip(columns.namespace, columns.pod, strict=True))


def specs_of(pod: Pod) -> PodSpecs:
    """Convert a pod. Raises `quantity.InvalidQuantity`."""
    requests = eviction_requests(pod)
    return PodSpecs(
        pod.metadata.namespace,
        pod.metadata.name,
        pod.spec.priority or 0,
        requests.get("memory", 0),
        requests.get("ephemeral-storage", 0),
        is_critical(pod),
        local_volumes(pod),
    )


def predicted(
    row: Eviction,
    reported: PressureEviction,
    sample: Sample,
    config: KubeletConfiguration | None,
    kubelet_version: str,
) -> Eviction:
    """Add the signal, and the rank in the order of the previous sample, to an eviction by pressure.

    There is no rank if a pod of the sample is unknown or the sample is too old. Nor if the kubelet measured so much
    use by the pod that the sample must be from before its growth.
    """
    layout = layout_of(sample.node)
    signal = _signal(row, sample, effective_thresholds(config, kubelet_version, layout).by_signal)
    if signal is None:
        return row
    pods = [*ranked_pods(sample)]
    usages = [signal_use(signal, layout, pod).usage for pod in pods]
    mine = next((u for u, pod in zip(usages, pods, strict=True) if pod.uid == row.uid), None)
    witnessed = sum(each.usage for each in reported.offenders)
    row = row._replace(signal=signal, pod_usage=mine)
    if row.ts - sample.ts > FRESH:
        return row
    row = row._replace(pods_usage_ratio=_share(sample, signal, layout, reported.available, witnessed - (mine or 0)))
    if not sample.all_known:
        return row
    order = rank(signal, layout, pods, kubelet_version)
    place = _place(order, pods, row.uid)
    grown = [_grown(pod, signal, layout, witnessed) if pod.uid == row.uid else pod for pod in pods]
    if place is None or place != _place(rank(signal, layout, grown, kubelet_version), pods, row.uid):
        return row
    return row._replace(
        predicted_rank=place,
        predicted_at=sample.ts,
        ranked_pods=len(order),
        tied_pods=tied(signal, layout, pods, row.uid, kubelet_version),
    )


def _place(order: Sequence[int], pods: Sequence[RankedPod], uid: str) -> int | None:
    return next((i for i, index in enumerate(order, 1) if pods[index].uid == uid), None)


def _grown(pod: RankedPod, signal: str, layout: Layout, witnessed: int) -> RankedPod:
    """Return the pod with the use that the kubelet's message reports, if that exceeds the sample's."""
    usage = signal_use(signal, layout, pod).usage or 0
    if witnessed <= usage:
        return pod
    if RESOURCES[signal] == "memory":
        return pod._replace(has_stats=True, memory_working_set_bytes=witnessed)
    return pod._replace(has_stats=True, rootfs_used_bytes=pod.rootfs_used_bytes + witnessed - usage)


def _share(sample: Sample, signal: str, layout: Layout, available: int | None, grown: int) -> float | None:
    """Return the share of pods in the use of a signal's resource; a small share means that no pod explains it.

    None if it is small, but may have grown until the kubelet found `available` left and `grown` more in use by the
    evicted pod.
    """
    observed = observe(sample.node).get(signal)
    if observed is None or observed.capacity <= observed.available:
        return None
    measured = [_with_stats(_NOBODY, usage) for usage in _usages(sample)]
    used = sum(signal_use(signal, layout, pod).usage or 0 for pod in measured)
    share = used / (observed.capacity - observed.available)
    if share >= UNEXPLAINED:
        return share
    left = observed.available if available is None else min(available, observed.available)
    most = used + max(observed.available - left, grown)
    return share if available is not None and most / (observed.capacity - left) < UNEXPLAINED else None


def _signal(row: Eviction, sample: Sample, thresholds: Mapping[str, SignalThresholds]) -> str | None:
    """Return the signal whose threshold the message names, or else the sample's first signal of the resource."""
    observed = observe(sample.node)
    capacities = {signal: each.capacity for signal, each in observed.items()}
    candidates = [signal for signal in observed if RESOURCES[signal] == row.resource]
    named = named_signal(row.resource, row.threshold, thresholds, capacities) or row.signal
    return named or (candidates[0] if candidates else None)


def ranked_pods(sample: Sample) -> Iterator[RankedPod]:
    """Return the pods known at a sample, with their measured use."""
    usages = dict(zip(sample.uids, _usages(sample), strict=True))
    for uid, specs in sample.pods.items():
        asks = specs.priority, specs.memory_request_bytes, specs.ephemeral_request_bytes
        pod = RankedPod(specs.namespace, specs.name, uid, *asks, has_stats=False, critical=specs.critical)
        yield _with_stats(pod, usages[uid]) if uid in usages else pod


def _usages(sample: Sample) -> list[tuple[int, ...]]:
    values = array("q", sample.usages)
    count = len(sample.uids)
    return [tuple(values[place::count]) for place in range(count)]


def _with_stats(pod: RankedPod, usage: tuple[int, ...]) -> RankedPod:
    fields: dict[str, Any] = dict(zip(USAGES, usage, strict=True))
    return pod._replace(has_stats=True, **fields)
