"""Computes the scores of the scheduler's plugins for the nodes that pass its filters (rules: scheduler-scores).

The default profile and feature gates of Kubernetes 1.36 are assumed. A plugin without evidence has a reason instead.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from streams.rules.scheduling.constraints import Spread
from streams.rules.scheduling.filters import NATIVE, NodeState, PodRequest, disliked_taints, place_of
from streams.rules.scheduling.neighbours import Neighbour, is_counted, spreads_with
from streams.rules.scheduling.selectors import NODE_NAME, Requirement, matches

MOST: Final = 100
"""The highest score of a plugin, before its weight."""
_COMPARED: Final = 100
"""Number of nodes passing the filters that the scheduler always compares."""
_SCORED: Final = NATIVE[:2]
_HOSTNAME: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"
_HASH: Final = "pod-template-hash"
"""Label by which the ReplicaSet of a Deployment selects its pods, and no others."""
_SELECTORS: Final = "no source has the Services and controllers that select it"
_IMAGES: Final = "the images on nodes are not kept"
_DEVICES: Final = "which of its alternatives a device claim gets is not judged"
_NAMESPACES: Final = "which namespaces a preferred affinity selects"
_PASSING: Final = "it depends on nodes that may pass the filters or not"
_Result: TypeAlias = list[int] | str
"""Score of each node, or why it is unknown."""


class Scores(NamedTuple):
    by_node: Mapping[str, Mapping[str, int | None]]
    """The score of each plugin, times its weight; None if it is unknown."""
    unknown: Mapping[str, str]
    """The reason by plugin."""


NO_SCORES: Final = Scores({}, {})


def scored(
    pod: PodRequest, nodes: Sequence[NodeState], passing: Sequence[NodeState], perhaps: Sequence[NodeState] = ()
) -> Scores:
    """Score the nodes that are `passing` the filters. `nodes` are all of them, with their pods.

    Some plugins compare nodes. Such a plugin is unknown if nodes that are `perhaps` passing too would change it.
    """
    plugins: dict[str, _Result] = {}
    for name, (weight, plugin) in _PLUGINS.items():
        found = plugin(pod, nodes, passing)
        if perhaps and not isinstance(found, str) and plugin(pod, nodes, [*passing, *perhaps])[: len(found)] != found:
            found = _PASSING
        plugins[name] = found if isinstance(found, str) else [weight * each for each in found]
    return Scores(
        {
            node.node: {name: None if isinstance(of, str) else of[index] for name, of in plugins.items()}
            for index, node in enumerate(passing)
        },
        {name: of for name, of in plugins.items() if isinstance(of, str)},
    )


def most_compared(nodes: int) -> int:
    """Return the number of passing nodes after which the scheduler stops, in a cluster of `nodes`."""
    percentage = max(5, 50 - nodes // 125)
    return max(_COMPARED, nodes * percentage // 100)


def _taint_toleration(pod: PodRequest, _: Sequence[NodeState], passing: Sequence[NodeState]) -> _Result:
    disliked = [len(disliked_taints(each, pod)) for each in passing]
    return [MOST - each for each in _in_proportion(disliked)]


def _node_affinity(pod: PodRequest, _: Sequence[NodeState], passing: Sequence[NodeState]) -> _Result:
    wanted = pod.itself.preferences.nodes
    places = [{**each.labels, NODE_NAME: each.node} for each in passing]
    return _in_proportion(
        [sum(term.weight for term in wanted if matches(term.requirements, place)) for place in places]
    )


def _in_proportion(amounts: Sequence[int]) -> list[int]:
    most = max(amounts, default=0)
    return [MOST * each // most if most > 0 else 0 for each in amounts]


def _least_allocated(pod: PodRequest, node: NodeState) -> int:
    free = []
    for name, most in _scored_of(node):
        used = pod.requests.get(name, 0) + node.requested.get(name, 0)
        used += sum(each.preferences.added.get(name, 0) for each in (pod.itself, *node.neighbours))
        free.append(max(0, most - used) * MOST // most)
    return sum(free) // len(free) if free else 0


def _balanced_allocation(pod: PodRequest, _: Sequence[NodeState], passing: Sequence[NodeState]) -> _Result:
    if not any(pod.requests.get(name) for name in _SCORED):
        return [0] * len(passing)
    return [MOST // 2 + (MOST // 2 + _balance(each, pod.requests) - _balance(each, {})) // 2 for each in passing]


def _balance(node: NodeState, more: Mapping[str, int]) -> int:
    shares = [min(1.0, (node.requested.get(name, 0) + more.get(name, 0)) / most) for name, most in _scored_of(node)]
    deviation = abs(shares[0] - shares[-1]) / 2 if shares else 0.0
    return int((1 - deviation) * MOST)


def _scored_of(node: NodeState) -> list[tuple[str, int]]:
    allocatable = [(name, node.allocatable.get(name, 0)) for name in _SCORED]
    return [each for each in allocatable if each[1]]


def _topology_spread(pod: PodRequest, nodes: Sequence[NodeState], passing: Sequence[NodeState]) -> _Result:
    itself = pod.itself
    own = bool(itself.constraints.spread or itself.preferences.spread)
    wanted = itself.preferences.spread if own else _by_default(itself)
    if wanted is None:
        return _SELECTORS
    keys = {each.topology_key for each in wanted} if own else set()
    among = [each for each in nodes if keys <= each.labels.keys()]
    rated = [each for each in passing if keys <= each.labels.keys()]
    sums = [0.0] * len(rated)
    for each in wanted:
        for index, crowd in enumerate(_crowds(each, pod, among, rated)):
            sums[index] += crowd
    rounded = dict(zip((each.node for each in rated), map(_rounded, sums), strict=True))
    low, high = min(rounded.values(), default=0), max(rounded.values(), default=0)
    if not wanted:
        return [0] * len(passing)
    return [
        (MOST * (high + low - rounded[each.node]) // high if high else MOST) if each.node in rounded else 0
        for each in passing
    ]


def _by_default(pod: Neighbour) -> list[Spread] | None:
    """Return the spread of a pod that has none itself: with those that its Services and its controller select."""
    if not pod.labels:  # a controller's pods have labels
        return []
    if _HASH not in pod.labels:
        return None
    selector = [Requirement(_HASH, "In", [pod.labels[_HASH]])]
    return [Spread(key, skew, selector, 1, True, False) for key, skew in ((_HOSTNAME, 3), (_ZONE, 5))]


def _crowds(each: Spread, pod: PodRequest, nodes: Sequence[NodeState], rated: Sequence[NodeState]) -> Iterator[float]:
    """Yield the share of one constraint in the crowd of each rated node."""
    key, is_host = each.topology_key, each.topology_key == _HOSTNAME
    domains = dict.fromkeys((node.labels.get(key, "") for node in rated), 0)
    weight = math.log((len(rated) if is_host else len(domains)) + 2)
    for node in () if is_host else nodes:
        domain = node.labels.get(key, "")
        if domain in domains and is_counted(each, place_of(node, pod), pod.itself):
            domains[domain] += _matching(each, pod.itself, node)
    for node in rated:
        count = _matching(each, pod.itself, node) if is_host else domains[node.labels.get(key, "")]
        yield count * weight + (each.max_skew - 1) if key in node.labels else 0.0


def _matching(each: Spread, pod: Neighbour, node: NodeState) -> int:
    return sum(spreads_with(each, pod, other) for other in node.neighbours)


def _rounded(amount: float) -> int:
    """Round to the nearest, and a half up."""
    whole = math.floor(amount)
    return whole + (amount - whole >= 0.5)  # noqa: PLR2004  a half


def _inter_pod_affinity(pod: PodRequest, nodes: Sequence[NodeState], passing: Sequence[NodeState]) -> _Result:
    pulls: dict[int, dict[str, int] | None] = {}
    """The weights by topology key that each pod adds, by its identity: most pods are equal, and the same object."""
    sums = Counter[tuple[str, str]]()
    for node in nodes:
        for other in node.neighbours:
            if id(other) not in pulls:
                pulls[id(other)] = _pulls(pod.itself, other)
            weights = pulls[id(other)]
            if weights is None:
                return _NAMESPACES
            sums.update({(key, node.labels[key]): weight for key, weight in weights.items() if key in node.labels})
    found = [sum(sums[domain] for domain in node.labels.items() if domain in sums) for node in passing]
    low, high = min(found, default=0), max(found, default=0)
    return [int(MOST * ((each - low) / (high - low))) if high > low else 0 for each in found]


def _pulls(pod: Neighbour, other: Neighbour) -> dict[str, int] | None:
    """Return the weights that an existing pod adds by topology key; None if a term's namespaces are unknown."""
    mine = [(each.weight, each.term, other) for each in pod.preferences.neighbours]
    theirs = [(each.weight, each.term, pod) for each in other.preferences.neighbours]
    theirs += [(1, term, pod) for term in other.constraints.affinity]
    weights = defaultdict[str, int](int)
    for weight, term, selected in (*mine, *theirs):
        if term.selects(selected.namespace, selected.labels):
            weights[term.topology_key] += weight
        elif term.may_select(selected.labels):
            return None
    return weights


def _dynamic_resources(pod: PodRequest, _: Sequence[NodeState], passing: Sequence[NodeState]) -> _Result:
    constraints = pod.itself.constraints
    return _DEVICES if constraints.devices or constraints.claims else [0] * len(passing)


_Plugin: TypeAlias = Callable[[PodRequest, Sequence[NodeState], Sequence[NodeState]], _Result]
_PLUGINS: Final[Mapping[str, tuple[int, _Plugin]]] = {
    "TaintToleration": (3, _taint_toleration),
    "NodeAffinity": (2, _node_affinity),
    "NodeResourcesFit": (1, lambda pod, _, passing: [_least_allocated(pod, each) for each in passing]),
    "PodTopologySpread": (2, _topology_spread),
    "InterPodAffinity": (2, _inter_pod_affinity),
    "DynamicResources": (2, _dynamic_resources),
    "NodeResourcesBalancedAllocation": (1, _balanced_allocation),
    "ImageLocality": (1, lambda *_: _IMAGES),
}
"""The plugins with their weights in the default profile."""
WEIGHTS: Final = {name: weight for name, (weight, _) in _PLUGINS.items()}
