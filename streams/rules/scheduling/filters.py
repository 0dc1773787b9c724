"""The scheduler's reasons against a node that do not depend on other pods (rules: scheduler-fit,
scheduler-messages).

Gates, names, taints, the node selector and affinity, host ports, resources, volumes and device claims; `neighbours`
has the rest.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ingest.model.objects.node import Taint
from ingest.model.objects.pod import Toleration
from streams.rules.numa.topology_manager import Machine, Request, Settings
from streams.rules.scheduling.blind_spot import is_tolerated, tolerates
from streams.rules.scheduling.constraints import ANY_ADDRESS, HostPort, unknowns
from streams.rules.scheduling.device_claims import NO_DEVICES, DeviceNeed, NodeDevices, device_needs, device_reasons
from streams.rules.scheduling.neighbours import Neighbour, Place, is_among
from streams.rules.scheduling.storage import Claim
from streams.rules.scheduling.volume_needs import NO_EVIDENCE, Need, NodeVolumes, needs_of, volume_reasons

FREE_PORTS: Final = "node(s) didn't have free ports for the requested pod ports"


def conflict(wanted: Sequence[HostPort], used: Iterable[HostPort]) -> bool:
    """Tell whether a wanted port is used: the same port and protocol, on the same address or on all."""
    return any(_conflicts(each, other) for other in used for each in wanted)


def _conflicts(one: HostPort, other: HostPort) -> bool:
    addresses = {one.host_ip, other.host_ip}
    return (one.protocol, one.port) == (other.protocol, other.port) and (
        len(addresses) == 1 or ANY_ADDRESS in addresses
    )


NATIVE: Final = ("cpu", "memory", "ephemeral-storage")
_NOT_REQUESTED_FITS_SINCE_MINOR: Final = 28
"""Since 1.28, a resource that the pod does not request cannot be insufficient."""


class Shortage(NamedTuple):
    """A resource that a node lacks; amounts in base units, cpu in millicores."""

    resource: str
    requested: int
    used: int
    """Requests of the pods on the node."""
    capacity: int
    """Allocatable."""

    @property
    def reason(self) -> str:
        """Return the shortage in the scheduler's words."""
        return "Too many pods" if self.resource == "pods" else f"Insufficient {self.resource}"

    @property
    def kubelets_reason(self) -> str:
        return (
            f"OutOf{self.resource}: Node didn't have enough resource: {self.resource}, requested: {self.requested}, "
            f"used: {self.used}, capacity: {self.capacity}"
        )


def shortages(
    pod_requests: Mapping[str, int],
    allocatable: Mapping[str, int],
    requested: Mapping[str, int],
    pods: int,
    allocatable_pods: int,
    minor_version: int,
) -> list[Shortage]:
    """Return what one more pod lacks on a node that has `pods` of them; the empty list where it fits.

    `requested` is the sum of their effective requests (rules: pod-requests). Amounts are in base units, cpu in
    millicores. `minor_version` is that of the component that decides, scheduler or kubelet: 28 for Kubernetes 1.28.
    Resources other than cpu, memory and ephemeral-storage come last and by name: the scheduler has no order for them.
    """
    found = [Shortage("pods", 1, pods, allocatable_pods)] if pods + 1 > allocatable_pods else []
    others = sorted(name for name in pod_requests if name not in {*NATIVE, "pods"})
    if not others and not any(pod_requests.get(name) for name in NATIVE):
        return found
    for name in (*NATIVE, *others):
        each = Shortage(name, pod_requests.get(name, 0), requested.get(name, 0), allocatable.get(name, 0))
        judged = each.requested > 0 or minor_version < _NOT_REQUESTED_FITS_SINCE_MINOR
        if judged and each.requested > each.capacity - each.used:
            found.append(each)
    return found


UNSCHEDULABLE: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
"""Set by the node's controller where `unschedulable` is, with the time."""
NOT_READY: Final = Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")
"""Set by the node's controller where the condition Ready is False."""
_REFUSING: Final = {
    "node.kubernetes.io/disk-pressure": "DiskPressure",
    "node.kubernetes.io/pid-pressure": "PIDPressure",
}
"""Conditions under which a kubelet admits no pod that is not critical, by the taints that follow them. Under memory
pressure alone it refuses those that do not tolerate the taint, and so does the scheduler.
"""
NO_ROOM_KNOWN: Final = "how much the node can give"
"""Stands for the room of a node whose allocatable resources were not seen, as in a table of nodes."""
_ALWAYS_STATED: Final = frozenset({"cpu", "memory", "pods"})
GATED: Final = "Scheduling is blocked due to non-empty scheduling gates"
OTHER_NAME: Final = "node(s) didn't match the requested node name"


