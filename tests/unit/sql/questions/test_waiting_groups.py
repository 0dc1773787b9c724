"""Workloads of Kueue and gangs lack what their own schedulers say of them (rules: scheduling-queue)."""

from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from components.rows import T0, row, store
from leadsman.cli.present.layout import lines
from sql.database.open import Database
from sql.questions.cells import as_columns
from sql.questions.queries import run, saved_query
from streams.fold.findings import NodeEvent, PodBinding

SPOT: Final = "insufficient unused quota for nvidia.com/gpu in flavor spot, 2 more needed"
NO_FLAVOR: Final = "couldn't assign flavors to pod set main: "
SAID: Final = {
    "short": f"{NO_FLAVOR}{SPOT}, insufficient unused quota for cpu in flavor on-demand, 500m more needed",
    "old": f"{NO_FLAVOR}insufficient unused quota in cohort for cpu in flavor default, 1 more needed",
    "never": f"{NO_FLAVOR}insufficient quota for cpu in flavor default, request > maximum capacity (16 > 8)",
    "sets": f"{NO_FLAVOR}insufficient quota for cpu in flavor default, "
    "previously considered podsets requests (6) + current podset request (4) > maximum capacity (8)",
    "inactive": "ClusterQueue team-a is inactive",
}
"""Texts of Kueue: pkg/scheduler/flavorassigner/flavorassigner.go of several releases."""
GANG: Final = (
    "3/4 tasks in gang unschedulable: pod group is not ready, 1 Running, 3 Pending, 4 minAvailable; "
    "Pending: 3 Unschedulable"
)


def said(name: str, minutes: int, reason: str, message: str, kind: str = "Workload", event: str = "") -> NodeEvent:
    at, named = T0 + timedelta(minutes=minutes), event or f"{name}.{minutes}"
    of = {"object_kind": kind, "object_name": name, "object_uid": name, "namespace": "ml"}
    return row(NodeEvent, ts=at, name=named, reason=reason, message=message, **of)


def asked(database: Database, column: str) -> dict[str, Any]:
    """A column of the answer by workload."""
    found = run(database, saved_query("waiting_groups"), {})
    workload, value = (found.column_names.index(name) for name in ("workload", column))
    return {each[workload]: each[value] for each in found.rows}


def test_the_last_words_of_kueue_and_volcano_say_what_is_missing(database: Database) -> None:
    store(
        database,
        *(said(name, 0, "Pending", text) for name, text in SAID.items()),
        said("admitted", 0, "Pending", SPOT),
        said("admitted", 1, "QuotaReserved", "Quota reserved in ClusterQueue team-a, wait time since queued was 60s"),
        said("again", 0, "Admitted", "Admitted by ClusterQueue team-a, wait time since reservation was 0s"),
        said("again", 1, "EvictedDueToPreempted", "Preempted to accommodate a workload"),
        said("off", 0, "Pending", SPOT),
        said("off", 1, "EvictedDueToDeactivated", "The workload is deactivated"),
        said(
            "late", 0, "EvictedDueToDeactivatedDueToRequeuingLimitExceeded", "exceeding the maximum number of retries"
        ),
        said("older", 0, "EvictedDueToInactiveWorkload", "The workload is deactivated"),
        said("gang", 0, "Unschedulable", GANG, "PodGroup"),
        said("placed", 0, "Unschedulable", GANG, "PodGroup"),
        said("placed", 1, "Scheduled", "pod group is ready", "PodGroup"),
    )
    assert asked(database, "lacks") == {
        "short": ["2 more nvidia.com/gpu of flavor spot", "500m more cpu of flavor on-demand"],
        "old": ["1 more cpu of flavor default"],
        "never": ["a request of at most 8 cpu of flavor default"],
        "sets": ["a request of at most 8 cpu of flavor default"],
        "inactive": [],
        "again": [],
        "gang": ["room for its gang of 4: 3 pending"],
    }


@pytest.mark.parametrize(
    ("counts", "lacks"),
    [
        ("10 minAvailable, 9 Pending; Pending: 9 Unschedulable", ["room for its gang of 10: 9 pending"]),
        ("2 minAvailable, 5 Pending; Pending: 5 Undetermined", ["room for its gang of 2: 5 pending"]),
        ("12 minAvailable, 3 Running, 9 Pending.", ["room for its gang of 12: 9 pending"]),
        ("10 Pending, 2 Running, 8 minAvailable; Pending: 3 Pending", ["room for its gang of 8: 10 pending"]),
        ("3 Running, 4 minAvailable; Pending: 1 Pending", []),
    ],
)
def test_volcano_sorts_the_counts_of_a_gang_as_texts(database: Database, counts: str, lacks: list[str]) -> None:
    """In JobInfo.FitError "10" is before "9". What follows the semicolon counts pods by reason."""
    text = f"9/12 tasks in gang unschedulable: pod group is not ready, {counts}"
    store(database, said("gang", 0, "Unschedulable", text, "PodGroup"))
    assert asked(database, "lacks") == {"gang": lacks}


