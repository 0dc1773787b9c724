"""A pod of a drained node leaves by the eviction API's rules, and moves by the scheduler's (rules: drain)."""

import pytest

from ingest.model.objects.disruption import PodDisruptionBudget
from ingest.resources.decoding import kept
from streams.questions.drain import Cluster, DrainedPod, Fate, preview, summary
from streams.questions.pending import Waiting
from streams.rules.scheduling.budgets import Budget, budget_facts, ruling
from streams.rules.scheduling.constraints import Constraints, NeighbourTerm, stored
from streams.rules.scheduling.filters import NodeState
from streams.rules.scheduling.neighbours import Neighbour
from streams.rules.scheduling.selectors import Requirement

WEB = [Requirement("app", "In", ["web"])]
APART = Constraints(anti_affinity=[NeighbourTerm("kubernetes.io/hostname", WEB, ["shop"])])


def node(name: str, cpu: int = 4000, used: int = 0, *others: Neighbour) -> NodeState:
    labels = {"kubernetes.io/hostname": name}
    allocatable = {"cpu": cpu, "memory": 1 << 33, "pods": 110}
    return NodeState(name, allocatable, {"cpu": used}, len(others), labels=labels, neighbours=others)


def there(name: str, cpu: int = 1000, owner: str = "ReplicaSet", **more: object) -> DrainedPod:
    waiting = Waiting("shop", name, name, {"cpu": cpu}, labels={"app": "web"})
    return DrainedPod("old", waiting, owner_kind=owner, owner="web" if owner else "")._replace(**more)  # type: ignore[arg-type]


def drained(*pods: DrainedPod, others: tuple[NodeState, ...] = (node("new"),), **budgets: Budget) -> dict[str, Fate]:
    known = {("shop", name): each for name, each in budgets.items()}
    cluster = Cluster(others, [node("old")], 36, budgets=known)
    return {each.pod: each for each in preview(pods, cluster)}


@pytest.mark.parametrize(
    ("budget", "before", "leave"),
    [
        (Budget(WEB, allowed=1, healthy=3, desired=2), 0, "granted"),
        (Budget(WEB, allowed=1, healthy=3, desired=2), 1, "in_turn"),
        (Budget(WEB, allowed=0, healthy=2, desired=2), 0, "refused"),
        (Budget(WEB, allowed=-1), 0, "refused"),
        (Budget(WEB, allowed=1, is_stale=True), 0, "unknown"),
    ],
)
def test_a_budget_lets_as_many_go_as_it_allows_now(budget: Budget, before: int, leave: str) -> None:
    """Follow `checkAndDecrement` of pkg/registry/core/pod/storage/eviction.go."""
    assert ruling([("web", budget)], before).leave == leave


@pytest.mark.parametrize(
    ("budget", "may_go"),
    [
        (Budget(WEB, healthy=2, desired=2), True),
        (Budget(WEB, healthy=1, desired=2), False),
        (Budget(WEB, healthy=0, desired=0), False),
        (Budget(WEB, healthy=1, desired=2, always_unready=True), True),
    ],
)
def test_a_pod_that_is_not_ready_may_go_where_the_others_are_enough(budget: Budget, may_go: bool) -> None:
    assert ("not Ready itself" in ruling([("web", budget)], 0).why) == may_go


def test_a_pod_with_two_budgets_is_never_evicted() -> None:
    found = drained(there("a"), one=Budget(WEB, allowed=1), two=Budget([], allowed=1))
    assert (found["a"].outcome, found["a"].to) == ("refused", "new")


def test_a_pod_that_stays_takes_no_turn_of_a_budget() -> None:
    """A pod with two budgets is never evicted, so that `checkAndDecrement` takes none of what the first allows."""
    both = there("a").pod._replace(labels={"app": "web", "tier": "front"})
    tier = Budget([Requirement("tier", "In", ["front"])], allowed=1)
    found = drained(there("a", pod=both), there("b"), one=Budget(WEB, allowed=1), two=tier)
    assert (found["a"].outcome, found["b"].outcome) == ("refused", "moves")


@pytest.mark.parametrize(("owner", "cpu", "first"), [("", 1000, "ends"), ("ReplicaSet", 4000, "no_room")])
def test_a_budget_lets_no_more_go_if_what_went_is_not_replaced(owner: str, cpu: int, first: str) -> None:
    """`disruptionsAllowed` rises again only when the controller sees another Ready pod."""
    pods = (there("a", cpu, owner=owner), there("b"), there("c", owner=""))
    found = drained(*pods, others=(node("new", used=1000),), web=Budget(WEB, allowed=1, healthy=3, desired=2))
    assert [found[name].outcome for name in "abc"] == [first, "refused", "refused"]
    assert found["b"].why.startswith("budget web lets 1 go, and 1 pod that goes before has no Ready successor")


