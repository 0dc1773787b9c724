"""Computes how existing pods affect each of many others (rules: scheduler-fit)."""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property

import msgspec

from streams.rules.scheduling.constraints import Constraints, Namespaces, NeighbourTerm
from streams.rules.scheduling.filters import NodeState, PodRequest, place_of
from streams.rules.scheduling.neighbours import Neighbour, Neighbourhood, Place, named, places_named


class PodsThere:
    """The pods on all nodes."""

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
        """The same for pods on which others bear in the same way."""
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
        """The pod with the names of namespaces, and what the pods there have to do with it; None for nothing."""
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
        """Places with all pods, or only with pods that choose their neighbours."""
        asks = known, every
        if asks not in self._named:
            places = [
                Place(
                    node.node,
                    node.labels,
                    [each for each in node.neighbours if every or each.constraints.anti_affinity],
                )
                for node in self._nodes
            ]
            self._named[asks] = places_named(places, self._namespaces, complete=known)
        return self._named[asks]

    @cached_property
    def _terms(self) -> Mapping[bool, Sequence[NeighbourTerm]]:
        """Each different one by which pods that are there keep others away, by whether the namespace of the other is
        known.
        """
        return {known: self._distinct(known=known) for known in (False, True)}

    def _distinct(self, *, known: bool) -> list[NeighbourTerm]:
        places = self._places(known=known, every=False)
        terms = {id(term): term for place in places for pod in place.pods for term in pod.constraints.anti_affinity}
        return [*{msgspec.json.encode(term): term for term in terms.values()}.values()]


def is_choosy(constraints: Constraints) -> bool:
    """Tell whether a pod chooses its neighbours, so that pods without constraints can be affected."""
    return bool(constraints.affinity or constraints.anti_affinity or constraints.spread)
