"""Judges each pending pod on each node: view `pending_fit` (rules: exclusive-cpus, scheduler-fit,
scheduler-messages).

Pods of one kind are equal for every rule. Each kind is judged once for all nodes that are alike to it. Left out:
from the kubelet's verdict memory and devices, CPUs of several containers (they count as one container's), and that
several pending pods compete.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from itertools import repeat
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from ingest.model.objects.pod import Toleration
from streams.rules.numa.topology_manager import Request
from streams.rules.scheduling.constraints import Constraints, Namespaces, NeighbourTerm, restored
from streams.rules.scheduling.device_claims import NO_DEVICES, Devices, device_needs
from streams.rules.scheduling.filters import (
    NATIVE,
    NO_ROOM_KNOWN,
    UNSCHEDULABLE,
    NodeState,
    PodRequest,
    missing_facts,
    node_shortages,
    perhaps_ignored,
    place_of,
    scheduler_reasons,
    unseen_resources,
    untolerated_taints,
)
from streams.rules.scheduling.fit import kubelets_verdict
from streams.rules.scheduling.neighbours import Neighbour, Neighbourhood, Place, named, places_named
from streams.rules.scheduling.selectors import NODE_NAME, Terms
from streams.rules.scheduling.storage import TOPOLOGY_LABELS
from streams.rules.scheduling.volume_needs import NO_EVIDENCE, Need, Storage, needs_of

MOST_PAIRS: Final = 1_500_000
"""Maximum number of judged pairs of a kind of pods and a node, which take about two seconds.

Further kinds are unknown.
"""
TOO_MANY: Final = "the result for this pod: too many kinds of pods wait, and it was not judged"
_Words: TypeAlias = tuple[str, ...]
_NOTHING: Final[tuple[_Words, _Words]] = ((), ())


class Waiting(NamedTuple):
    namespace: str
    pod: str
    uid: str
    requests: dict[str, int] = {}  # noqa: RUF012  nobody mutates it
    exclusive_cpus: int = 0
    tolerations: _Words = ()
    """Tolerations as key=value:effect, or key:effect for any value."""
    labels: Mapping[str, str] = {}
    constraints: str = ""
    """Constraints as JSON."""
    scheduler_reasons: Mapping[str, int] = {}
    """The scheduler's own reasons, with their counts."""
    scheduler_reasons_at: datetime | None = None


def waiting_pod(
    namespace: str, pod: str, uid: str, requests: dict[str, int], cpus: int, tolerations: Iterable[str], *others: Any
) -> Waiting:
    """Read a pod from the columns of its row."""
    return Waiting(namespace, pod, uid, requests, cpus, tuple(tolerations), *others)


class Outcome(NamedTuple):
    fits: bool | None
    """None if it is unknown."""
    reasons: _Words = ()
    """The scheduler's reasons, in its words."""
    unknowns: _Words = ()
    taints: _Words = ()
    """Taints that it does not tolerate, as key=value:effect."""
    numa_verdict: str = "unknown"
    """The kubelet's verdict: admitted, not_exclusive, not_pinned, unknown or the reason of its refusal."""


class Kind(NamedTuple):
    pods: Sequence[Waiting]
    outcomes: Mapping[Outcome, Sequence[int]]
    """The positions of each verdict's nodes."""


def request_of(
    pod: Waiting,
    constraints: Constraints,
    known: Collection[str],
    scheduler_minor: int,
    pods: Iterable[tuple[str, Constraints]],
    storage: Storage,
    devices: Devices,
) -> PodRequest:
    """Return a pod's request from its row, with the `known` resources, the `pods` on nodes and the namespaces."""
    return PodRequest(
        (Request(pod.exclusive_cpus),),
        pod.requests,
        Neighbour(pod.namespace, pod.labels, constraints),
        tuple(map(_toleration, pod.tolerations)),
        ignored=perhaps_ignored(pod.requests, known, pod.scheduler_reasons),
        needs=needs_of(constraints, pod.namespace, storage, pods=pods, uid=pod.uid),
        device_needs=device_needs(constraints, pod.namespace, devices, scheduler_minor, pod=(pod.pod, pod.uid)),
    )


