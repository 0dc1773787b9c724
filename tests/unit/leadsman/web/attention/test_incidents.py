"""One incident, one card: what is found about one resource of the same nodes, with its cause and how to end it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from components.rows import T0 as BEGIN
from components.rows import row, store, store_samples, summary
from leadsman.web.attention.badges import Severity
from leadsman.web.attention.item import Item, Step, incidents
from leadsman.web.reading.overview import read_overview, read_spans
from leadsman.web.reading.scope import RequestedRange, choose
from leadsman.web.rendering.links import Links
from leadsman.web.rendering.markdown import step_html
from sql.database.open import Database
from streams.fold.findings import EvictionSignal, NodeRow, PodBinding

T0 = datetime(2026, 7, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
GIB = 1 << 30
COSTS = "this ignores disruption budgets and loses emptyDir data"


def item(fact: str, *nodes: str, short_of: str = "memory", **values: Any) -> Item:
    made = Item(Severity.WARNING, fact, f"{fact}.", nodes, "nodes", short_of=short_of, fact=fact)
    return made._replace(**values)


def growth(node: str, owner: str, pod: str, gib: float, **values: Any) -> dict[str, Any]:
    given: dict[str, Any] = {"node": node, "kind": "memory", "ago": "", "namespace": "shop", "pod": pod}
    given |= {"owner": owner, "owner_known": True}
    return {**given, "owner_kind": "ReplicaSet" if owner else "", "bytes_per_second": gib * GIB / 3600, **values}


def test_threshold_forecast_pressure_and_evictions_of_a_resource_are_one_card() -> None:
    met = item("met", "a", severity=Severity.CRITICAL, since=T0 + MINUTE, alert_keys=(("Near", "memory"),))
    evicted = item("evicted", "a", "b", now=False, since=T0 + 2 * MINUTE, until=T0 + 3 * MINUTE, who="Job x")
    near = item("near", "b", since=T0, or_earlier=True, alert_keys=(("Late", ""),))
    pressure = item("pressure", "a", since=T0 + MINUTE, is_condition=True)
    (card,) = incidents([met, evicted, near, pressure], ())
    assert card.title == "Memory: met, near, pressure"
    assert (card.severity, card.now, card.nodes) == (Severity.CRITICAL, True, ("a", "b"))
    assert (card.since, card.or_earlier, card.until) == (T0, True, None)
    assert card.text == "met. near. evicted."
    assert (card.who, card.alert_keys) == ("Job x", (("Near", "memory"), ("Late", "")))


def test_other_resources_and_what_is_over_elsewhere_have_cards_of_their_own() -> None:
    met, disk = item("met", "a"), item("full", "a", short_of="disk")
    over, alone = item("evicted", "b", now=False), item("odd", "a", short_of="")
    assert [card.title for card in incidents([met, disk, alone, over], ())] == ["met", "full", "odd", "evicted"]


def test_the_workload_that_grows_is_named_with_its_pace_and_the_command_that_stops_it() -> None:
    rows = [
        growth("a", "payments-7d9", "payments-7d9-x", 300),
        growth("b", "payments-7d9", "payments-7d9-y", 214),
        growth("c", "other", "other-z", 900),
        growth("a", "files", "files-q", 900, kind="disk"),
    ]
    (card,) = incidents([item("met", "a", "b")], rows)
    assert card.who == "shop/payments-7d9 grows 514 GiB/h on 2 nodes"
    assert str(card.step).endswith(": kubectl cordon a b && kubectl delete pod -n shop payments-7d9-x payments-7d9-y")
    (over,) = incidents([item("met", "a", now=False, who="Job x", step=Step("Look"))], rows)
    assert (over.who, over.step.words) == ("Job x", "Look")


def test_a_pod_with_a_controller_is_stopped_before_one_without() -> None:
    bare, owned = growth("a", "", "bare", 900), growth("b", "web", "web-x", 1)
    (card,) = incidents([item("met", "a", "b")], [bare, owned])
    assert "its replacement may grow too" in card.step.words
    assert card.step.words.endswith(
        f" To stop it now ({COSTS}; uncordon later): kubectl cordon b && kubectl delete pod -n shop web-x"
    ), "no way to roll it back, or it comes back to the same node"
    (card,) = incidents([item("met", "a")], [bare])
    assert card.step.words == f"Stop what grows ({COSTS}); nothing recreates it: kubectl delete pod -n shop bare"
    (card,) = incidents([item("met", "a")], [{**bare, "owner_known": False}])
    assert "; uncordon later); whether anything recreates it is unknown: kubectl cordon a && " in card.step.words


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        ("Job", "; a Job starts its work again; uncordon later): kubectl cordon a && kubectl delete pod -n shop p"),
        ("StatefulSet", "; a pod with a local volume waits for its node; uncordon later): kubectl cordon a &&"),
        ("DaemonSet", "a deleted pod of a DaemonSet is recreated on its node at once"),
        ("Node", "static pod on its node: a deletion of the pod does not stop it"),
    ],
)
def test_the_step_says_what_a_deletion_does_to_a_pod_of_this_kind(kind: str, step: str) -> None:
    """A DaemonSet's pod tolerates a cordon, and a kubelet runs a static pod whose mirror is deleted."""
    (card,) = incidents([item("met", "a")], [growth("a", "o", "p", 9, owner_kind=kind)])
    assert step in str(card.step)
    assert ("kubectl delete" in str(card.step)) == (kind not in {"DaemonSet", "Node"})


