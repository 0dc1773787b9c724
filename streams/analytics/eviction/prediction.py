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
"""Maximum age of a sample for a prediction: three polls at the default 10 s, and three of the kubelet's checks."""
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
    """True if `pods` has every pod of the summary; pods also match by namespace and name, because a static pod's uid
    in the summary is not the API's.
    """
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
    for index, (uid, volumes) in enumerate(zip(columns.uid, columns.volumes, strict=False)):  # older: no `volumes`
        specs = pods.get(uid)
        if specs is not None and specs.local_volumes is not None:
            used[index], inodes[index] = used_by(specs.local_volumes, volumes)
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


def with_prediction(
    row: Eviction,
    reported: PressureEviction,
    sample: Sample,
    config: KubeletConfiguration | None,
    kubelet_version: str,
) -> Eviction:
    """Add the signal, and the rank in the order of the previous sample, to an eviction by pressure.

    No rank is given if the signal, the pod or another pod of the sample is unknown, or if the sample is too old. Nor
    if the usage in the kubelet's message would change the rank.
    """
    layout = layout_of(sample.node)
    signal = _signal(row, sample, effective_thresholds(config, kubelet_version, layout).by_signal)
    if signal is None:
        return row
    pods = [*ranked_pods(sample)]
    usages = [signal_use(signal, layout, pod).usage for pod in pods]
    own_usage = next((u for u, pod in zip(usages, pods, strict=True) if pod.uid == row.uid), None)
    reported_usage = sum(each.usage for each in reported.offenders)
    row = row._replace(signal=signal, pod_usage=own_usage)
    if row.ts - sample.ts > FRESH:
        return row
    growth = reported_usage - (own_usage or 0)
    row = row._replace(pods_usage_ratio=_usage_ratio(sample, signal, layout, reported.available, growth))
    if not sample.all_known:
        return row
    order = rank(signal, layout, pods, kubelet_version)
    own_rank = _rank_of(row.uid, order, pods)
    updated = [_with_usage(pod, signal, layout, reported_usage) if pod.uid == row.uid else pod for pod in pods]
    if own_rank is None or own_rank != _rank_of(row.uid, rank(signal, layout, updated, kubelet_version), pods):
        return row
    return row._replace(
        predicted_rank=own_rank,
        predicted_at=sample.ts,
        ranked_pods=len(order),
        tied_pods=tied(signal, layout, pods, row.uid, kubelet_version),
    )


def _rank_of(uid: str, order: Sequence[int], pods: Sequence[RankedPod]) -> int | None:
    return next((number for number, index in enumerate(order, 1) if pods[index].uid == uid), None)


def _with_usage(pod: RankedPod, signal: str, layout: Layout, reported_usage: int) -> RankedPod:
    """Return the pod with the usage that the kubelet's message reports, if that exceeds the sample's."""
    usage = signal_use(signal, layout, pod).usage or 0
    if reported_usage <= usage:
        return pod
    if RESOURCES[signal] == "memory":
        return pod._replace(has_stats=True, memory_working_set_bytes=reported_usage)
    return pod._replace(has_stats=True, rootfs_used_bytes=pod.rootfs_used_bytes + reported_usage - usage)


def _usage_ratio(sample: Sample, signal: str, layout: Layout, available: int | None, growth: int) -> float | None:
    """Return the pods' share of the used amount.

    None if it is not measured, or if it is below UNEXPLAINED in the sample but may have passed it before the
    eviction. By then the kubelet found `available` left, and the evicted pod used `growth` more.
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
    most = used + max(observed.available - left, growth)
    return share if available is not None and most / (observed.capacity - left) < UNEXPLAINED else None


def _signal(row: Eviction, sample: Sample, thresholds: Mapping[str, SignalThresholds]) -> str | None:
    """Return the signal whose threshold the message names, else the row's, else the first one of the resource."""
    observed = observe(sample.node)
    capacities = {signal: each.capacity for signal, each in observed.items()}
    candidates = [signal for signal in observed if RESOURCES[signal] == row.resource]
    named = named_signal(row.resource, row.threshold, thresholds, capacities) or row.signal
    return named or (candidates[0] if candidates else None)


def ranked_pods(sample: Sample) -> Iterator[RankedPod]:
    """Return the pods known at a sample, with their measured use."""
    usages = dict(zip(sample.uids, _usages(sample), strict=True))
    for uid, specs in sample.pods.items():
        ranking = specs.priority, specs.memory_request_bytes, specs.ephemeral_request_bytes
        pod = RankedPod(specs.namespace, specs.name, uid, *ranking, has_stats=False, critical=specs.critical)
        yield _with_stats(pod, usages[uid]) if uid in usages else pod


def _usages(sample: Sample) -> list[tuple[int, ...]]:
    values = array("q", sample.usages)
    count = len(sample.uids)
    return [tuple(values[index::count]) for index in range(count)]


def _with_stats(pod: RankedPod, usage: tuple[int, ...]) -> RankedPod:
    fields: dict[str, Any] = dict(zip(USAGES, usage, strict=True))
    return pod._replace(has_stats=True, **fields)