def needs_all_pods(waiting: Iterable[Waiting]) -> bool:
    """Tell whether existing pods can affect a pending one without constraints."""
    return any(is_choosy(restored(text)) for text in {pod.constraints for pod in waiting})


def judged(
    waiting: Iterable[Waiting],
    nodes: Sequence[NodeState],
    scheduler_minor: int,
    *,
    storage: Storage = NO_EVIDENCE,
    namespaces: Mapping[str, Mapping[str, str]] = {},
    devices: Devices = NO_DEVICES,
) -> Iterator[Kind]:
    """Yield all kinds of pods with their verdicts on the nodes; `nodes` have their pods."""
    judge = _Judge(nodes, scheduler_minor, storage, namespaces, devices)
    kinds = defaultdict[Hashable, list[Waiting]](list)
    for pod in sorted(waiting):
        kinds[judge.kind(pod)].append(pod)
    for number, pods in enumerate(kinds.values()):
        enough = number * len(nodes) > MOST_PAIRS
        unjudged = {Outcome(None, unknowns=(TOO_MANY,)): range(len(nodes))}
        yield Kind(pods, unjudged if enough else judge.outcomes(pods[0]))


class _Judge:
    """The nodes, grouped into classes that the rules treat alike."""

    def __init__(
        self,
        nodes: Sequence[NodeState],
        scheduler_minor: int,
        storage: Storage,
        namespaces: Namespaces,
        devices: Devices,
    ) -> None:
        self._nodes, self._minor = nodes, scheduler_minor
        self._storage, self._devices = storage, devices
        self._resources = set().union(*(each.allocatable for each in nodes))
        self._near = PodsThere(nodes, namespaces)
        self._cached: dict[Hashable, Sequence[Any]] = {}
        self._restored: dict[str, Constraints] = {}

    def kind(self, pod: Waiting) -> Hashable:
        """Return a key that is equal for pods that every rule treats alike."""
        constraints = self._constraints(pod)
        itself = Neighbour(pod.namespace, pod.labels, constraints)
        owns = bool(constraints.claimed or constraints.devices)
        return (
            frozenset(pod.requests.items()),
            pod.exclusive_cpus,
            pod.tolerations,
            pod.constraints,
            self._near.kind(itself),
            perhaps_ignored(pod.requests, self._resources, pod.scheduler_reasons),
            pod[:3] if owns else pod.namespace if pod.constraints else "",
        )

    def outcomes(self, pod: Waiting) -> Mapping[Outcome, Sequence[int]]:
        request = self._request(pod)
        near: Iterable[tuple[_Words, _Words]] = repeat(_NOTHING)
        itself, around, places = self._near.around(request)
        if around is not None:
            near = [(tuple(around.reasons(place)), tuple(around.unknowns(place))) for place in places]
        request = request._replace(itself=itself)
        found = defaultdict[Outcome, list[int]](list)
        known: dict[Hashable, list[int]] = {}
        looks, room = self._looks(request), self._room(request)
        for index, key in enumerate(zip(looks, room, self._machines(pod), near, strict=False)):
            same = known.get(key)
            if same is None:
                same = known[key] = found[self._outcome(self._nodes[index], request, key[2], key[3])]
            same.append(index)
        return found

    def _outcome(self, node: NodeState, pod: PodRequest, verdict: str, near: tuple[_Words, _Words]) -> Outcome:
        reasons = (*scheduler_reasons(node, pod, self._minor), *near[0])
        unknowns = (*missing_facts(node, pod, self._minor), *near[1])
        taints = tuple(
            f"{each.key}={each.value}:{each.effect}"
            for each in untolerated_taints(node, pod)
            if not (node.unschedulable and each.key == UNSCHEDULABLE.key)
        )
        fits = None if verdict == "unknown" or not node.ready or unknowns else True
        return Outcome(False if reasons or verdict.endswith("Error") else fits, reasons, unknowns, taints, verdict)

    def _constraints(self, pod: Waiting) -> Constraints:
        found = self._restored.get(pod.constraints)
        if found is None:
            found = self._restored[pod.constraints] = restored(pod.constraints)
        return found

    def _request(self, pod: Waiting) -> PodRequest:
        constraints = self._constraints(pod)
        pods = self._near.bound[pod.namespace] if constraints.claimed else ()
        return request_of(pod, constraints, self._resources, self._minor, pods, self._storage, self._devices)

    def _looks(self, pod: PodRequest) -> Sequence[int]:
        """Return the class of each node, by everything that the scheduler reads of it except resources and other
        pods.
        """
        constraints, needs = pod.itself.constraints, pod.known_needs
        of_devices = _keys(*(each.nodes for each in pod.device_needs or ()))
        keys = tuple(sorted({*_keys(constraints.nodes), *_keys_of_needs(needs), *of_devices}))
        drivers = tuple(sorted({(each.driver, each.identity) for each in needs if each.driver}))
        cache_key = keys, bool(constraints.ports), drivers, bool(pod.device_needs)
        if cache_key not in self._cached:
            self._cached[cache_key] = _classes(_look(each, *cache_key) for each in self._nodes)
        return self._cached[cache_key]

    def _room(self, pod: PodRequest) -> Sequence[_Words]:
        requests = pod.heeded
        cache_key = "room", frozenset(requests.items())
        if cache_key not in self._cached:
            exceeds = [
                [requests.get(name, 0) > free for free in self._free(name)] for name in sorted({*NATIVE, *requests})
            ]
            unseen = [unseen_resources(each.allocatable, requests) for each in self._nodes]
            short = list(zip(unseen, self._full, *exceeds, strict=True))
            one_each = dict(zip(short, self._nodes, strict=True))
            words = {each: self._short(node, pod, each[0]) for each, node in one_each.items()}
            self._cached[cache_key] = [words[each] for each in short]
        return self._cached[cache_key]

    def _short(self, node: NodeState, pod: PodRequest, unseen: Collection[str]) -> _Words:
        found = (each.reason for each in node_shortages(node, pod, self._minor))
        return (*found, NO_ROOM_KNOWN) if unseen else tuple(found)

    def _free(self, name: str) -> Sequence[int]:
        cache_key = "free", name
        if cache_key not in self._cached:
            self._cached[cache_key] = [
                each.allocatable.get(name, 0) - each.requested.get(name, 0) for each in self._nodes
            ]
        return self._cached[cache_key]

    @cached_property
    def _full(self) -> Sequence[bool]:
        return [each.pods + 1 > each.allocatable.get("pods", 0) for each in self._nodes]

    def _machines(self, pod: Waiting) -> Sequence[str]:
        cache_key = "machine", pod.exclusive_cpus
        if cache_key not in self._cached:
            self._cached[cache_key] = list(self._verdicts(PodRequest((Request(pod.exclusive_cpus),), {})))
        return self._cached[cache_key]

    def _verdicts(self, pod: PodRequest) -> Iterator[str]:
        known: dict[Hashable, str] = {}
        for node in self._nodes:
            # memory and devices are not requested
            machine = node.machine and (node.machine.topology, node.machine.free, node.machine.reserved)
            key = pod.exclusive_cpus and (machine, node.free_cpus, node.settings)
            if key not in known:
                known[key] = kubelets_verdict(node, pod)
            yield known[key]


