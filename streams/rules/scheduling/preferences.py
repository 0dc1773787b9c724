"""Defines the stored inputs of scheduler scores from a pod, besides those of filters (rules: scheduler-scores)."""

from collections.abc import Iterator
from typing import Final

import msgspec

from ingest.model.objects.pod import Pod, PodAffinity
from streams.rules.pods.requests import unrequested
from streams.rules.scheduling.constraints import (
    Namespaces,
    NeighbourTerm,
    Spread,
    neighbour_term,
    spread_of,
    term_with_names,
)
from streams.rules.scheduling.selectors import Requirement, node_terms


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
_decode: Final = msgspec.json.Decoder(Preferences).decode


def preferred(text: str) -> Preferences:
    """Decode what `constraints.stored` encoded."""
    return _decode(text) if text else NO_PREFERENCES


def preferences_of(pod: Pod) -> Preferences:
    affinity, added = pod.spec.affinity, unrequested(pod)
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
