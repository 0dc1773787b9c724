"""Defines the stored inputs of the scheduler from a pod, besides requests and tolerations
(rules: scheduler-fit, scheduler-scores)."""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

import msgspec

from ingest.model.objects.node import Namespace
from ingest.model.objects.pod import (
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodResourceClaim,
    PodSpec,
    TopologySpreadConstraint,
)
from streams.rules.pods.containers import is_sidecar
from streams.rules.pods.requests import added_by_scores
from streams.rules.scheduling.selectors import Requirement, matches, node_terms, selector

DEFAULT_SCHEDULER: Final = "default-scheduler"
EVERY_NAMESPACE: Final = "*"
_NEVER: Final = "Never"
ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104  not bound to
_ELSEWHERE: Final = (
    "gce_persistent_disk",
    "aws_elastic_block_store",
    "azure_disk",
    "cinder",
    "vsphere_volume",
    "iscsi",
    "rbd",
)
"""Volumes without claims that can be attached to some nodes only."""


class ClaimedVolume(msgspec.Struct, frozen=True, array_like=True, gc=False):
    volume: str
    claim: str
    """A PersistentVolumeClaim of the pod's namespace."""
    ephemeral: bool = False
    """True if it is made for the pod, and deleted with it."""


class ClaimedDevices(msgspec.Struct, frozen=True, array_like=True, gc=False):
    name: str
    """The claim's name in the pod."""
    claim: str
    """A ResourceClaim of the pod's namespace; empty for one that must be made from a template."""
    from_template: bool = False
    """True if it is made for the pod."""


class HostPort(msgspec.Struct, frozen=True, array_like=True, gc=False):
    host_ip: str
    protocol: str
    port: int