def _classes(things: Iterable[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(each, len(numbers)) for each in things]


def _look(
    node: NodeState, keys: Sequence[str], ports: bool, drivers: Sequence[tuple[str, str]], devices: bool
) -> Hashable:
    there = node.devices
    return (
        (node.unschedulable, node.ready, node.taints),
        tuple(node.node if key == NODE_NAME else node.labels.get(key) for key in keys),
        ports and tuple(port for other in node.neighbours for port in other.constraints.ports),
        tuple(_attached(node, drivers)) if drivers else (),
        devices and (frozenset(there.free.items()), frozenset(there.plain.items()), there.known, there.complete),
    )


def _attached(node: NodeState, drivers: Sequence[tuple[str, str]]) -> Iterator[Hashable]:
    limits, used, attached = node.volumes[:3]
    for counted in (Counter(driver for driver, _ in used), Counter(driver for driver, _ in attached)):
        yield tuple(counted[driver] for driver, _ in drivers)
    yield limits is None or tuple(limits.get(driver) for driver, _ in drivers)
    yield tuple((each in used, each in attached) for each in drivers)
    yield node.volumes.complete


def _keys(*affinities: Terms | None) -> set[str]:
    return {each.key for terms in affinities for term in terms or () for each in term}


def _keys_of_needs(needs: Iterable[Need]) -> set[str]:
    keys = set[str]()
    for each in needs:
        keys |= _keys(each.nodes, each.topologies, *each.candidates)
        keys |= {*TOPOLOGY_LABELS} if each.topology else set()
        keys |= {NODE_NAME} if each.selected_node is not None else set()
    return keys


def _toleration(text: str) -> Toleration:
    named_, _, effect = text.rpartition(":")
    key, equals, value = named_.partition("=")
    return Toleration(key=key, operator="Equal" if equals else "Exists", value=value, effect=effect)


class PodsThere:
    """The pods on all nodes, and how they affect each of many others."""

    def __init__(self, nodes: Sequence[NodeState], namespaces: Namespaces) -> None:
        self._nodes, self._namespaces = nodes, namespaces
        self._there = {other.namespace for node in nodes for other in node.neighbours}
        self._named: dict[tuple[bool, bool], list[Place]] = {}
        self._kinds: dict[Hashable, Hashable] = {}

    @cached_property
    def bound(self) -> Mapping[str, Sequence[tuple[str, Constraints]]]:
        found = defaultdict[str, list[tuple[str, Constraints]]](list)
        for node in self._nodes:
            for other in node.neighbours:
                found[other.namespace].append((other.namespace, other.constraints))
        return found

    def kind(self, pod: Neighbour) -> Hashable:
        """Return a key that is equal for pods that other pods affect in the same way."""
        labels = pod.namespace, frozenset(pod.labels.items())
        if is_choosy(pod.constraints):
            return labels
        if labels not in self._kinds:
            known = pod.namespace in self._namespaces
            self._kinds[labels] = tuple(
                (number, term.selects(pod.namespace, pod.labels))
                for number, term in enumerate(self._terms[known])
                if term.selects(pod.namespace, pod.labels) or term.may_select(pod.labels)
            )
        return self._kinds[labels]

    def around(self, pod: PodRequest) -> tuple[Neighbour, Neighbourhood | None, Sequence[Place]]:
        """Return the pod with the names of namespaces, and the effect of other pods; None without any effect."""
        known, choosy = pod.itself.namespace in self._namespaces, is_choosy(pod.itself.constraints)
        itself = named(pod.itself, self._namespaces, complete=known and self._there <= self._namespaces.keys())
        if not choosy and not self.kind(pod.itself):
            return itself, None, ()
        places = self._places(known=known, every=choosy)
        if any(each.honours_taints for each in pod.itself.constraints.spread):
            places = [
                place._replace(repels=place_of(node, pod).repels)
                for place, node in zip(places, self._nodes, strict=True)
            ]
        return itself, Neighbourhood(itself, places), places

    def _places(self, *, known: bool, every: bool) -> list[Place]:
        """Return places with all pods, or only with pods that have rules about other pods."""
        cache_key = known, every
        if cache_key not in self._named:
            places = [
                Place(
                    node.node,
                    node.labels,
                    [each for each in node.neighbours if every or each.constraints.anti_affinity],
                )
                for node in self._nodes
            ]
            self._named[cache_key] = places_named(places, self._namespaces, complete=known)
        return self._named[cache_key]

    @cached_property
    def _terms(self) -> Mapping[bool, Sequence[NeighbourTerm]]:
        """Return the distinct anti-affinities of existing pods, by whether the other pod's namespace is known."""
        return {known: self._distinct(known=known) for known in (False, True)}

    def _distinct(self, *, known: bool) -> list[NeighbourTerm]:
        places = self._places(known=known, every=False)
        terms = {id(term): term for place in places for pod in place.pods for term in pod.constraints.anti_affinity}
        return [*{msgspec.json.encode(term): term for term in terms.values()}.values()]


def is_choosy(constraints: Constraints) -> bool:
    """Tell whether a pod has rules about other pods, which can affect pods without constraints."""
    return bool(constraints.affinity or constraints.anti_affinity or constraints.spread)
