"""Reasons for a fuller or emptier node, and pods that the scheduler does not try again: by hand, and with evidence
removed.
"""

from datetime import timedelta
from typing import Any, TypeAlias

import pytest

from components.cases import Cases
from components.database import EmptyDatabase
from components.rows import T0, dicts, row, store
from sql.database.open import Database
from streams.fold.findings import NodeEvent, NodeFit, NodeRow, PodBinding, Row, SchedulingFailure

LONG_AGO = T0 - timedelta(days=30)


def after(minutes: float) -> Any:
    return T0 + timedelta(minutes=minutes)


def node(name: str, used: int, **values: Any) -> list[Row]:
    """Return a node of 10 CPUs with so many requested; it has been Ready for a month."""
    known = {
        "ready": True,
        "ready_since": LONG_AGO,
        "created_at": LONG_AGO,
        "allocatable": {"cpu": 10_000, "pods": 99},
    }
    return [
        row(NodeRow, node=name, **(known | values)),
        row(NodeFit, node=name, resource="cpu", allocatable=10_000, requested=used * 1000, free=10_000 - used * 1000),
        row(NodeFit, node=name, resource="pods", allocatable=99, requested=1, free=98),
    ]


def pod(name: str, on: str, minutes: float = 0, **values: Any) -> PodBinding:
    known = {"change": "bound" if on else "pending", "namespace": "ns", "created_at": after(minutes)}
    return row(PodBinding, node=on, pod=name, uid=f"u-{name}", **(known | values))


def pods(number: int, on: str, minutes: float = 0, **values: Any) -> list[Row]:
    return [pod(f"{on}-{index}-{minutes}", on, minutes, **values) for index in range(number)]


def causes(database: Database) -> dict[str, tuple[str, Any]]:
    found = dicts(database, "SELECT node, cause, since FROM node_imbalance WHERE resource = 'cpu' AND cause != ''")
    return {each["node"]: (each["cause"], each["since"]) for each in found}


def test_nodes_that_are_alike_have_no_cause(database: Database) -> None:
    store(database, *node("a", 5), *node("b", 6), *pods(3, "a"), *pods(3, "b"))
    assert causes(database) == {}


def test_a_new_node_that_is_not_ready_yet_is_no_loss(database: Database) -> None:
    """Its pods came within the hour after it registered; nothing was lost."""
    new = row(NodeRow, node="new", ready=False, ready_since=after(0), created_at=after(0), ts=after(0))
    up = row(NodeRow, node="new", ready=True, ready_since=after(1), created_at=after(0), ts=after(1))
    store(database, new, up, *node("full", 9), *node("b", 4), *node("c", 4), *pods(4, "full", 5), *pods(2, "b"))
    assert causes(database)["full"][0] == "unknown"
    lost = row(NodeRow, node="new", ready=None, ready_since=after(3), created_at=after(0), ts=after(3))
    store(database, lost)
    assert causes(database)["full"] == ("took_over", after(3))


def test_a_node_that_came_back_stays_empty_for_pods_do_not_move(database: Database) -> None:
    back = {"ready_since": after(60), "ts": after(60)}
    down = row(NodeRow, node="b", ready=None, ready_since=after(30), created_at=LONG_AGO, ts=after(31))
    store(database, down, *node("a", 8), *node("b", 0, **back), *node("c", 8), *pods(4, "a"), *pods(4, "c"))
    assert causes(database)["b"] == ("came_back", after(60))


def test_without_its_outage_nobody_knows_why_it_is_empty(database: Database) -> None:
    back = {"ready_since": after(60), "ts": after(60)}
    store(database, *node("a", 8), *node("b", 0, **back), *node("c", 8), *pods(4, "a"), *pods(4, "c"))
    assert causes(database)["b"] == ("unknown", None)


def test_a_node_that_joined_later_is_emptier(database: Database) -> None:
    store(
        database, *node("a", 8), *node("b", 8), *node("young", 1, created_at=after(60)), *pods(4, "a"), *pods(4, "b")
    )
    assert causes(database)["young"] == ("joined_later", after(60))


def test_a_node_whose_pods_are_older_than_the_emptier_nodes_is_fuller(database: Database) -> None:
    """Its 4 pods came at 0, the emptier node an hour later."""
    young = node("young", 1, created_at=after(60))
    store(database, *node("a", 9), *node("b", 5), *young, *pods(4, "a"), *pods(2, "b"))
    assert causes(database) == {"a": ("was_there_before", after(60)), "young": ("joined_later", after(60))}
    evidence = dicts(database, "SELECT evidence FROM node_imbalance WHERE node = 'a' AND resource = 'cpu'")
    assert evidence == [
        {"evidence": "100 % of its pods are older than the first of the emptier nodes, and pods do not move."}
    ]


@pytest.mark.parametrize("values", [{}, {"created_at": after(60), "unschedulable": True}])
def test_without_an_emptier_node_that_joined_later_nobody_knows_why_it_is_fuller(
    database: Database, values: dict[str, Any]
) -> None:
    """Neither with one that was always there, nor with one that takes no pods."""
    store(database, *node("a", 9), *node("b", 4), *node("young", 1, **values), *pods(4, "a"), *pods(2, "b"))
    assert causes(database)["a"] == ("unknown", None)


def test_pods_that_came_after_the_emptier_node_are_no_reason(database: Database) -> None:
    young = node("young", 1, created_at=after(60))
    store(database, *node("a", 9), *node("b", 5), *young, *pods(4, "a", 61), *pods(9, "b"))
    assert causes(database) == {"a": ("unknown", None), "young": ("joined_later", after(60))}