class PodRequest(NamedTuple):
    containers: tuple[Request, ...]
    requests: dict[str, int]
    """Effective requests of the pod (rules: pod-requests) in base units, cpu in millicores."""
    itself: Neighbour = Neighbour("default")
    tolerations: tuple[Toleration, ...] = ()
    node_name: str = ""
    """The node that its spec names."""
    ignored: frozenset[str] = frozenset()
    """Extended resources that no node has: the scheduler may be configured to ignore them (ignoredByScheduler)."""
    unknown: tuple[str, ...] = ()
    """Other missing facts about the pod."""
    created_claims: Mapping[str, Claim] = {}
    """Claims that are created with the pod, by volume."""
    needs: tuple[Need, ...] | None = None
    """Requirements of its volumes; None if they were not looked up."""
    device_needs: tuple[DeviceNeed, ...] | None = None
    """Requirements of its device claims; None if they were not looked up."""
    insists: bool = True
    """If true, a node whose kubelet pins no CPUs does not fit it."""
    is_critical: bool = False
    """True if kubelets under pressure admit it."""
    priority: int | None = 0
    """None if the value of its class is unknown."""

    @property
    def heeded(self) -> dict[str, int]:
        """Return the requests that the scheduler considers."""
        return {name: amount for name, amount in self.requests.items() if name not in self.ignored}

    @property
    def known_needs(self) -> tuple[Need, ...]:
        if self.needs is None:
            return needs_of(self.itself.constraints, self.itself.namespace, NO_EVIDENCE)
        return self.needs

    @property
    def exclusive_cpus(self) -> int:
        """Return the sum over its running containers, or the largest init container if that is more."""
        running = sum(container.cpus for container in self.containers if not container.is_init)
        return max(running, *(container.cpus for container in self.containers if container.is_init), 0)


class NodeState(NamedTuple):
    """The known facts about a node; amounts in base units, cpu in millicores."""

    node: str
    allocatable: dict[str, int]
    requested: dict[str, int]
    pods: int
    ready: bool | None = True
    """None if its condition Ready is Unknown or missing."""
    unschedulable: bool = False
    taints: tuple[str, ...] = ()
    """Taints as `key=value:effect`."""
    settings: tuple[Settings, ...] = (Settings(),)
    """Settings of its kubelet; if unknown, all possible ones."""
    machine: Machine | None = None
    """None if no source reports the free resources of each NUMA node."""
    free_cpus: int | None = None
    """Free exclusive CPUs of the whole node, if only that number is known."""
    labels: Mapping[str, str] = {}
    neighbours: tuple[Neighbour, ...] = ()
    """The pods on the node; empty also if they were not read."""
    volumes: NodeVolumes = NodeVolumes(limits=None)
    devices: NodeDevices = NodeDevices()
    """Devices that claims can get."""


def scheduler_reasons(node: NodeState, pod: PodRequest, scheduler_minor: int) -> list[str]:
    """Return why the scheduler refuses the pod, in its version's words (rules: scheduler-fit, scheduler-messages)."""
    reasons = [GATED] if pod.itself.constraints.gates else []
    if pod.node_name not in {"", node.node}:
        reasons.append(OTHER_NAME)
    if node.unschedulable and not tolerates(pod.tolerations, UNSCHEDULABLE):
        reasons.append("node(s) were unschedulable")
    reasons += [
        taint_text(taint.key, taint.value, scheduler_minor)
        for taint in untolerated_taints(node, pod)
        if not (node.unschedulable and taint.key == UNSCHEDULABLE.key)
    ]
    if not is_among(Place(node.node, node.labels), pod.itself.constraints):
        reasons.append(_left_out(scheduler_minor))
    if _ports_clash(node, pod):
        reasons.append(FREE_PORTS)
    reasons += [each.reason for each in node_shortages(node, pod, scheduler_minor)]
    reasons += _of_volumes(node, pod, scheduler_minor)[0]
    reasons += _of_devices(node, pod, scheduler_minor)[0]
    return list(dict.fromkeys(reasons))


def node_shortages(node: NodeState, pod: PodRequest, scheduler_minor: int) -> list[Shortage]:
    """Return what the pod lacks there, less what the scheduler may ignore; nothing if the node's room is unknown."""
    unseen = unseen_resources(node.allocatable, pod.heeded)
    most = node.allocatable.get("pods", 0)
    found = shortages(pod.heeded, node.allocatable, node.requested, node.pods, most, scheduler_minor)
    return [each for each in found if each.resource not in unseen]


def unseen_resources(allocatable: Mapping[str, int], requests: Mapping[str, int]) -> frozenset[str]:
    """Return the resources that a pod needs and whose allocatable amount was not seen.

    Every kubelet states cpu, memory and pods. If one of them is missing, only a part was printed, such as a column.
    """
    if allocatable.keys() >= _ALWAYS_STATED:
        return frozenset()
    needed = {name for name, amount in requests.items() if amount}
    return frozenset({*needed, "pods"} - allocatable.keys())


def _of_volumes(node: NodeState, pod: PodRequest, scheduler_minor: int) -> tuple[list[str], list[str]]:
    return volume_reasons(pod.known_needs, node.node, node.labels, node.volumes, scheduler_minor)


