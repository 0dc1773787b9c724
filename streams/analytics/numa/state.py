"""The state of `numa_skew`: the known facts about a node's NUMA nodes, from its log."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, NamedTuple

import msgspec

from ingest.model.cpuset import parse_cpuset
from ingest.model.machine import Cpu, Metric
from ingest.model.records import NodeNumaRecord
from streams.fold.findings import NumaAllocation, NumaPod, NumaResource, NumaSkew, NumaWhatif
from streams.fold.shelves import Shelves
from streams.rules.numa.memory_checkpoint import MemoryManagerState
from streams.rules.numa.objects import with_crane_pods
from streams.rules.numa.podresources import names_exclusive_cpus
from streams.rules.numa.resolve import NodeFacts
from streams.rules.numa.sources import CRANE, KOORDINATOR, POD_SPEC, Holder, NumaView
from streams.rules.numa.topology import NumaTopology, whole_cpus

UNKNOWN_ARRIVAL: Final = datetime(1970, 1, 1, tzinfo=UTC)


class PinnedPod(NamedTuple):
    """A pod that holds CPUs exclusively, or would under the static policy."""

    namespace: str
    pod: str
    cpus: int
    """CPUs by its spec (rules: exclusive-cpus)."""
    arrived_at: datetime
    group: str
    koordinator_cpus: frozenset[int]
    crane_cpus: dict[int, int]
    is_active: bool
    """True if the pod ended; it is kept while a source still names it."""

    def cpus_by(self, source: str) -> int:
        """Return the CPUs that it holds by crane's result, or by its spec."""
        return sum(self.crane_cpus.values()) if source == CRANE else self.cpus


class Kubelet(NamedTuple):
    """The kubelet settings that decide which CPUs are exclusive."""

    cpu_manager_policy: str
    topology_manager_policy: str
    reserved_system_cpus: str
    reserved_millicores: int
    topology_manager_scope: str = "container"


class Machine(NamedTuple):
    created_at: datetime | None
    kubelet_version: str
    control_plane: bool
    capacity_millicores: int
    allocatable_millicores: int
    topology_policy: str
    """Policy by koordinator's label."""


class Pending(NamedTuple):
    numa_node: int
    source: str
    mine: int
    its: int
    since: datetime
    is_reported: bool


class WrittenRows(msgspec.Struct, frozen=True):
    """The last rows that were written, by their key within the node."""

    allocations: dict[str, NumaAllocation] = {}
    pods: dict[str, NumaPod] = {}
    skew: NumaSkew | None = None
    whatif: dict[str, NumaWhatif] = {}
    resources: dict[str, NumaResource] = {}
    summary: NodeNumaRecord | None = None


class State(msgspec.Struct, frozen=True):
    cluster: str = ""
    node: str = ""
    sysfs: tuple[Cpu, ...] = ()
    topology: NumaTopology | None = None
    checkpoint_text: str = ""
    checkpoint: NumaView | None = None
    checkpoint_cpus: int = 0
    """Shared and exclusive CPUs."""
    memory_text: str = ""
    memory: MemoryManagerState | None = None
    metrics: tuple[Metric, ...] = ()
    gauges: NumaView | None = None
    podresources: NumaView | None = None
    allocatable: frozenset[int] = frozenset()
    """CPUs by podresources; empty if it does not report them."""
    objects: dict[str, NumaView] = {}
    """Views of API objects by source."""
    objects_at: datetime | None = None
    """When one of them last changed."""
    pods: dict[str, PinnedPod] = {}
    """Pods by uid."""
    ended: frozenset[str] = frozenset()
    """Uids of Guaranteed pods that ended and that the memory manager's checkpoint may name yet."""
    refused: Shelves[bool] = {}
    """Uids of pods that failed admission and were not deleted yet."""
    refused_at: dict[str, datetime] = {}
    """Times of rejections with only an Event as witness, by uid."""
    kubelet: Kubelet | None = None
    machine: Machine | None = None
    named: frozenset[int] = frozenset()
    """NUMA nodes that any source ever named."""
    vague_since: datetime | None = None
    """Time since which the best source does not know NUMA nodes."""
    is_settled: bool = False
    """True if it has not known them for so long that no other source will."""
    pending: dict[str, Pending] = {}
    shown: WrittenRows = WrittenRows()


