"""Pods that the scheduler ends to make room for one that no node takes (rules: scheduler-preemption).

This is its plugin DefaultPreemption of Kubernetes 1.36, with its defaults, without extenders and nominated pods.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple

from common.amounts import counted
from streams.rules.scheduling.budgets import Budget, covering
from streams.rules.scheduling.filters import NodeState, PodRequest, missing_facts, place_of
from streams.rules.scheduling.fit import refusals
from streams.rules.scheduling.neighbours import NO_NEIGHBOUR, Neighbour, Neighbourhood, Place
from streams.rules.scheduling.volume_needs import TOO_MANY

MOST_TRIED: Final = 100
"""Nodes where preemption would help, so many of which the scheduler always compares."""
_NEVER: Final = "its preemptionPolicy is Never"
_GATED: Final = "it has scheduling gates"
_NO_LOWER: Final = "no pod has a lower priority"
_NOT_ENOUGH: Final = "no node would take it, even without all pods of lower priority"
_BUDGETS: Final = "which pods are protected: the list of PodDisruptionBudgets was not read"
_PRIORITY: Final = "the value of its priority class"
_ALL_0: Final = "the priorities of bound pods: each is 0, or was not read"
_PASSING: Final = "whether a node takes it as it is"
_LATEST: Final = datetime.max.replace(tzinfo=UTC)
_LOWEST: Final = 1 << 31


class BoundPod(NamedTuple):
    """A pod on a node, as its preemption sees it."""

    pod: str
    itself: Neighbour
    priority: int | None
    """None if unknown."""
    requests: Mapping[str, int] = {}
    """Effective requests in base units, cpu in millicores."""
    started_at: datetime | None = None
    """When its kubelet began with it; None if that was not seen."""

    @property
    def importance(self) -> tuple[int, datetime]:
        """Return a sort key, most important pod first."""
        return -(self.priority or 0), self.started_at or _LATEST


class Occupied(NamedTuple):
    state: NodeState
    pods: Sequence[BoundPod]
    """All pods there."""


class Victim(NamedTuple):
    pod: BoundPod
    breaks_budget: bool


class Target(NamedTuple):
    """A node where preemption would help."""

    node: str
    victims: Sequence[Victim]
    """The most important first."""
    is_sure: bool
    """False if equally important pods stay there, so that the scheduler may end those instead."""

    @property
    def cost(self) -> tuple[int, int, int, int]:
        """Return the cost; the scheduler takes the node with the lowest one."""
        priorities = [each.pod.priority or 0 for each in self.victims]
        broken = sum(each.breaks_budget for each in self.victims)
        return broken, priorities[0], sum(each + _LOWEST for each in priorities), len(priorities)

    @property
    def began(self) -> datetime:
        """Return the start of the oldest of the most important victims: among nodes of equal cost, the latest
        wins.
        """
        return self.victims[0].pod.importance[1]


class Preemption(NamedTuple):
    targets: Sequence[Target] = ()
    """The best targets; several if nothing that the scheduler compares distinguishes them."""
    reason: str = ""
    """Reason why it would end no pod."""
    unknown: Sequence[str] = ()
    """Missing facts that may change this."""


def preempt(
    pod: PodRequest,
    nodes: Sequence[Occupied],
    budgets: Mapping[tuple[str, str], Budget],
    scheduler_minor: int,
    *,
    all_budgets: bool,
) -> Preemption | None:
    """Return what preemption for the pod would end; None if a node takes it, so that the scheduler tries none.

    `nodes` are all nodes, `budgets` by namespace and name; `all_budgets` if there are no others.
    """
    if reason := _never(pod):
        return Preemption(reason=reason)
    if pod.priority is None:
        return Preemption(unknown=[_PRIORITY])
    trial = _Trial(pod, nodes, budgets, scheduler_minor)
    if (passes := trial.any_passes()) is not False:
        return None if passes else Preemption(unknown=[_PASSING])
    targets = [found for node in nodes if (found := trial.target(node)) is not None]
    without = [_ALL_0] * all(each.priority == 0 for node in nodes for each in node.pods)
    unknown = [*without, *dict.fromkeys(trial.unknown)]
    if not targets:
        return Preemption(
            reason="" if trial.unknown else _NOT_ENOUGH if trial.has_lower else _NO_LOWER, unknown=unknown
        )
    best = _best(targets)
    return Preemption(best, unknown=[*unknown, *_doubts(best[0], len(targets), all_budgets=all_budgets)])


def _never(pod: PodRequest) -> str:
    constraints = pod.itself.constraints
    return _NEVER if constraints.never_preempts else _GATED if constraints.gates else ""


def _best(targets: Sequence[Target]) -> list[Target]:
    least = min(each.cost for each in targets)
    equal = [each for each in targets if each.cost == least]
    latest = max(each.began for each in equal)
    return [each for each in equal if each.began == latest]


def _doubts(best: Target, targets: int, *, all_budgets: bool) -> Iterator[str]:
    if not all_budgets:
        yield _BUDGETS
    if not best.is_sure:
        yield f"which of equally important pods goes: others on {best.node} are as old, or their start was not seen"
    if targets > MOST_TRIED:
        yield f"which of {counted(targets, 'node')} it tries: it starts at a random one, and stops early"


class _Trial:
    """The nodes, and the pods that are on them while one is tried."""

    def __init__(
        self, pod: PodRequest, nodes: Sequence[Occupied], budgets: Mapping[tuple[str, str], Budget], minor: int
    ) -> None:
        self._pod, self._nodes, self._minor = pod, nodes, minor
        self._budgets = {key: each for key, each in budgets.items() if each.selector}
        """Here an empty selector selects no pod."""
        self._places = {each.state.node: place_of(each.state, pod) for each in nodes}
        self._around = Neighbourhood(pod.itself, self._places.values())
        claims = {each.volume: each.claim for each in pod.itself.constraints.claimed}
        needs = pod.known_needs
        self._wanted = {claims[each.volume] for each in needs if each.in_use}
        """Names of its ReadWriteOncePod claims that another pod uses."""
        self._in_use = len(self._wanted)
        self._unopposed = pod._replace(
            needs=tuple(each._replace(in_use=None if each.in_use is None else False) for each in needs)
        )
        self.has_lower = False
        self.unknown: list[str] = []

    def any_passes(self) -> bool | None:
        """Tell whether a node takes the pod without preemption; None if that is unknown."""
        passing = [node for node in self._nodes if not self._against(node.state)]
        return True if any(not self._missing(node.state) for node in passing) else None if passing else False

    def target(self, node: Occupied) -> Target | None:
        """Return the node with the fewest and least important pods whose end makes room; None if none does."""
        lower = self._lower(node)
        # A node that fails for affinity first is not tried: to remove pods does not add a neighbour.
        if not lower or self._against(node.state)[:1] == [NO_NEIGHBOUR]:
            return None
        state, place = _less(node, lower), self._places[node.state.node]
        for each in lower:
            self._put(place, each, -1)
        against, missing = self._against(state), self._missing(state)
        if against or missing:
            if missing or against == [TOO_MANY]:
                self.unknown.append(f"whether it helps on {node.state.node}: {', '.join(missing or against)}")
            self._return(place, lower)
            return None
        victims = self._not_spared(state, place, lower)
        self._return(place, [each.pod for each in victims])
        return Target(node.state.node, victims, _is_sure(victims, lower)) if victims else None

    def _lower(self, node: Occupied) -> list[BoundPod]:
        """Return the possible victims there, the most important first."""
        known = [each for each in node.pods if each.priority is not None]
        if len(known) < len(node.pods):
            self.unknown.append(f"priorities of pods on {node.state.node}")
        lower = [each for each in known if (each.priority or 0) < (self._pod.priority or 0)]
        if any(each.itself.terminating for each in lower):
            self.unknown.append(f"whether it waits for pods that already end on {node.state.node}")
        self.has_lower = self.has_lower or bool(lower)
        return sorted(lower, key=lambda each: (each.importance, each.itself.namespace, each.pod))

    def _not_spared(self, state: NodeState, place: Place, lower: Sequence[BoundPod]) -> list[Victim]:
        """Put the pods back while the new one still fits: first those whose budgets would be violated."""
        victims, broken = list[Victim](), self._breaking(lower)
        for breaks, each in sorted(zip(broken, lower, strict=True), key=lambda pair: not pair[0]):
            more = _more(state, each)
            self._put(place, each)
            if self._against(more):
                self._put(place, each, -1)
                victims.append(Victim(each, breaks))
            else:
                state = more
        return sorted(victims, key=lambda victim: victim.pod.importance)

    def _breaking(self, pods: Sequence[BoundPod]) -> list[bool]:
        """Return whether ending each pod violates a budget, after the pods before it have ended."""
        ended, broken = Counter[str](), list[bool]()
        for each in pods:
            itself, breaks = each.itself, False
            for name, budget in covering(self._budgets, itself.namespace, itself.labels) if itself.labels else ():
                if each.pod not in budget.disrupted:
                    ended[f"{itself.namespace}/{name}"] += 1
                    breaks |= ended[f"{itself.namespace}/{name}"] > budget.allowed
            broken.append(breaks)
        return broken

    def _against(self, state: NodeState) -> list[str]:
        refused = refusals(state, self._pod if self._in_use > 0 else self._unopposed, self._minor)
        return [*refused, *self._around.reasons(self._places[state.node])]

    def _missing(self, state: NodeState) -> list[str]:
        around = self._around.unknowns(self._places[state.node])
        return [*missing_facts(state, self._pod, self._minor), *around]

    def _return(self, place: Place, pods: Sequence[BoundPod]) -> None:
        for each in pods:
            self._put(place, each)

    def _put(self, place: Place, pod: BoundPod, by: Literal[1, -1] = 1) -> None:
        """Put a pod back, or take it away; the scheduler compares the claims' names without their namespaces."""
        self._around.join(place, pod.itself, by)
        claimed = pod.itself.constraints.claimed
        self._in_use += by * sum(each.claim in self._wanted and not each.ephemeral for each in claimed)


def _is_sure(victims: Sequence[Victim], lower: Sequence[BoundPod]) -> bool:
    """Tell whether no pod that stays may be as important as one that goes."""
    gone = {id(each.pod) for each in victims}
    return not any(_alike(victim.pod, each) for victim in victims for each in lower if id(each) not in gone)


def _alike(one: BoundPod, other: BoundPod) -> bool:
    starts = {one.started_at, other.started_at}
    return one.priority == other.priority and (len(starts) == 1 or None in starts)


def _less(node: Occupied, gone: Sequence[BoundPod]) -> NodeState:
    requested, lost = Counter(node.state.requested), {id(each) for each in gone}
    for each in gone:
        requested.subtract(each.requests)
    staying = tuple(each.itself for each in node.pods if id(each) not in lost)
    return node.state._replace(requested=dict(requested), pods=node.state.pods - len(gone), neighbours=staying)


def _more(state: NodeState, pod: BoundPod) -> NodeState:
    requested = Counter(state.requested)
    requested.update(pod.requests)
    neighbours = (*state.neighbours, pod.itself)
    return state._replace(requested=dict(requested), pods=state.pods + 1, neighbours=neighbours)
