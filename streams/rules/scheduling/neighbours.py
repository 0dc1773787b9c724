"""Computes effects of existing pods on a new one: affinity, anti-affinity and spread (rules: scheduler-fit)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from streams.rules.scheduling.constraints import (
    NO_PREFERENCES,
    NONE,
    Constraints,
    Namespaces,
    NeighbourTerm,
    Preferences,
    Spread,
    preferences_with_names,
    with_names,
)
from streams.rules.scheduling.selectors import NODE_NAME, matches, meets_any

LACKS_LABEL: Final = "node(s) didn't match pod topology spread constraints (missing required label)"
UNEVEN: Final = "node(s) didn't match pod topology spread constraints"
NO_NEIGHBOUR: Final = "node(s) didn't match pod affinity rules"
BAD_NEIGHBOUR: Final = "node(s) didn't match pod anti-affinity rules"
UNWELCOME: Final = "node(s) didn't satisfy existing pods anti-affinity rules"
_Domain: TypeAlias = tuple[str, str]


class Neighbour(NamedTuple):
    """The facts about a pod that affinity and topology spread use."""

    namespace: str
    labels: Mapping[str, str] = {}
    constraints: Constraints = NONE
    terminating: bool = False
    preferences: Preferences = NO_PREFERENCES


class Place(NamedTuple):
    """The facts about a node that affinity and topology spread use."""

    node: str
    labels: Mapping[str, str]
    pods: Sequence[Neighbour] = ()
    repels: bool = False
    """True if it has a taint that the pod does not tolerate."""


def in_namespaces(pod: Neighbour, places: Sequence[Place], namespaces: Namespaces) -> tuple[Neighbour, list[Place]]:
    """Return the pod and the existing pods with the names of the namespaces that their terms select by labels."""
    there = {other.namespace for place in places for other in place.pods}
    is_known = pod.namespace in namespaces
    itself = named(pod, namespaces, complete=is_known and there <= namespaces.keys())
    return itself, places_named(places, namespaces, complete=is_known)


def places_named(places: Sequence[Place], namespaces: Namespaces, *, complete: bool) -> list[Place]:
    """Return the places with the names of selected namespaces; `complete` if that of the new pod is known."""
    return [
        place._replace(pods=[named(other, namespaces, complete=complete) for other in place.pods]) for place in places
    ]


def named(pod: Neighbour, namespaces: Namespaces, *, complete: bool) -> Neighbour:
    """Return the pod with the names of selected namespaces, or unchanged if its terms select none."""
    constraints = with_names(pod.constraints, namespaces, complete=complete)
    preferences = preferences_with_names(pod.preferences, namespaces, complete=complete)
    is_same = constraints is pod.constraints and preferences is pod.preferences
    return pod if is_same else pod._replace(constraints=constraints, preferences=preferences)


def is_among(place: Place, constraints: Constraints) -> bool:
    """Tell whether the pod's node selector and affinity allow that node."""
    return meets_any(constraints.nodes, {**place.labels, NODE_NAME: place.node})


def is_counted(each: Spread, place: Place, pod: Neighbour) -> bool:
    """Tell whether the pods of that node count for the pod's spread."""
    if each.honours_taints and place.repels:
        return False
    return not each.honours_affinity or is_among(place, pod.constraints)


def spreads_with(each: Spread, pod: Neighbour, other: Neighbour) -> bool:
    """Tell whether the constraint spreads the other pod together with the pod."""
    if other.namespace != pod.namespace or other.terminating:
        return False
    return bool(each.selector) and matches(each.selector, other.labels)


class _Effect(NamedTuple):
    """The terms and spread constraints through which an existing pod affects the new one."""

    other: Neighbour
    is_any: bool
    near: Sequence[NeighbourTerm]
    away: Sequence[NeighbourTerm]
    unwelcome: Sequence[NeighbourTerm]
    perhaps: Sequence[NeighbourTerm]
    alike: Sequence[Spread]