def views(state: State) -> Iterator[NumaView]:
    pods = {uid: pod for uid, pod in state.pods.items() if pod.is_active}
    objects = dict(state.objects)
    by_koordinator = tuple(
        Holder(pod.namespace, pod.pod, uid, "", pod.koordinator_cpus)
        for uid, pod in pods.items()
        if pod.koordinator_cpus
    )
    if KOORDINATOR in objects or by_koordinator:
        view = objects.pop(KOORDINATOR, NumaView(KOORDINATOR, "exact", "koordinator"))
        known = {holder.uid for holder in by_koordinator}
        others = tuple(holder for holder in view.holders if holder.uid not in known)
        yield view._replace(holders=tuple(sorted(by_koordinator + others)))
    by_crane = {uid: pod.crane_cpus for uid, pod in pods.items() if pod.crane_cpus}
    if CRANE in objects or by_crane:
        yield with_crane_pods(objects.pop(CRANE, None), by_crane)
    yield from objects.values()
    version = state.machine.kubelet_version if state.machine else ""
    if state.podresources is not None and names_exclusive_cpus(version):
        uids = uids_by_name(state)
        holders = (each._replace(uid=uids.get((each.namespace, each.pod), "")) for each in state.podresources.holders)
        yield state.podresources._replace(holders=tuple(sorted(holders)))
    yield from (view for view in (state.checkpoint, state.gauges) if view is not None)
    if pods or state.shown.skew is not None:
        pins = cpu_policy(state) in {"static", ""}
        yield NumaView(
            POD_SPEC,
            "none",
            exclusive_cpus=sum(pod.cpus for pod in pods.values()) if pins else 0,
            quirk="pod specs show how many exclusive CPUs the node gives, never on which NUMA node",
        )


def device_views(state: State) -> Iterator[NumaView]:
    """Yield the views that can have more than CPUs."""
    if state.podresources is not None:
        yield state.podresources
    yield from state.objects.values()


def uids_by_name(state: State) -> dict[tuple[str, str], str]:
    """Return the uids of pods by namespace and name; an active pod wins over an ended one."""
    pods = sorted(state.pods.items(), key=lambda each: each[1].is_active)
    return {(pod.namespace, pod.pod): uid for uid, pod in pods}


def facts(state: State) -> NodeFacts:
    kubelet, machine = state.kubelet, state.machine
    capacity = machine.capacity_millicores // 1000 if machine else state.checkpoint_cpus
    reserved = None
    if kubelet is not None and kubelet.reserved_system_cpus:
        reserved = parse_cpuset(kubelet.reserved_system_cpus)
    elif state.allocatable and state.topology is not None:
        reserved = state.topology.cpus - state.allocatable
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
    """Return the CPU Manager's policy: by the kubelet's last checkpoint, else by other sources; empty if unknown."""
    if state.checkpoint is not None:
        return state.checkpoint.cpu_manager_policy
    if state.kubelet is not None:
        return state.kubelet.cpu_manager_policy
    return next((view.cpu_manager_policy for view in device_views(state) if view.cpu_manager_policy), "")


def topology_policy(state: State) -> str:
    """Return the Topology Manager's policy in the kubelet's spelling, empty if unknown."""
    if state.machine is not None and state.machine.topology_policy == "SingleNUMANode":
        return "single-numa-node"
    if state.kubelet is not None:
        return state.kubelet.topology_manager_policy
    reported = (view.topology_manager_policy for view in state.objects.values())
    return next((policy for policy in reported if policy), "")


def topology_scope(state: State) -> str:
    """Return the Topology Manager's scope in the kubelet's spelling, empty if unknown."""
    if state.kubelet is not None:
        return state.kubelet.topology_manager_scope
    reported = (view.topology_manager_scope for view in state.objects.values())
    return next((scope for scope in reported if scope), "")
