"""Folds each record of a node's log into the state of `numa_skew`.

Every function returns the same state object if a record has no news, so that nothing is concluded again, and raises
BadRecord for a record that makes no sense.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from common.errors import BadRecord
from ingest.model.cpuset import parse_cpuset
from ingest.model.objects.pod import Pod, PodAnnotations
from ingest.model.records import (
    CpuManagerRecord,
    CpuTopologyRecord,
    InventoryRecord,
    KnownNodeRecord,
    MemoryManagerRecord,
    MetricsRecord,
    NodeRecord,
    NodeResourceTopologyRecord,
    PodRecord,
    PodResourcesRecord,
    SettingsRecord,
    SourceErrorRecord,
)
from ingest.resources.node_resource_topologies import NODE_RESOURCE_TOPOLOGIES
from streams.analytics.numa.state import Kubelet, Machine, PinnedPod, State, uids_by_name
from streams.rules.numa.cpu_checkpoint import BadCheckpoint, parse_cpu_manager_state
from streams.rules.numa.memory_checkpoint import parse_memory_manager_state
from streams.rules.numa.objects import crane_cpus, koordinator_cpus, parse_topology_object
from streams.rules.numa.podresources import allocatable_cpus, podresources_view
from streams.rules.numa.sources import (
    CHECKPOINT,
    GAUGE,
    KOORDINATOR,
    PODRESOURCES,
    TOTAL,
    VOLCANO,
    Holder,
    NumaView,
    metrics_view,
)
from streams.rules.numa.topology import InvalidTopology, numa_topology
from streams.rules.pods.qos import GUARANTEED, has_ended
from streams.rules.pods.requests import exclusive_cpus
from streams.rules.values.labels import is_control_plane
from streams.rules.values.quantity import millicores

_NOTHING: Final = PodAnnotations()
_KOORDINATOR_POLICY: Final = "node.koordinator.sh/numa-topology-policy"
_GANGS: Final = ("pod-group.scheduling.sigs.k8s.io", "gang.scheduling.koordinator.sh/name")
"""Labels that keep the pods of a group together."""


def take_checkpoint(state: State, record: CpuManagerRecord) -> State:
    if record.checkpoint == state.checkpoint_text:
        return state
    try:
        parsed = parse_cpu_manager_state(record.checkpoint)
    except BadCheckpoint as error:
        raise BadRecord("bad_checkpoint", str(error)) from None
    holders = [
        Holder("", "", uid, container, parse_cpuset(cpus))
        for uid, containers in parsed.entries.items()
        for container, cpus in containers.items()
    ]
    holders += [Holder("", "", uid, "", parse_cpuset(cpus)) for uid, cpus in parsed.pod_entries.items()]
    view = NumaView(
        CHECKPOINT,
        "exact",
        "kubelet",
        holders=tuple(sorted(holder for holder in holders if holder.cpus)),
        cpu_manager_policy=parsed.policy,
    )
    changed = msgspec.structs.replace(
        state, checkpoint_text=record.checkpoint, checkpoint=view, checkpoint_cpus=len(parsed.all_cpus())
    )
    return _without_ended_pods(changed)


def take_memory(state: State, record: MemoryManagerRecord) -> State:
    """Forget an ended pod that the next checkpoint does not name."""
    parsed = state.memory
    if parsed is None or record.checkpoint != state.memory_text:
        try:
            parsed = parse_memory_manager_state(record.checkpoint)
        except BadCheckpoint as error:
            raise BadRecord("bad_checkpoint", str(error)) from None
    ended = state.ended & (parsed.entries.keys() | parsed.pod_entries.keys())
    if parsed is state.memory and ended == state.ended:
        return state
    return msgspec.structs.replace(state, memory_text=record.checkpoint, memory=parsed, ended=ended)


def take_topology(state: State, record: CpuTopologyRecord) -> State:
    cpus = tuple(record.cpus)
    return state if cpus == state.sysfs else _with_topology(msgspec.structs.replace(state, sysfs=cpus))


def take_podresources(state: State, record: PodResourcesRecord) -> State:
    view, allocatable = podresources_view(record.pods, record.allocatable), allocatable_cpus(record.allocatable)
    if (view, allocatable) == (state.podresources, state.allocatable):
        return state
    return _without_ended_pods(msgspec.structs.replace(state, podresources=view, allocatable=allocatable))


def take_error(state: State, record: SourceErrorRecord) -> State:
    """Drop the answer of a failing service, so that it does not contradict a checkpoint that is still read."""
    if record.resource != PODRESOURCES or state.podresources is None or state.checkpoint is None:
        return state
    return _without_ended_pods(msgspec.structs.replace(state, podresources=None))


def take_metrics(state: State, record: MetricsRecord) -> State:
    metrics = tuple(metric for metric in record.metrics if metric.name in {GAUGE, TOTAL})
    if metrics == state.metrics:
        return state
    view = metrics_view(metrics)
    named = frozenset(zone.numa_node for zone in view.zones) if view else frozenset[int]()
    return msgspec.structs.replace(state, metrics=metrics, gauges=view, named=state.named | named)


def take_object(state: State, record: NodeResourceTopologyRecord) -> State:
    view = parse_topology_object(record.object)
    if record.change == "DELETED":
        objects = {source: each for source, each in state.objects.items() if source != view.source}
    elif state.objects.get(view.source) == view:
        return msgspec.structs.replace(state, objects_at=record.ts)
    else:
        objects = {**state.objects, view.source: view}
    named = frozenset(zone.numa_node for zone in view.zones if zone.cpus)
    changed = msgspec.structs.replace(state, objects=objects, objects_at=record.ts, named=state.named | named)
    return _with_topology(changed)


def take_inventory(state: State, record: InventoryRecord) -> State:
    """Drop the object of this node if a complete list lacks it, unless it is newer than the list."""
    if record.resource != NODE_RESOURCE_TOPOLOGIES.name or record.keys or not state.objects:
        return state
    if state.objects_at is not None and state.objects_at > record.ts:
        return state
    return _with_topology(msgspec.structs.replace(state, objects={}))


def take_settings(state: State, record: SettingsRecord) -> State:
    config = record.config
    parse_cpuset(config.reserved_system_cpus)
    kubelet = Kubelet(
        cpu_manager_policy=config.cpu_manager_policy or "none",
        topology_manager_policy=config.topology_manager_policy or "none",
        reserved_system_cpus=config.reserved_system_cpus,
        reserved_millicores=sum(
            millicores((amounts or {}).get("cpu", 0)) for amounts in (config.system_reserved, config.kube_reserved)
        ),
        topology_manager_scope=config.topology_manager_scope or "container",
    )
    return state if kubelet == state.kubelet else msgspec.structs.replace(state, kubelet=kubelet)


def take_node(state: State, record: NodeRecord | KnownNodeRecord) -> State:
    node = record.object
    labels, annotations = node.metadata.labels, node.metadata.annotations
    taints = {taint.key for taint in node.spec.taints or ()}
    allocatable: Mapping[str, str | int | float] = node.status.allocatable or {}
    if annotations and annotations.koordinator_raw_allocatable:
        # koordinator can amplify allocatable beyond the machine's capacity (rules: koordinator)
        allocatable = _raw_allocatable(annotations.koordinator_raw_allocatable)
    machine = Machine(
        created_at=node.metadata.creation_timestamp,
        kubelet_version=node.status.node_info.kubelet_version,
        control_plane=bool(taints & {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})
        or is_control_plane(labels),
        capacity_millicores=millicores((node.status.capacity or {}).get("cpu", 0)),
        allocatable_millicores=millicores(allocatable.get("cpu", 0)),
        topology_policy=(labels or {}).get(_KOORDINATOR_POLICY, ""),
    )
    return state if machine == state.machine else msgspec.structs.replace(state, machine=machine)


def take_pod(state: State, record: PodRecord) -> State:
    pod, uid = record.object, record.object.metadata.uid
    known = state.pods.get(uid)
    if has_ended(record):
        if state.memory is not None and pod.status.qos_class in {GUARANTEED, ""} and uid not in state.ended:
            state = msgspec.structs.replace(state, ended=state.ended | {uid})
        if known is None or not known.is_active:
            return state
        ended = {**state.pods, uid: known._replace(is_active=False)}
        return _without_ended_pods(msgspec.structs.replace(state, pods=ended))
    annotations = pod.metadata.annotations or _NOTHING
    if known is None and pod.status.qos_class not in {GUARANTEED, ""} and annotations == _NOTHING:
        return state
    pinned = _pinned(pod, annotations, record.ts if known is None else known.arrived_at)
    if pinned == known or (known is None and not bool(pinned.cpus or pinned.koordinator_cpus or pinned.crane_cpus)):
        return state
    return msgspec.structs.replace(state, pods={**state.pods, uid: pinned})


def _with_topology(state: State) -> State:
    known = (state.sysfs, *(state.objects[s].cpus for s in (KOORDINATOR, VOLCANO) if s in state.objects))
    cpus = next((each for each in known if each), ())
    try:
        return msgspec.structs.replace(state, topology=numa_topology(cpus) if cpus else None)
    except InvalidTopology as error:
        raise BadRecord("bad_topology", str(error)) from None


def _without_ended_pods(state: State) -> State:
    named = {holder.uid for holder in state.checkpoint.holders} if state.checkpoint else set()
    if state.podresources:
        uids = uids_by_name(state)
        named |= {uids.get((holder.namespace, holder.pod), "") for holder in state.podresources.holders}
    pods = {uid: pod for uid, pod in state.pods.items() if pod.is_active or uid in named}
    return state if len(pods) == len(state.pods) else msgspec.structs.replace(state, pods=pods)


def _pinned(pod: Pod, annotations: PodAnnotations, seen_at: datetime) -> PinnedPod:
    labels = pod.metadata.labels or {}
    bound = next((c for c in pod.status.conditions or () if c.type == "PodScheduled" and c.status == "True"), None)
    cpus = exclusive_cpus(pod)
    return PinnedPod(
        namespace=pod.metadata.namespace,
        pod=pod.metadata.name,
        cpus=cpus,
        arrived_at=(bound and bound.last_transition_time) or pod.metadata.creation_timestamp or seen_at,
        group=next((name for label in _GANGS if (name := labels.get(label))), ""),
        koordinator_cpus=koordinator_cpus(annotations),
        crane_cpus=crane_cpus(annotations),
        is_active=True,
    )


def _raw_allocatable(text: str) -> dict[str, str | int | float]:
    try:
        return msgspec.json.decode(text, type=dict[str, str | int | float])
    except msgspec.DecodeError as error:
        raise BadRecord("wrong_value", f"raw-allocatable: {error}") from None