class Neighbourhood:
    """Computes the effect of all existing pods on one more pod; `join` adds an existing one, or removes one."""

    def __init__(self, pod: Neighbour, places: Iterable[Place]) -> None:
        self.pod = pod
        wants = pod.constraints
        self._near = Counter[_Domain]()
        self._away = Counter[_Domain]()
        self._unwelcome = Counter[_Domain]()
        self._perhaps_unwelcome = Counter[_Domain]()
        self._spread: list[dict[str, int]] = [{} for _ in wants.spread]
        self._effects: dict[int, _Effect] = {}
        """Effects of each pod, by its identity: most pods are equal, and the same object."""
        for place in places:
            for counts, each in self._counted(place):
                counts.setdefault(place.labels[each.topology_key], 0)
            for other in place.pods:
                self.join(place, other)

    def join(self, place: Place, other: Neighbour, by: Literal[1, -1] = 1) -> None:
        effect = self._effects.get(id(other))
        if effect is None:
            effect = self._effects[id(other)] = self._effect(other)
        if not effect.is_any:
            return
        labels = place.labels
        for counted, terms in (
            (self._near, effect.near),
            (self._away, effect.away),
            (self._unwelcome, effect.unwelcome),
            (self._perhaps_unwelcome, effect.perhaps),
        ):
            for domain in _domains(terms, labels):
                counted[domain] += by
                if not counted[domain]:
                    del counted[domain]
        if effect.alike:
            for counts, each in self._counted(place):
                if each in effect.alike:
                    counts[labels[each.topology_key]] += by

    def _effect(self, other: Neighbour) -> "_Effect":
        pod, wants = self.pod, self.pod.constraints
        near = bool(wants.affinity) and all(term.selects(other.namespace, other.labels) for term in wants.affinity)
        theirs = other.constraints.anti_affinity
        unwelcome = [term for term in theirs if term.selects(pod.namespace, pod.labels)]
        parts = (
            wants.affinity if near else (),
            [term for term in wants.anti_affinity if term.selects(other.namespace, other.labels)],
            unwelcome,
            [term for term in theirs if term not in unwelcome and term.may_select(pod.labels)],
            [each for each in wants.spread if spreads_with(each, pod, other)],
        )
        return _Effect(other, any(parts), *parts)

    def reasons(self, place: Place) -> list[str]:
        """Return why the scheduler does not place the pod there, in its words."""
        return [*self._unspread(place), *self._refused_by_affinity(place)]

    def unknowns(self, place: Place) -> list[str]:
        if self._perhaps_unwelcome.keys().isdisjoint(place.labels.items()):
            return []
        return ["which namespaces the anti-affinity of pods that are there selects"]

    def crowd(self, place: Place) -> int:
        """Count the evenly spread pods in its domains: the emptiest domains are filled first."""
        return sum(
            counts.get(place.labels.get(each.topology_key, ""), 0)
            for counts, each in zip(self._spread, self.pod.constraints.spread, strict=True)
        )

    def _counted(self, place: Place) -> Iterator[tuple[dict[str, int], Spread]]:
        spread = self.pod.constraints.spread
        if all(each.topology_key in place.labels for each in spread):
            for counts, each in zip(self._spread, spread, strict=True):
                if is_counted(each, place, self.pod):
                    yield counts, each

    def _unspread(self, place: Place) -> Iterator[str]:
        for counts, each in zip(self._spread, self.pod.constraints.spread, strict=True):
            value = place.labels.get(each.topology_key)
            if value is None:
                yield LACKS_LABEL
                return
            fewest = min(counts.values()) if len(counts) >= max(1, each.min_domains) else 0
            itself = matches(each.selector, self.pod.labels)
            if counts.get(value, 0) + itself - fewest > each.max_skew:
                yield UNEVEN
                return

    def _refused_by_affinity(self, place: Place) -> Iterator[str]:
        """Yield the reason of InterPodAffinity, which ends at the first refusal."""
        wants = self.pod.constraints
        if not self._is_near(place):
            yield NO_NEIGHBOUR
        elif any(self._away[domain] for domain in _domains(wants.anti_affinity, place.labels)):
            yield BAD_NEIGHBOUR
        elif not self._unwelcome.keys().isdisjoint(place.labels.items()):
            yield UNWELCOME

    def _is_near(self, place: Place) -> bool:
        wants = self.pod.constraints.affinity
        domains = _domains(wants, place.labels)
        if len(domains) < len(wants):
            return False
        if any(term.unknown_namespaces for term in wants) or all(self._near[domain] for domain in domains):
            return True
        # The first pod of a group that must be together may go anywhere.
        return not self._near and all(term.selects(self.pod.namespace, self.pod.labels) for term in wants)


def _domains(terms: Sequence[NeighbourTerm], labels: Mapping[str, str]) -> list[_Domain]:
    return [(term.topology_key, labels[term.topology_key]) for term in terms if term.topology_key in labels]