def test_a_budget_is_not_said_to_need_what_it_has() -> None:
    """The API names no number if the controller failed: eviction.go."""
    assert ruling([("web", Budget(WEB, healthy=3, desired=2))], 0).why.startswith("budget web lets no pod go now")


def test_a_budget_of_another_namespace_or_other_labels_does_not_count() -> None:
    cluster = Cluster([node("new")], [node("old")], 36, budgets={("other", "web"): Budget(WEB)})
    (fate,) = preview([there("a")], cluster)
    assert fate.outcome == "moves"
    assert drained(there("a"), db=Budget([Requirement("app", "In", ["db"])]))["a"].outcome == "moves"


def test_no_budget_is_asked_about_a_pod_that_is_pending() -> None:
    assert drained(there("a", phase="Pending"), web=Budget(WEB))["a"].outcome == "moves"


def test_a_missing_selector_selects_nothing_and_an_empty_one_everything() -> None:
    decode = kept(PodDisruptionBudget)
    assert budget_facts(decode(b'{"metadata": {"name": "a"}, "spec": {}}')).selector == [Requirement("", "In")]
    assert budget_facts(decode(b'{"metadata": {"name": "a"}, "spec": {"selector": {}}}')).selector == []


def test_what_a_drain_leaves_and_what_it_ends() -> None:
    found = drained(
        there("of-daemons", owner="DaemonSet"),
        there("static", owner="Node"),
        there("bare", owner=""),
        there("bare-refused", owner="", pod=there("bare-refused").pod._replace(labels={"app": "db"})),
        there("going", terminating=True),
        db=Budget([Requirement("app", "In", ["db"])]),
    )
    assert {name: fate.outcome for name, fate in found.items()} == {
        "of-daemons": "stays",
        "static": "stays",
        "bare": "ends",
        "bare-refused": "refused",
        "going": "leaving",
    }


def test_the_drained_pods_share_the_room_that_is_left_and_the_more_important_go_first() -> None:
    """Two of 4 CPUs are requested: one more pod of 2 fits."""
    found = drained(there("a", 2000), there("b", 2000, priority=5), others=(node("new", used=2000),))
    assert (found["b"].outcome, found["b"].to) == ("moves", "new")
    assert (found["a"].outcome, found["a"].to) == ("no_room", "")
    assert found["a"].why == "0 of 1 other node would take it: 1 Insufficient cpu"


def test_each_goes_where_least_is_requested() -> None:
    others = (node("a", used=3000), node("b", used=1000), node("c", cpu=8000, used=3000))
    assert drained(there("x"), others=others)["x"].to == "b"


def test_pods_that_keep_apart_find_no_second_node_together() -> None:
    """web-0 on the drained node is gone when its successor is placed, so only the others count against it."""
    spread = there("web-0").pod._replace(constraints=stored(APART))
    found = drained(
        there("web-0", pod=spread),
        there("web-1", pod=spread._replace(pod="web-1", uid="web-1")),
        others=(node("a", 4000, 0, Neighbour("shop", {"app": "web"}, APART)), node("b")),
    )
    assert [(fate.outcome, fate.to) for fate in (found["web-0"], found["web-1"])] == [("moves", "b"), ("no_room", "")]


def test_a_moved_pod_keeps_others_away_that_want_nothing_themselves() -> None:
    """The anti-affinity of an existing pod also holds against a pod that has none."""
    spread = there("web-0").pod._replace(constraints=stored(APART))
    found = drained(there("web-0", pod=spread, priority=1), there("web-1"))
    assert [found[name].outcome for name in ("web-0", "web-1")] == ["moves", "no_room"]


def test_the_only_node_has_no_other() -> None:
    assert drained(there("a"), others=())["a"].why == "0 of 0 other nodes would take it: there is none"


def test_a_node_whose_state_is_unknown_makes_no_pod_move_for_sure() -> None:
    found = drained(there("a"), others=(node("new")._replace(ready=None),))
    assert (found["a"].outcome, found["a"].to) == ("unknown", "")


def test_pods_are_counted_the_worst_first() -> None:
    fates = preview([there("a"), there("bare", owner="")], Cluster([node("new")], [node("old")], 36))
    assert [*summary(fates).items()] == [("ends", 1), ("moves", 1)]
