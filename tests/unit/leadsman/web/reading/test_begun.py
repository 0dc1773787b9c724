"""Since when nodes are as they are at the end: each kind on the least rows that show it."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from components.node_lines import node_line
from components.rows import T0, row, store
from leadsman.web.reading.margins import Margin
from leadsman.web.reading.nodes import Fit
from leadsman.web.reading.overview import Begun, Since, earliest, first, read_begun
from leadsman.web.reading.scope import Scope
from sql.database.open import Database
from streams.fold.findings import EvictionSignal, LateJoiners, NodeEvent, NodeFit, NodeRow, NumaSkew

SCOPE = Scope("c", T0, T0 + timedelta(hours=1))
MET = Margin("memory.available", 1, 10, 2, None, True, False, None, None, False, False)
UNEVEN = {"skew_ratio": 0.75, "stranded_cpus": 4, "cpu_manager_policy": "static"}


def at(minutes: float) -> datetime:
    return T0 + timedelta(minutes=minutes)


def read(db: Database, cordoned: bool = False, late: bool = False, **node: Any) -> Begun:
    rows = [{"node": "n", "cordoned": 1, "taints": []}] if cordoned else []
    return read_begun(db, SCOPE, [node_line("n", **node)], rows, late=late)


@pytest.mark.parametrize(
    ("met", "since"),
    [
        ({1: 1, 2: 0, 3: 1, 4: 1}, Since(at(3))),
        ({1: 1, 2: 1}, Since(at(1), or_earlier=True)),
        ({1: 0, 2: 1}, Since(at(2))),
    ],
)
def test_a_threshold_is_met_since_the_first_sample_that_met_it(
    database: Database, met: dict[int, int], since: Since
) -> None:
    """A state that every sample of the range met may have begun before."""
    store(database, *(row(EvictionSignal, ts=at(when), node="n", signal="memory.available", hard_met=bool(below))
                      for when, below in met.items()))  # fmt: skip
    begun = read(database, margins=(MET,))
    assert first(begun, "hard", ["memory.available"], ["n"]) == since


def test_a_threshold_is_near_since_the_first_forecast_that_was_near(database: Database) -> None:
    ahead = {1: None, 2: 4000.0, 3: 3000.0, 4: 2000.0}
    store(database, *(row(EvictionSignal, ts=at(when), node="n", signal="memory.available", seconds_to_hard=seconds)
                      for when, seconds in ahead.items()))  # fmt: skip
    begun = read(database, margins=(MET._replace(hard_met=False, seconds_to_hard=2000.0),))
    assert begun["near", "memory.available"]["n"] == Since(at(3))


def test_a_node_is_overcommitted_since_more_was_requested_than_allocatable(database: Database) -> None:
    requested = {1: 4000, 2: 4001, 3: 4001}
    store(database, *(row(NodeFit, ts=at(when), node="n", resource="cpu", allocatable=4000, requested=much)
                      for when, much in requested.items()))  # fmt: skip
    begun = read(database, fit={"cpu": Fit(4000, 4000, 4001, None, 1)})
    assert begun["over", "cpu"]["n"] == Since(at(2))


def test_numa_nodes_are_uneven_since_their_row_is(database: Database) -> None:
    """Rows are of changes: what was before the range counts."""
    skews = {-90: 0.0, -60: 0.75, 5: 0.5}
    store(database, *(row(NumaSkew, ts=at(when), scope="node", node="n", skew_ratio=skew, stranded_cpus=4,
                          fidelity="exact") for when, skew in skews.items()))  # fmt: skip
    assert read(database, numa=UNEVEN)["uneven", ""]["n"] == Since(at(-60))


@pytest.mark.parametrize("changed", [{"unschedulable": True}, {"taints": ("karpenter.sh/disrupted=:NoSchedule",)}])
def test_a_node_is_drained_since_it_was_cordoned_or_tainted(database: Database, changed: dict[str, Any]) -> None:
    store(
        database,
        row(NodeRow, ts=at(-9), node="n"),
        *(row(NodeRow, ts=at(when), node="n", **changed) for when in (-5, 3)),
    )
    assert read(database, cordoned=True)["cordoned", ""]["n"] == Since(at(-5))


@pytest.mark.parametrize(
    ("events", "since"),
    [
        ({"NodeNotSchedulable": -20}, Since(at(-20))),
        ({"NodeSchedulable": -30, "NodeNotSchedulable": -20}, Since(at(-20))),
        ({"NodeNotSchedulable": -40, "NodeSchedulable": -30}, Since(at(-5))),
        ({"Starting": -20.5, "NodeNotSchedulable": -20}, Since(at(-20), or_earlier=True)),
        ({"Starting": -50, "NodeNotSchedulable": -20}, Since(at(-20))),
        ({"Starting": -50, "Rebooted": -20, "NodeNotSchedulable": -20}, Since(at(-20), or_earlier=True)),
        ({"DisruptionTerminating": -20, "TerminatingOnInterruption": -10}, Since(at(-20), or_earlier=True)),
        ({}, Since(at(-5), or_earlier=True)),
    ],
)
def test_the_kubelets_events_date_a_cordon_that_the_node_object_does_not(
    database: Database, events: dict[str, float], since: Since
) -> None:
    """A kubelet that starts on a cordoned node writes NodeNotSchedulable too; the node was cordoned before."""
    about = {"object_kind": "Node", "object_name": "n", "node": "n", "component": "kubelet", "occurrences": 1}
    texts = {"Starting": "Starting kubelet."}
    reported = (
        row(NodeEvent, ts=at(when), reason=each, name=each, message=texts.get(each, ""), **about)
        for each, when in events.items()
    )
    store(database, row(NodeRow, ts=at(-5), node="n", unschedulable=True), *reported)
    scope = SCOPE._replace(since=at(-60))
    begun = read_begun(database, scope, [node_line("n")], [{"node": "n", "cordoned": 1, "taints": []}], late=False)
    assert begun["cordoned", ""]["n"] == since


def test_the_time_of_its_taint_dates_a_cordon(database: Database) -> None:
    rows = (row(NodeRow, ts=at(when), node="n", unschedulable=True, cordoned_since=at(-70)) for when in (-5, 3))
    store(database, *rows)
    assert read(database, cordoned=True)["cordoned", ""]["n"] == Since(at(-70))


def test_a_taint_dates_a_cordon_no_later_than_the_object_has_it(database: Database) -> None:
    """The clock of who cordons may be ahead; the story has the time of the object then."""
    store(database, row(NodeRow, ts=at(5), node="n", unschedulable=True, cordoned_since=at(10)))
    assert read(database, cordoned=True)["cordoned", ""]["n"] == Since(at(5), or_earlier=True)


def test_a_taint_that_was_read_only_after_the_end_dates_nothing_before_it(database: Database) -> None:
    store(
        database,
        row(NodeRow, ts=at(-9), node="n"),
        row(NodeRow, ts=at(-5), node="n", unschedulable=True),
        row(NodeRow, ts=at(70), node="n", unschedulable=True, cordoned_since=at(30)),
    )
    assert read(database, cordoned=True)["cordoned", ""]["n"] == Since(at(-5))


def test_the_event_of_a_kubelet_that_saw_a_cordon_later_does_not_begin_it_again(database: Database) -> None:
    """The story has the time of the taint, too."""
    reported = row(NodeEvent, ts=at(-69.9), reason="NodeNotSchedulable", name="e", object_kind="Node",
               object_name="n", node="n", component="kubelet", occurrences=1)  # fmt: skip
    store(database, reported, row(NodeRow, ts=at(-5), node="n", unschedulable=True, cordoned_since=at(-70)))
    assert read(database, cordoned=True)["cordoned", ""]["n"] == Since(at(-70))


def test_late_joiners_are_of_the_cluster(database: Database) -> None:
    verdicts = {-3: "even", 2: "late_joiners_emptier", 4: "late_joiners_emptier"}
    store(database, *(row(LateJoiners, ts=at(when), verdict=verdict) for when, verdict in verdicts.items()))
    assert read(database, late=True)["late", ""][""] == Since(at(2))


def test_nothing_is_asked_where_nothing_lasts(database: Database) -> None:
    assert read(database) == {}


def test_the_earliest_is_open_where_any_of_that_time_is() -> None:
    assert earliest([None, Since(at(1)), Since(at(1), or_earlier=True), Since(at(2))]) == Since(
        at(1), or_earlier=True
    )
