"""What a node's log told about its NUMA nodes so far: the state of `numa_skew`, and how each record changes it.

Every function returns the same state object where a record tells nothing new, so that nothing is concluded again.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from ingest.objects import KubeletConfiguration, Pod, PodAnnotations, PodLabels
from ingest.observation import BadRecord
from ingest.records import (
    Cpu,
    CpuManagerRecord,
    CpuTopologyRecord,
    MemoryManagerRecord,
    Metric,
    MetricsRecord,
    NodeNumaRecord,
    NodeRecord,
    NodeResourceTopologyRecord,
    PodRecord,
    SettingsRecord,
)
from streams.findings import NumaAllocation, NumaPod, NumaResource, NumaSkew, NumaWhatif
from streams.rules.checkpoint import BadCheckpoint, parse_cpu_manager_state
from streams.rules.cpuset import InvalidCpuSet, parse_cpuset
from streams.rules.memory_checkpoint import MemoryManagerState, parse_memory_manager_state
from streams.rules.numa_objects import crane_cpus, koordinator_cpus, parse_topology_object, with_crane_pods
from streams.rules.numa_resolve import NodeFacts
from streams.rules.numa_sources import (
    CHECKPOINT,
    CRANE,
    KOORDINATOR,
    POD_SPEC,
    VOLCANO,
    Holder,
    NumaView,
    metrics_view,
)
from streams.rules.qos import GUARANTEED
from streams.rules.quantity import InvalidQuantity, millicores
from streams.rules.requests import exclusive_cpus
from streams.rules.topology import InvalidTopology, NumaTopology, numa_topology, whole_cpus

FINISHED: Final = frozenset({"Succeeded", "Failed"})
UNKNOWN_ARRIVAL: Final = datetime(1970, 1, 1, tzinfo=UTC)
_NOTHING: Final = PodAnnotations()
_NO_LABELS: Final = PodLabels()


class PinnedPod(NamedTuple):
    """A pod that holds CPUs exclusively, or would under the static policy."""

    namespace: str
    pod: str
    cpus: int
    """By its spec (A8)."""
    arrived_at: datetime
    group: str
    koordinator_cpus: frozenset[int]
    crane_cpus: dict[int, int]
    is_active: bool
    """A pod that ended is kept while a source still names it."""


class Kubelet(NamedTuple):
    """The settings that decide about exclusive CPUs."""

    cpu_manager_policy: str
    topology_manager_policy: str
    reserved_system_cpus: str
    reserved_millicores: int


class Machine(NamedTuple):
    """What the Node object tells."""

    created_at: datetime | None
    kubelet_version: str
    control_plane: bool
    capacity_millicores: int
    allocatable_millicores: int
    topology_policy: str
    """By koordinator's label."""


class Pending(NamedTuple):
    """A disagreement and since when it stands."""

    numa_node: int
    source: str
    mine: int
    its: int
    since: datetime
    is_told: bool


class Shown(msgspec.Struct, frozen=True):
    """The rows as they were last written."""

    allocations: tuple[NumaAllocation, ...] = ()
    pods: tuple[NumaPod, ...] = ()
    skew: NumaSkew | None = None
    whatif: tuple[NumaWhatif, ...] = ()
    resources: tuple[NumaResource, ...] = ()
    summary: NodeNumaRecord | None = None


class State(msgspec.Struct, frozen=True):
    cluster: str = ""
    node: str = ""
    sysfs: tuple[Cpu, ...] = ()
    topology: NumaTopology | None = None
    checkpoint_text: str = ""
    checkpoint: NumaView | None = None
    checkpoint_cpus: int = 0
    """Shared and exclusive ones together."""
    memory_text: str = ""
    memory: MemoryManagerState | None = None
    metrics: tuple[Metric, ...] = ()
    gauges: NumaView | None = None
    objects: dict[str, NumaView] = {}
    """Views of API objects by source."""
    pods: dict[str, PinnedPod] = {}
    """By uid."""
    refused: frozenset[str] = frozenset()
    """Uids of pods that failed admission and were not deleted yet."""
    kubelet: Kubelet | None = None
    machine: Machine | None = None
    named: frozenset[int] = frozenset()
    """NUMA nodes that any source ever named."""
    vague_since: datetime | None = None
    """Since when the best source does not know NUMA nodes."""
    is_settled: bool = False
    """It did not for so long that nobody else will."""
    pending: dict[str, Pending] = {}
    shown: Shown = Shown()


def take_checkpoint(state: State, record: CpuManagerRecord) -> State:
    """Raises BadRecord."""
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
    """Raises BadRecord."""
    if record.checkpoint == state.memory_text:
        return state
    try:
        parsed = parse_memory_manager_state(record.checkpoint)
    except BadCheckpoint as error:
        raise BadRecord("bad_checkpoint", str(error)) from None
    return msgspec.structs.replace(state, memory_text=record.checkpoint, memory=parsed)