def test_a_node_that_took_over_from_a_lost_one_is_fuller(database: Database) -> None:
    lost = row(NodeRow, node="gone", ready=None, ready_since=after(10), ts=after(10))
    store(database, lost, *node("a", 9), *node("b", 3), *node("c", 3), *pods(4, "a", 15), *pods(2, "b", -90))
    assert causes(database)["a"] == ("took_over", after(10))


def test_without_the_loss_nobody_knows_why_it_is_fuller(database: Database) -> None:
    store(database, *node("a", 9), *node("b", 3), *node("c", 3), *pods(4, "a", 15), *pods(2, "b", -90))
    assert causes(database)["a"] == ("unknown", None)


SSD = '{"nodes":[[["disk","In",["ssd"]]]]}'


def test_affinity_makes_one_node_full_and_leaves_another_empty(database: Database) -> None:
    store(
        database,
        *node("fast", 9, labels={"disk": "ssd"}),
        *node("slow", 1, labels={"disk": "hdd"}),
        *pods(4, "fast", constraints=SSD),
    )
    assert causes(database) == {"fast": ("affinity", None), "slow": ("affinity", None)}


def test_pods_that_choose_nothing_are_no_affinity(database: Database) -> None:
    store(database, *node("fast", 9), *node("slow", 1), *pods(4, "fast"))
    assert causes(database) == {"fast": ("unknown", None), "slow": ("unknown", None)}


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        ({"ready": None}, "not_ready"),
        ({"unschedulable": True}, "cordoned"),
        ({"taints": ["a=b:NoSchedule"]}, "tainted"),
    ],
)
def test_a_closed_node_needs_no_other_cause(values: dict[str, Any], cause: str, database: Database) -> None:
    store(database, *node("a", 8), *node("b", 0, **values), *pods(4, "a"))
    assert causes(database)["b"] == (cause, None)


# Pods that are not tried again.


def failed(minutes: float, uid: str = "u-p") -> NodeEvent:
    return row(NodeEvent, ts=after(minutes), reason="FailedScheduling", object_kind="Pod", object_uid=uid, name="e")


def later(minutes: float) -> list[Row]:
    return [each._replace(ts=after(minutes)) for each in node("n", 1)]  # type: ignore[attr-defined]


CASES = Cases()
LONG_SILENT = CASES.add(*later(60), pod("p", ""), failed(10))
TRIED = CASES.add(*later(60), pod("p", ""), failed(30))
NO_ROOM = row(SchedulingFailure, ts=after(1), namespace="ns", pod="p", uid="u-p", reasons={"Insufficient cpu": 1})
WITHOUT_EVENT = CASES.add(*later(60), pod("p", ""), failed(50, "u-other"), NO_ROOM)
JUST_TRIED = CASES.add(*later(60), pod("p", ""), failed(60))
READ_NOW = CASES.add(*later(60), pod("p", ""), failed(50), NO_ROOM._replace(ts=after(60)))
GONE = pod("gone", "n")._replace(ts=after(59.5), change="deleted")
JUST_FREED = CASES.add(*later(60), pod("p", ""), failed(60), GONE)
OF_KARPENTER = CASES.add(*later(60), pod("p", ""), failed(60)._replace(component="karpenter"))
OF_VOLCANO = CASES.add(*later(60), pod("p", "", constraints='{"scheduler":"volcano"}'), failed(60))
FITS_NOWHERE = CASES.add(*later(60), pod("p", "", requests={"cpu": 20_000}), failed(10))


Verdicts: TypeAlias = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def verdicts(empty_database: EmptyDatabase) -> Verdicts:
    told = CASES.told(empty_database, "SELECT * FROM pods_not_retried")
    return {
        cluster: [(one["verdict"], one["tried_at"], one["nodes"]) for one in rows] for cluster, rows in told.items()
    }


def test_a_pod_that_fits_and_is_silent_for_longer_than_a_series_of_events_is_not_tried_again(
    verdicts: Verdicts,
) -> None:
    assert verdicts[LONG_SILENT] == [("not_retried", after(10), ["n"])]


def test_a_try_within_that_time_shows_nothing(verdicts: Verdicts) -> None:
    assert verdicts[TRIED] == [("waiting", after(30), ["n"])]


def test_without_an_event_of_the_pod_nobody_knows_when_it_was_tried(verdicts: Verdicts) -> None:
    assert verdicts[WITHOUT_EVENT] == [("unknown", after(1), ["n"])]


def test_a_try_of_this_minute_contradicts_room_that_was_there_before(verdicts: Verdicts) -> None:
    assert verdicts[JUST_TRIED] == [("contradicted", after(60), ["n"])]


def test_a_status_that_was_read_now_is_no_try_of_now(verdicts: Verdicts) -> None:
    assert verdicts[READ_NOW] == [("waiting", after(60), ["n"])]


def test_room_that_a_pod_left_within_a_minute_before_contradicts_nothing(verdicts: Verdicts) -> None:
    assert verdicts[JUST_FREED] == [("waiting", after(60), ["n"])]


def test_words_of_karpenter_are_no_try_of_the_scheduler(verdicts: Verdicts) -> None:
    assert verdicts[OF_KARPENTER] == [("unknown", None, ["n"])]


def test_nothing_is_concluded_of_a_pod_of_another_scheduler(verdicts: Verdicts) -> None:
    assert OF_VOLCANO not in verdicts


def test_a_pod_that_fits_nowhere_is_no_fault_of_the_queue(verdicts: Verdicts) -> None:
    assert FITS_NOWHERE not in verdicts