class NeighbourTerm(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Pods to be near, or away from, within a domain: the nodes with one value of the label `topology_key`."""

    topology_key: str
    selector: list[Requirement]
    namespaces: list[str]
    unknown_namespaces: bool = False
    """True if the term also selects namespaces by label, and not all their names are known."""
    namespace_selector: list[Requirement] = []
    """Requirements on namespaces; empty if no more are selected."""

    def selects(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Tell whether the term selects a pod with these labels in this namespace."""
        return (EVERY_NAMESPACE in self.namespaces or namespace in self.namespaces) and matches(self.selector, labels)

    def may_select(self, labels: Mapping[str, str]) -> bool:
        """Tell whether it selects such a pod of a namespace that is not known yet."""
        return self.unknown_namespaces and matches(self.selector, labels)


class Spread(msgspec.Struct, frozen=True, array_like=True, gc=False):
    topology_key: str
    max_skew: int
    selector: list[Requirement]
    min_domains: int
    honours_affinity: bool
    """True if nodes that the pod's node selector and affinity exclude do not count."""
    honours_taints: bool


class Constraints(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    nodes: list[list[Requirement]] | None = None
    """Terms of which a node must meet one, with all its requirements; None if any node will do."""
    ports: list[HostPort] = []
    affinity: list[NeighbourTerm] = []
    anti_affinity: list[NeighbourTerm] = []
    spread: list[Spread] = []
    gates: list[str] = []
    volumes: list[str] = []
    """Names of volumes without a claim whose location the scheduler considers."""
    claims: list[str] = []
    """Device claims (DRA) with unknown objects."""
    claimed: list[ClaimedVolume] = []
    devices: list[ClaimedDevices] = []
    scheduler: str = ""
    """The scheduler's name, if it is not Kubernetes' own."""
    never_preempts: bool = False


NONE: Final = Constraints()
_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Constraints).decode


def constraints_of(pod: Pod) -> Constraints:
    spec = pod.spec
    ports, elsewhere, claimed = list(_host_ports(pod)), list(_elsewhere(pod)), list(_claimed(pod))
    if not (ports or elsewhere or claimed or _chooses(spec)):
        return NONE  # most pods
    affinity = spec.affinity
    node = affinity.node_affinity if affinity else None
    return Constraints(
        nodes=node_terms(
            spec.node_selector, (node.required.node_selector_terms or []) if node and node.required else None
        ),
        ports=sorted(set(ports), key=msgspec.structs.astuple),
        affinity=_terms(affinity.pod_affinity if affinity else None, pod.metadata.namespace),
        anti_affinity=_terms(affinity.pod_anti_affinity if affinity else None, pod.metadata.namespace),
        spread=spread_of(pod, "DoNotSchedule"),
        gates=[each.name for each in spec.scheduling_gates or ()],
        volumes=elsewhere,
        claims=[each.name for each in spec.resource_claims or () if not _is_named(each)],
        claimed=claimed,
        devices=list(_devices(pod)),
        scheduler=other_scheduler(pod.spec.scheduler_name),
        never_preempts=spec.preemption_policy == _NEVER,
    )


def stored(each: msgspec.Struct) -> str:
    """Encode constraints or preferences as JSON; empty if there are none."""
    return "" if each == type(each)() else _encode(each).decode()


def restored(text: str) -> Constraints:
    return _decode(text) if text else NONE


def other_scheduler(name: str) -> str:
    """Return a scheduler's name, empty for Kubernetes' own: another's words prove nothing about that one."""
    return "" if name == DEFAULT_SCHEDULER else name


def unknown_volume_text(volume: str) -> str:
    """Return the words for a volume whose possible nodes are unknown."""
    return f"where volume {volume} can be attached"


def unknown_claim_text(claim: str) -> str:
    """Return the words for a claim whose devices are unknown."""
    return f"which nodes have the devices of claim {claim}"


def unknowns(constraints: Constraints) -> list[str]:
    """Return the reasons why it is unknown for every node whether it would fit."""
    return [
        *map(unknown_volume_text, constraints.volumes),
        *map(unknown_claim_text, constraints.claims),
        *(
            f"which namespaces the {kind} by {term.topology_key} selects"
            for kind, terms in (("affinity", constraints.affinity), ("anti-affinity", constraints.anti_affinity))
            for term in terms
            if term.unknown_namespaces
        ),
    ]


def _chooses(spec: PodSpec) -> bool:
    """Tell whether a pod's own words may keep it from a node, apart from its ports and volumes."""
    return bool(
        spec.node_selector
        or spec.affinity
        or spec.topology_spread_constraints
        or spec.scheduling_gates
        or spec.resource_claims
        or other_scheduler(spec.scheduler_name)
        or spec.preemption_policy == _NEVER
    )


def _elsewhere(pod: Pod) -> Iterator[str]:
    for volume in pod.spec.volumes or ():
        if any(getattr(volume, kind) is not None for kind in _ELSEWHERE):
            yield volume.name


def _host_ports(pod: Pod) -> Iterator[HostPort]:
    sidecars = (each for each in pod.spec.init_containers or () if is_sidecar(each))
    for container in (*pod.spec.containers, *sidecars):
        for each in container.ports or ():
            port = each.host_port or (each.container_port if pod.spec.host_network else 0)
            if port > 0:
                yield HostPort(each.host_ip or ANY_ADDRESS, each.protocol or "TCP", port)


def _terms(affinity: PodAffinity | None, namespace: str) -> list[NeighbourTerm]:
    return [neighbour_term(each, namespace) for each in (affinity and affinity.required) or ()]


def neighbour_term(term: PodAffinityTerm, namespace: str) -> NeighbourTerm:
    where, names = term.namespace_selector, sorted(term.namespaces or ())
    more = [] if where is None else selector(where)
    if not more:
        names = (names or [namespace]) if where is None else [EVERY_NAMESPACE]
    return NeighbourTerm(term.topology_key, selector(term.label_selector), names, bool(more), more)


def spread_of(pod: Pod, when_unsatisfiable: str) -> list[Spread]:
    """Return its topology spread constraints of that kind."""
    wanted = pod.spec.topology_spread_constraints or ()
    return [_spread(each, pod) for each in wanted if each.when_unsatisfiable == when_unsatisfiable]


def _spread(constraint: TopologySpreadConstraint, pod: Pod) -> Spread:
    labels = pod.metadata.labels or {}
    own = [Requirement(key, "In", [labels[key]]) for key in constraint.match_label_keys or () if key in labels]
    return Spread(
        constraint.topology_key,
        constraint.max_skew,
        [*own, *selector(constraint.label_selector)],
        1 if constraint.min_domains is None else constraint.min_domains,
        constraint.node_affinity_policy != "Ignore",
        constraint.node_taints_policy == "Honor",
    )


def _claimed(pod: Pod) -> Iterator[ClaimedVolume]:
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            yield ClaimedVolume(volume.name, volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            yield ClaimedVolume(volume.name, f"{pod.metadata.name}-{volume.name}", ephemeral=True)


def _is_named(each: PodResourceClaim) -> bool:
    return bool(each.resource_claim_name or each.resource_claim_template_name)


def _devices(pod: Pod) -> Iterator[ClaimedDevices]:
    made = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses or ()}
    for each in filter(_is_named, pod.spec.resource_claims or ()):
        claim = each.resource_claim_name or made.get(each.name, "")
        if claim is not None:  # none is needed
            yield ClaimedDevices(each.name, claim, from_template=not each.resource_claim_name)


Namespaces: TypeAlias = Mapping[str, Mapping[str, str]]
"""The labels of each namespace, by name."""


class NamespaceFacts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    labels: dict[str, str] = {}


def namespace_facts(namespace: Namespace) -> NamespaceFacts:
    return NamespaceFacts(namespace.metadata.labels or {})


def with_names(constraints: Constraints, namespaces: Namespaces, *, complete: bool) -> Constraints:
    """Add the names of the namespaces that the terms select; `complete` if no other namespace matters."""
    terms = (constraints.affinity, constraints.anti_affinity)
    if not any(term.namespace_selector for kind in terms for term in kind):
        return constraints
    affinity, anti_affinity = (
        [term_with_names(term, namespaces, complete=complete) for term in kind] for kind in terms
    )
    return msgspec.structs.replace(constraints, affinity=affinity, anti_affinity=anti_affinity)


def term_with_names(term: NeighbourTerm, namespaces: Namespaces, *, complete: bool) -> NeighbourTerm:
    if not term.namespace_selector:
        return term
    found = [name for name, labels in namespaces.items() if matches(term.namespace_selector, labels)]
    return msgspec.structs.replace(term, namespaces=[*term.namespaces, *found], unknown_namespaces=not complete)


class PreferredNodes(msgspec.Struct, frozen=True, array_like=True, gc=False):
    weight: int
    requirements: list[Requirement]
    """Requirements that a node must all meet."""


class PreferredNeighbours(msgspec.Struct, frozen=True, array_like=True, gc=False):
    weight: int
    """Negative for pods to keep away from."""
    term: NeighbourTerm


class Preferences(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    nodes: list[PreferredNodes] = []
    neighbours: list[PreferredNeighbours] = []
    spread: list[Spread] = []
    """Its topology spread constraints that are not required (ScheduleAnyway)."""
    added: dict[str, int] = {}
    """Amounts that scores add to its requests by resource, for containers without a request."""


NO_PREFERENCES: Final = Preferences()
_decode_preferences: Final = msgspec.json.Decoder(Preferences).decode


def preferred(text: str) -> Preferences:
    """Decode what `constraints.stored` encoded."""
    return _decode_preferences(text) if text else NO_PREFERENCES


def preferences_of(pod: Pod) -> Preferences:
    affinity, added = pod.spec.affinity, added_by_scores(pod)
    if not (affinity or added or pod.spec.topology_spread_constraints):
        return NO_PREFERENCES  # most pods
    nodes = affinity.node_affinity.preferred if affinity and affinity.node_affinity else None
    return Preferences(
        nodes=[
            PreferredNodes(each.weight, requirements)
            for each in nodes or ()
            for requirements in node_terms(None, [each.preference]) or ()
        ],
        neighbours=[
            *_neighbours(affinity.pod_affinity if affinity else None, pod.metadata.namespace, 1),
            *_neighbours(affinity.pod_anti_affinity if affinity else None, pod.metadata.namespace, -1),
        ],
        spread=spread_of(pod, "ScheduleAnyway"),
        added=added,
    )


def _neighbours(affinity: PodAffinity | None, namespace: str, sign: int) -> Iterator[PreferredNeighbours]:
    for each in (affinity and affinity.preferred) or ():
        yield PreferredNeighbours(sign * each.weight, neighbour_term(each.pod_affinity_term, namespace))


def preferences_with_names(preferences: Preferences, namespaces: Namespaces, *, complete: bool) -> Preferences:
    """Add the names of the selected namespaces to the terms; `complete` if no other namespace matters."""
    if not any(each.term.namespace_selector for each in preferences.neighbours):
        return preferences
    found = [
        PreferredNeighbours(each.weight, term_with_names(each.term, namespaces, complete=complete))
        for each in preferences.neighbours
    ]
    return msgspec.structs.replace(preferences, neighbours=found)