def take_topology(state: State, record: CpuTopologyRecord) -> State:
    """Raises BadRecord."""
    cpus = tuple(record.cpus)
    if cpus == state.sysfs:
        return state
    return _with_topology(msgspec.structs.replace(state, sysfs=cpus))


def take_metrics(state: State, record: MetricsRecord) -> State:
    """Raises BadRecord."""
    metrics = tuple(m for m in record.metrics if m.name.startswith("kubelet_cpu_manager_") and _tells_cpus(m.name))
    if metrics == state.metrics:
        return state
    view = metrics_view(metrics)
    named = frozenset(zone.numa_node for zone in view.zones) if view else frozenset[int]()
    return msgspec.structs.replace(state, metrics=metrics, gauges=view, named=state.named | named)


def take_object(state: State, record: NodeResourceTopologyRecord) -> State:
    """Raises BadRecord."""
    view = parse_topology_object(record.object)
    if record.change == "DELETED":
        objects = {source: each for source, each in state.objects.items() if source != view.source}
    elif state.objects.get(view.source) == view:
        return state
    else:
        objects = {**state.objects, view.source: view}
    named = frozenset(zone.numa_node for zone in view.zones if zone.cpus)
    return _with_topology(msgspec.structs.replace(state, objects=objects, named=state.named | named))


def take_settings(state: State, record: SettingsRecord) -> State:
    """Raises BadRecord."""
    config = record.config
    try:
        parse_cpuset(config.reserved_system_cpus)
        kubelet = Kubelet(
            cpu_manager_policy=config.cpu_manager_policy or "none",
            topology_manager_policy=config.topology_manager_policy or "none",
            reserved_system_cpus=config.reserved_system_cpus,
            reserved_millicores=_reserved_millicores(config),
        )
    except (InvalidCpuSet, InvalidQuantity) as error:
        raise BadRecord("bad_settings", f"configz: {error}") from None
    return state if kubelet == state.kubelet else msgspec.structs.replace(state, kubelet=kubelet)


def take_node(state: State, record: NodeRecord) -> State:
    """Raises BadRecord."""
    node = record.object
    labels, annotations = node.metadata.labels, node.metadata.annotations
    taints = {taint.key for taint in node.spec.taints or ()}
    allocatable: Mapping[str, str | int | float] = node.status.allocatable or {}
    if annotations and annotations.koordinator_raw_allocatable:
        # Amplified by koordinator, allocatable can exceed what the machine has (A5).
        allocatable = _raw_allocatable(annotations.koordinator_raw_allocatable)
    try:
        machine = Machine(
            created_at=node.metadata.creation_timestamp,
            kubelet_version=node.status.node_info.kubelet_version,
            control_plane=bool(taints & {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})
            or (labels is not None and (labels.control_plane is not None or labels.master is not None)),
            capacity_millicores=millicores((node.status.capacity or {}).get("cpu", 0)),
            allocatable_millicores=millicores(allocatable.get("cpu", 0)),
            topology_policy=labels.koordinator_numa_topology_policy if labels else "",
        )
    except InvalidQuantity as error:
        raise BadRecord("bad_quantity", f"node: {error}") from None
    return state if machine == state.machine else msgspec.structs.replace(state, machine=machine)


def take_pod(state: State, record: PodRecord) -> State:
    """Raises BadRecord."""
    pod, uid = record.object, record.object.metadata.uid
    known = state.pods.get(uid)
    if record.change == "DELETED" or pod.status.phase in FINISHED:
        if known is None or not known.is_active:
            return state
        ended = {**state.pods, uid: known._replace(is_active=False)}
        return _without_ended_pods(msgspec.structs.replace(state, pods=ended))
    annotations = pod.metadata.annotations or _NOTHING
    if known is None and pod.status.qos_class not in {GUARANTEED, ""} and annotations == _NOTHING:
        return state
    pinned = _pinned(pod, annotations, record.ts if known is None else known.arrived_at)
    if pinned == known or (known is None and not _holds(pinned)):
        return state
    return msgspec.structs.replace(state, pods={**state.pods, uid: pinned})


