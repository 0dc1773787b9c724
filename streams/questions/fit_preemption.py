"""Names the pods that the scheduler would end for a pod that no node takes (rules: scheduler-preemption)."""

from collections.abc import Mapping, Sequence

import msgspec

from streams.rules.scheduling.budgets import Budget
from streams.rules.scheduling.constraints import Namespaces
from streams.rules.scheduling.filters import NodeState, PodRequest
from streams.rules.scheduling.neighbours import Place, places_named
from streams.rules.scheduling.preemption import BoundPod, Occupied, preempt


class VictimAnswer(msgspec.Struct, frozen=True):
    namespace: str
    pod: str
    priority: int | None
    breaks_budget: bool
    """True if a PodDisruptionBudget protects it now: the scheduler ends it only if it finds no others."""


class PreemptionAnswer(msgspec.Struct, frozen=True):
    nodes: list[str]
    """Equally good nodes; empty if no pod would be ended, or if that is unknown."""
    victims: list[VictimAnswer]
    """Pods that would be ended on the first of these nodes, most important first."""
    reason: str
    """Reason why no pod would be ended; empty if one would be, or if that is unknown."""
    unknown: list[str]
    """Missing facts that may change the answer."""


def preemption(
    pod: PodRequest,
    nodes: Sequence[NodeState],
    bound: Mapping[str, Sequence[BoundPod]],
    namespaces: Namespaces,
    budgets: Mapping[tuple[str, str], Budget],
    scheduler_minor: int,
    *,
    all_budgets: bool,
) -> PreemptionAnswer | None:
    """Return what preemption for a `prepared` pod would end; None if the scheduler tries none.

    `nodes` are all nodes, and `bound` has the pods on each; `all_budgets` if `budgets` has all there are.
    """
    if pod.node_name or pod.itself.constraints.scheduler:
        return None
    places = [Place(each.node, each.labels, [pod.itself for pod in bound.get(each.node, ())]) for each in nodes]
    places = places_named(places, namespaces, complete=pod.itself.namespace in namespaces)
    occupied = [_occupied(node, place, bound.get(node.node, ())) for node, place in zip(nodes, places, strict=True)]
    found = preempt(pod, occupied, budgets, scheduler_minor, all_budgets=all_budgets)
    if found is None:
        return None
    victims = found.targets[0].victims if found.targets else ()
    return PreemptionAnswer(
        nodes=[each.node for each in found.targets],
        victims=[
            VictimAnswer(each.pod.itself.namespace, each.pod.pod, each.pod.priority, each.breaks_budget)
            for each in victims
        ],
        reason=found.reason,
        unknown=list(found.unknown),
    )


def _occupied(node: NodeState, place: Place, bound: Sequence[BoundPod]) -> Occupied:
    pods = [each._replace(itself=itself) for each, itself in zip(bound, place.pods, strict=True)]
    return Occupied(node._replace(neighbours=tuple(place.pods)), pods)