@pytest.mark.parametrize("ended", ["QuotaReserved", "Admitted", "EvictedDueToDeactivated"])
@pytest.mark.parametrize("order", [1, -1])
def test_within_a_second_the_end_of_the_wait_wins(database: Database, ended: str, order: int) -> None:
    """Events of Kueue have whole seconds, and rows have no order within one."""
    for each in [said("w", 0, "Pending", SPOT, event="a"), said("w", 0, ended, "", event="b")][::order]:
        store(database, each)
    store(database, said("v", 0, ended, ""), said("v", 1, "Pending", SPOT))
    assert asked(database, "reason") == {"v": "Pending"}


@pytest.mark.parametrize("order", [1, -1])
def test_within_a_second_the_text_that_names_the_quota_is_shown(database: Database, order: int) -> None:
    preempted = [said("w", 0, each, "Preempted", event=each) for each in ("EvictedDueToPreempted", "Preempted")]
    for each in [*preempted, said("w", 0, "Pending", SPOT)][::order]:
        store(database, each)
    assert asked(database, "said") == {"w": SPOT}


def test_it_is_the_state_at_the_last_event(database: Database) -> None:
    """No row says that a workload was deleted, so the title and the heading name the Event."""
    store(database, said("gone", 0, "Pending", SPOT), said("later", 9999, "Pending", SPOT))
    at: dict[str, datetime] = asked(database, "last_event_at")
    assert at == {"gone": T0, "later": T0 + timedelta(minutes=9999)}
    assert "at their last Event" in saved_query("waiting_groups").description


def test_what_several_pod_sets_lack_is_said_once(database: Database) -> None:
    lack = "insufficient unused quota for cpu in flavor a, 1 more needed"
    other = lack.replace("1 more", "2 more")
    texts = (f"couldn't assign flavors to pod set main: {text}" for text in (lack, other, lack))
    store(database, said("w", 0, "Pending", "; ".join(texts)))
    assert asked(database, "lacks") == {"w": ["1 more cpu of flavor a", "2 more cpu of flavor a"]}


def test_hostile_names_in_its_cells_are_escaped(database: Database) -> None:
    hostile = "\x1b[31mred\u202e"
    text = SPOT.replace("flavor spot", f"flavor {hostile}")
    store(database, said(hostile, 0, "Pending", text))
    shown = "\n".join(lines(as_columns(run(database, saved_query("waiting_groups"), {})), None))
    assert {"\x1b", "\u202e"} & set(shown) == set()
    assert "2 more nvidia.com/gpu of flavor \\x1b[31mred\\u202e" in shown


def waiting(pod: str, words: str, minutes: int = 0, change: str = "pending") -> PodBinding:
    of = {"namespace": "ml", "pod": pod, "uid": pod, "created_at": T0}
    return row(PodBinding, ts=T0 + timedelta(minutes=minutes), change=change, waits_for=words, **of)


def test_a_gang_of_koordinator_lacks_what_its_pods_are_told(database: Database) -> None:
    """The texts are those of its plugin Coscheduling. A gang waits only while a pod that names it does."""
    unfit = "0/3 nodes are available: 3 Insufficient cpu."
    rejected = f'Gang "ml/infer" gets rejected due to member Pod "infer-2" is unschedulable with reason "{unfit}"'
    few = "gang child pod not collect enough, gangName: ml/{0}, podName: ml/{0}-0"
    store(
        database,
        waiting("infer-1", rejected),
        waiting("infer-2", f'{unfit} Gang "ml/infer" gets rejected due to pod is unschedulable.', 1),
        waiting("train-0", few.format("train")),
        waiting("lone-0", "gang has not init, gangName: ml/lone, podName: ml/lone-0"),
        waiting("over-0", few.format("over")),
        waiting("over-0", "", 1, "bound"),
        waiting("other", "3 Insufficient cpu"),
    )
    assert asked(database, "lacks") == {
        "infer": [f"room for its pod infer-2: {unfit}"],
        "train": ["more pods: fewer exist than its minimum"],
        "lone": ["its PodGroup"],
    }
    assert asked(database, "said")["infer"] == rejected
    assert asked(database, "last_event_at")["infer"] == T0 + timedelta(minutes=1)