def views(state: State) -> Iterator[NumaView]:
    """What each source tells now."""
    pods = {uid: pod for uid, pod in state.pods.items() if pod.is_active}
    objects = dict(state.objects)
    by_koordinator = tuple(
        Holder(pod.namespace, pod.pod, uid, "", pod.koordinator_cpus)
        for uid, pod in pods.items()
        if pod.koordinator_cpus
    )
    if KOORDINATOR in objects or by_koordinator:
        view = objects.pop(KOORDINATOR, NumaView(KOORDINATOR, "exact", "koordinator"))
        told = {holder.uid for holder in by_koordinator}
        others = tuple(holder for holder in view.holders if holder.uid not in told)
        yield view._replace(holders=tuple(sorted(by_koordinator + others)))
    by_crane = {uid: pod.crane_cpus for uid, pod in pods.items() if pod.crane_cpus}
    if CRANE in objects or by_crane:
        yield with_crane_pods(objects.pop(CRANE, None), by_crane)
    yield from objects.values()
    yield from (view for view in (state.checkpoint, state.gauges) if view is not None)
    if pods or state.shown.skew is not None:
        pins = cpu_policy(state) in {"static", ""}
        yield NumaView(
            POD_SPEC,
            "none",
            exclusive_cpus=sum(pod.cpus for pod in pods.values()) if pins else 0,
            quirk="pod specs tell how many exclusive CPUs the node gives, never on which NUMA node",
        )


def facts(state: State) -> NodeFacts:
    kubelet, machine = state.kubelet, state.machine
    capacity = machine.capacity_millicores // 1000 if machine else state.checkpoint_cpus
    reserved = None
    if kubelet is not None and kubelet.reserved_system_cpus:
        reserved = parse_cpuset(kubelet.reserved_system_cpus)
    if kubelet is not None:
        amount: int | None = whole_cpus(kubelet.reserved_millicores)
    elif machine is not None and machine.allocatable_millicores:
        amount = max(0, whole_cpus(machine.capacity_millicores - machine.allocatable_millicores))
    else:
        amount = None
    return NodeFacts(
        topology=state.topology,
        numa_named=state.named,
        capacity_cpus=capacity or None,
        reserved=reserved,
        reserved_cpus=amount,
        reserved_assumed=kubelet is None,
    )


def cpu_policy(state: State) -> str:
    """The CPU Manager's policy by what the kubelet wrote last, else by what others say; empty where unknown."""
    if state.checkpoint is not None:
        return state.checkpoint.cpu_manager_policy
    if state.kubelet is not None:
        return state.kubelet.cpu_manager_policy
    return next((view.cpu_manager_policy for view in state.objects.values() if view.cpu_manager_policy), "")


def topology_policy(state: State) -> str:
    """The Topology Manager's policy in the kubelet's spelling, empty where unknown."""
    if state.machine is not None and state.machine.topology_policy == "SingleNUMANode":
        return "single-numa-node"
    if state.kubelet is not None:
        return state.kubelet.topology_manager_policy
    told = (view.topology_manager_policy for view in state.objects.values())
    return next((policy for policy in told if policy), "")


def _tells_cpus(name: str) -> bool:
    return name.endswith(("_allocation_per_numa", "_exclusive_cpu_allocation_count"))


def _with_topology(state: State) -> State:
    told = (state.sysfs, *(state.objects[s].cpus for s in (KOORDINATOR, VOLCANO) if s in state.objects))
    cpus = next((each for each in told if each), ())
    try:
        return msgspec.structs.replace(state, topology=numa_topology(cpus) if cpus else None)
    except InvalidTopology as error:
        raise BadRecord("bad_topology", str(error)) from None


def _without_ended_pods(state: State) -> State:
    """Forget pods that ended and that no source names any more."""
    named = {holder.uid for holder in state.checkpoint.holders} if state.checkpoint else set()
    pods = {uid: pod for uid, pod in state.pods.items() if pod.is_active or uid in named}
    return state if len(pods) == len(state.pods) else msgspec.structs.replace(state, pods=pods)


def _pinned(pod: Pod, annotations: PodAnnotations, seen_at: datetime) -> PinnedPod:
    labels = pod.metadata.labels or _NO_LABELS
    bound = next((c for c in pod.status.conditions or () if c.type == "PodScheduled" and c.status == "True"), None)
    try:
        cpus = exclusive_cpus(pod)
    except InvalidQuantity as error:
        raise BadRecord("bad_quantity", f"pod: {error}") from None
    return PinnedPod(
        namespace=pod.metadata.namespace,
        pod=pod.metadata.name,
        cpus=cpus,
        arrived_at=(bound and bound.last_transition_time) or pod.metadata.creation_timestamp or seen_at,
        group=labels.pod_group or labels.koordinator_gang,
        koordinator_cpus=koordinator_cpus(annotations),
        crane_cpus=crane_cpus(annotations),
        is_active=True,
    )


def _holds(pod: PinnedPod) -> bool:
    return bool(pod.cpus or pod.koordinator_cpus or pod.crane_cpus)


def _reserved_millicores(config: KubeletConfiguration) -> int:
    return sum(millicores((amounts or {}).get("cpu", 0)) for amounts in (config.system_reserved, config.kube_reserved))


def _raw_allocatable(text: str) -> dict[str, str | int | float]:
    try:
        return msgspec.json.decode(text, type=dict[str, str | int | float])
    except msgspec.DecodeError as error:
        raise BadRecord("bad_quantity", f"raw-allocatable: {error}") from None