def _of_devices(node: NodeState, pod: PodRequest, scheduler_minor: int) -> tuple[list[str], list[str]]:
    needs, itself = pod.device_needs, pod.itself
    if needs is None:
        needs = device_needs(itself.constraints, itself.namespace, NO_DEVICES, scheduler_minor)
    return device_reasons(needs, node.node, node.labels, node.devices)


def perhaps_ignored(
    requests: Mapping[str, int], known: Collection[str], reasons: Collection[str] = ()
) -> frozenset[str]:
    """Return the requested extended resources that are not `known` of any node, so the scheduler may ignore them.

    It leaves out those that the scheduler's own `reasons` say are insufficient.
    """
    asked = (name for name, amount in requests.items() if "/" in name and amount and name not in known)
    return frozenset(name for name in asked if f"Insufficient {name}" not in reasons)


def missing_facts(node: NodeState, pod: PodRequest, scheduler_minor: int) -> list[str]:
    """Return the missing facts that would decide the placement."""
    missing = [NO_ROOM_KNOWN] if unseen_resources(node.allocatable, pod.heeded) else []
    missing += [*_of_volumes(node, pod, scheduler_minor)[1], *_of_devices(node, pod, scheduler_minor)[1]]
    heeded = (f"whether the scheduler considers {name}, which no node has" for name in sorted(pod.ignored))
    return [*unknowns(pod.itself.constraints), *missing, *heeded, *pod.unknown]


def untolerated_taints(node: NodeState, pod: PodRequest) -> list[Taint]:
    return [taint for taint in _taints(node) if not tolerates(pod.tolerations, taint)]


def disliked_taints(node: NodeState, pod: PodRequest) -> list[Taint]:
    """Return the taints that the pod does not tolerate and that keep it away only if another node is free of them."""
    soft = (taint for taint in _taints(node) if taint.effect == "PreferNoSchedule")
    return [taint for taint in soft if not is_tolerated(taint, pod.tolerations)]


def _taints(node: NodeState) -> list[Taint]:
    return [_taint(text) for text in node.taints]


def kubelets_pressure(node: NodeState, pod: PodRequest) -> str:
    """Return a kubelet's words of refusal under pressure; empty if it admits the pod (rules: eviction-messages)."""
    held = [] if pod.is_critical else [_REFUSING[each.key] for each in _taints(node) if each.key in _REFUSING]
    return f"The node had condition: [{' '.join(dict.fromkeys(held))}]" if held else ""


def kubelets_checks(node: NodeState, pod: PodRequest, minor: int) -> str:
    """Return a kubelet's words of refusal of a pod that names its node, so that no scheduler looks at it; empty if it
    admits the pod (rules: admission-texts). It ignores extended resources that the node does not have.
    """
    shortages_there = node_shortages(node, pod, minor)
    short = [each for each in shortages_there if each.resource in node.allocatable or not _is_extended(each.resource)]
    if short:
        return short[0].kubelets_reason
    if not is_among(Place(node.node, node.labels), pod.itself.constraints):
        return f"NodeAffinity: Predicate NodeAffinity failed: {_left_out(minor)}"
    if _ports_clash(node, pod):
        return f"NodePorts: Predicate NodePorts failed: {FREE_PORTS}"
    if any(taint.effect == "NoExecute" for taint in untolerated_taints(node, pod)):
        return "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"
    return ""


def _is_extended(resource: str) -> bool:
    return "/" in resource and "kubernetes.io/" not in resource


def _ports_clash(node: NodeState, pod: PodRequest) -> bool:
    used = [each for other in node.neighbours for each in other.constraints.ports]
    return conflict(pod.itself.constraints.ports, used)


def place_of(node: NodeState, pod: PodRequest) -> Place:
    return Place(node.node, node.labels, node.neighbours, bool(untolerated_taints(node, pod)))


def _taint(text: str) -> Taint:
    named, _, effect = text.rpartition(":")
    key, _, value = named.partition("=")
    return Taint(key=key, value=value, effect=effect)


def _left_out(scheduler_minor: int) -> str:
    if scheduler_minor < 20:  # noqa: PLR2004  these two: versions of its words
        return "node(s) didn't match node selector"
    return f"node(s) didn't match Pod's node affinity{'/selector' * (scheduler_minor > 20)}"  # noqa: PLR2004


def taint_text(key: str, value: str, scheduler_minor: int) -> str:
    """Return the words for a taint that a pod does not tolerate (rules: scheduler-messages)."""
    if scheduler_minor < 18:  # noqa: PLR2004  these three: versions of its words
        return "node(s) had taints that the pod didn't tolerate"
    if scheduler_minor < 24:  # noqa: PLR2004
        return f"node(s) had taint {{{key}: {value}}}, that the pod didn't tolerate"
    return f"node(s) had untolerated taint {{{key}: {value}}}" if scheduler_minor < 34 else _UNTOLERATED  # noqa: PLR2004


_UNTOLERATED: Final = "node(s) had untolerated taint(s)"
