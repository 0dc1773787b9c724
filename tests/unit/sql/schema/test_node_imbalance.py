"""Reasons for a fuller or emptier node, and pods that the scheduler does not try again: by hand, and with evidence
removed.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeAlias

import pytest

from components.cases import Answers, Cases
from components.database import EmptyDatabase
from components.rows import T0, row
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


CASES = Cases()
Causes: TypeAlias = Callable[[str], dict[str, tuple[str, Any]]]


@pytest.fixture(scope="module")
def imbalance(empty_database: EmptyDatabase) -> Answers:
    return CASES.answers(empty_database, "SELECT * FROM node_imbalance WHERE resource = 'cpu' AND cause != ''")


@pytest.fixture(scope="module")
def causes(imbalance: Answers) -> Causes:
    """Return the cause, and since when, of each node of a case that has one."""

    def of(case: str) -> dict[str, tuple[str, Any]]:
        return {each["node"]: (each["cause"], each["since"]) for each in imbalance.get(case, ())}

    return of


ALIKE = CASES.add(*node("a", 5), *node("b", 6), *pods(3, "a"), *pods(3, "b"))


def test_nodes_that_are_alike_have_no_cause(causes: Causes) -> None:
    assert causes(ALIKE) == {}


NEW = row(NodeRow, node="new", ready=False, ready_since=after(0), created_at=after(0), ts=after(0))
UP = row(NodeRow, node="new", ready=True, ready_since=after(1), created_at=after(0), ts=after(1))
LOST = row(NodeRow, node="new", ready=None, ready_since=after(3), created_at=after(0), ts=after(3))
FULL = [*node("full", 9), *node("b", 4), *node("c", 4), *pods(4, "full", 5), *pods(2, "b")]
CAME_UP = CASES.add(NEW, UP, *FULL)
WAS_LOST = CASES.add(NEW, UP, *FULL, LOST)


def test_a_new_node_that_is_not_ready_yet_is_no_loss(causes: Causes) -> None:
    """Its pods came within the hour after it registered; nothing was lost."""
    assert causes(CAME_UP)["full"][0] == "unknown"
    assert causes(WAS_LOST)["full"] == ("took_over", after(3))


DOWN = row(NodeRow, node="b", ready=None, ready_since=after(30), created_at=LONG_AGO, ts=after(31))
BACK = [
    *node("a", 8),
    *node("b", 0, ready_since=after(60), ts=after(60)),
    *node("c", 8),
    *pods(4, "a"),
    *pods(4, "c"),
]
CAME_BACK = CASES.add(DOWN, *BACK)
CAME_FROM_NOWHERE = CASES.add(*BACK)


def test_a_node_that_came_back_stays_empty_for_pods_do_not_move(causes: Causes) -> None:
    assert causes(CAME_BACK)["b"] == ("came_back", after(60))


def test_without_its_outage_the_cause_of_an_empty_node_is_unknown(causes: Causes) -> None:
    assert causes(CAME_FROM_NOWHERE)["b"] == ("unknown", None)


YOUNG = node("young", 1, created_at=after(60))
JOINED = CASES.add(*node("a", 8), *node("b", 8), *YOUNG, *pods(4, "a"), *pods(4, "b"))


def test_a_node_that_joined_later_is_emptier(causes: Causes) -> None:
    assert causes(JOINED)["young"] == ("joined_later", after(60))


WAS_THERE = CASES.add(*node("a", 9), *node("b", 5), *YOUNG, *pods(4, "a"), *pods(2, "b"))


def test_a_node_whose_pods_are_older_than_the_emptier_nodes_is_fuller(causes: Causes, imbalance: Answers) -> None:
    """Its 4 pods came at 0, the emptier node an hour later."""
    assert causes(WAS_THERE) == {"a": ("was_there_before", after(60)), "young": ("joined_later", after(60))}
    evidence = [each["evidence"] for each in imbalance[WAS_THERE] if each["node"] == "a"]
    older = "100 % of its pods are older than the first of the emptier nodes, and running pods do not move."
    assert evidence == [older]


NO_EMPTIER = [
    CASES.add(*node("a", 9), *node("b", 4), *node("young", 1, **values), *pods(4, "a"), *pods(2, "b"))
    for values in ({}, {"created_at": after(60), "unschedulable": True})
]


@pytest.mark.parametrize("case", NO_EMPTIER, ids=["always there", "takes no pods"])
def test_without_a_later_emptier_node_the_cause_of_a_fuller_node_is_unknown(causes: Causes, case: str) -> None:
    """Neither with one that was always there, nor with one that takes no pods."""
    assert causes(case)["a"] == ("unknown", None)


CAME_AFTER = CASES.add(*node("a", 9), *node("b", 5), *YOUNG, *pods(4, "a", 61), *pods(9, "b"))


def test_pods_that_came_after_the_emptier_node_are_no_reason(causes: Causes) -> None:
    assert causes(CAME_AFTER) == {"a": ("unknown", None), "young": ("joined_later", after(60))}


WENT = row(NodeRow, node="gone", ready=None, ready_since=after(10), ts=after(10))
FULLER = [*node("a", 9), *node("b", 3), *node("c", 3), *pods(4, "a", 15), *pods(2, "b", -90)]
TOOK_OVER = CASES.add(WENT, *FULLER)
NOTHING_WENT = CASES.add(*FULLER)


def test_a_node_that_took_over_from_a_lost_one_is_fuller(causes: Causes) -> None:
    assert causes(TOOK_OVER)["a"] == ("took_over", after(10))


def test_without_the_loss_the_cause_of_a_fuller_node_is_unknown(causes: Causes) -> None:
    assert causes(NOTHING_WENT)["a"] == ("unknown", None)


SSD = '{"nodes":[[["disk","In",["ssd"]]]]}'
CHOSEN = CASES.add(
    *node("fast", 9, labels={"disk": "ssd"}),
    *node("slow", 1, labels={"disk": "hdd"}),
    *pods(4, "fast", constraints=SSD),
)


def test_affinity_makes_one_node_full_and_leaves_another_empty(causes: Causes) -> None:
    assert causes(CHOSEN) == {"fast": ("affinity", None), "slow": ("affinity", None)}


NOT_CHOSEN = CASES.add(*node("fast", 9), *node("slow", 1), *pods(4, "fast"))


def test_pods_that_choose_nothing_are_no_affinity(causes: Causes) -> None:
    assert causes(NOT_CHOSEN) == {"fast": ("unknown", None), "slow": ("unknown", None)}


CLOSED: dict[str, dict[str, Any]] = {
    "not_ready": {"ready": None},
    "cordoned": {"unschedulable": True},
    "tainted": {"taints": ["a=b:NoSchedule"]},
}
IS_CLOSED = {
    cause: CASES.add(*node("a", 8), *node("b", 0, **values), *pods(4, "a")) for cause, values in CLOSED.items()
}


@pytest.mark.parametrize("cause", CLOSED)
def test_a_closed_node_needs_no_other_cause(causes: Causes, cause: str) -> None:
    assert causes(IS_CLOSED[cause])["b"] == (cause, None)


# Pods that are not tried again.


def failed(minutes: float, uid: str = "u-p") -> NodeEvent:
    return row(NodeEvent, ts=after(minutes), reason="FailedScheduling", object_kind="Pod", object_uid=uid, name="e")


def later(minutes: float) -> list[Row]:
    return [each._replace(ts=after(minutes)) for each in node("n", 1)]  # type: ignore[attr-defined]


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
    answers = CASES.answers(empty_database, "SELECT * FROM pods_not_retried")
    return {
        cluster: [(one["verdict"], one["tried_at"], one["nodes"]) for one in rows]
        for cluster, rows in answers.items()
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