def test_a_pod_that_another_node_can_take_is_stopped_before_one_that_stays() -> None:
    daemon, web = growth("a", "agent", "agent-1", 900, owner_kind="DaemonSet"), growth("b", "web", "web-x", 1)
    (card,) = incidents([item("met", "a", "b")], [daemon, web])
    assert str(card.step).endswith("kubectl cordon b && kubectl delete pod -n shop web-x")


def test_the_longest_step_is_shown_whole() -> None:
    rows = [growth(f"{nth}" * 40, "db", f"{nth}" * 52, 9, owner_kind="StatefulSet") for nth in "abc"]
    (card,) = incidents([item("met", *(row["node"] for row in rows))], rows)
    assert str(card.step).endswith("a" * 52 + " " + "b" * 52), "the third does not fit"
    assert "b" * 52 + "</code>" in step_html(card.step, Links())


def test_a_command_has_only_whole_and_quoted_names() -> None:
    (card,) = incidents([item("met", "a")], [growth("a", "", "x; rm -rf /", 1, namespace="n$(id)")])
    assert card.step.words.endswith("kubectl delete pod -n 'n$(id)' 'x; rm -rf /'")
    (card,) = incidents([item("met", "a")], [growth("a", "", "--all", 1)])
    assert card.step.words.endswith("kubectl delete pod -n shop ' --all'")
    (long,) = incidents([item("met", "a", step=Step("Look"))], [growth("a", "", "x" * 300, 1)])
    assert long.step.words == "Look"


@pytest.mark.parametrize(
    ("step", "shown"),
    [
        (Step("Cordon it: kubectl cordon n.example.com"), "Cordon it: kubectl cordon n.example.com"),
        (Step("See its room", "next_eviction --node n"), "See its room: leadsman query next_eviction --node n"),
        (Step("Read: kubectl logs p. Then move it"), "Read: kubectl logs p. Then move it."),
        (Step("Move pods"), "Move pods."),
    ],
)
def test_no_full_stop_is_copied_with_a_command(step: Step, shown: str) -> None:
    assert str(step) == shown


@pytest.mark.parametrize(
    ("grows", "ends", "found"),
    [
        (GIB, False, [("memory", "leaky-1", "leaky")]),
        (1 << 20, False, []),
        (GIB, True, []),
    ],
)
def test_who_grows_is_read_of_nodes_that_are_short(
    database: Database, grows: int, ends: bool, found: list[Any]
) -> None:
    """leaky-1 grows by `grows` in two minutes, steady-1 not at all; of a node with room nothing is read.

    A pod that ended, for example by its eviction, is not to be deleted.
    """
    for name, hard_met in (("n", True), ("roomy", False)):
        left = 1 if hard_met else 90
        store(
            database,
            row(NodeRow, node=name, ready=True),
            *(row(PodBinding, change="bound", phase="Running", node=name, namespace="shop", pod=pod, uid=pod + name,
                  owner_kind="ReplicaSet", owner_name=pod[:-2]) for pod in ("leaky-1", "steady-1")),
            row(EvictionSignal, ts=BEGIN + 2 * MINUTE, node=name, signal="memory.available", available=left,
                capacity=99, hard_threshold=2, hard_met=hard_met),
        )  # fmt: skip
        if ends:
            gone = {"namespace": "shop", "pod": "leaky-1", "uid": f"leaky-1{name}", "node": name}
            store(database, row(PodBinding, ts=BEGIN + 2 * MINUTE, change="finished", **gone))
        for minute in (0, 1, 2):
            pods = [
                {"namespace": "shop", "pod": pod, "uid": pod + name, "memory_working_set_bytes": used}
                for pod, used in (("leaky-1", GIB + grows * minute // 2), ("steady-1", GIB))
            ]
            sampled = {"memory_available_bytes": 1, "memory_working_set_bytes": 98}
            store_samples(database, summary(BEGIN + minute * MINUTE, name, pods, **sampled))
    spans = read_spans(database)
    view = read_overview(database, choose(spans, RequestedRange()), spans)
    assert [(each["kind"], each["pod"], each["owner"]) for each in view.culprits] == found
    assert all(each["owner_known"] and each["owner_kind"] == "ReplicaSet" for each in view.culprits)
    assert {each["node"] for each in view.culprits} <= {"n"}
