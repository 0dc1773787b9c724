"""NodeNotReady: a node that stays not ready or silent; not one that is drained."""

from typing import Any

import pytest

from components.alert_log import AlertLog, at, changed
from components.rows import row
from streams.fold.findings import NodeRow


def node(**values: Any) -> NodeRow:
    silent = {"ready_message": "Kubelet stopped posting node status."} if values.get("ready", False) is None else {}
    return row(NodeRow, node="n", **({"ready": False, "ready_since": at(0), "ts": at(0)} | silent | values))


@pytest.mark.parametrize("ready", [False, None])
def test_a_node_that_stays_not_ready_raises_it(ready: bool | None) -> None:
    log = AlertLog()
    assert log(0, node(ready=ready)) == []
    assert log(119) == []
    assert log(120) == ["firing NodeNotReady"]
    assert log(200, node(ready=True)) == []
    assert log(320) == ["resolved NodeNotReady"]


def test_a_kubelet_that_restarts_raises_nothing() -> None:
    log = AlertLog()
    log(0, node())
    log(30, node(ready=True))
    assert log(300) == []


def test_a_node_that_has_long_been_not_ready_when_it_is_first_seen_raises_it_at_once() -> None:
    assert AlertLog()(3600, node(ts=at(3600))) == ["firing NodeNotReady"]


def test_not_ready_and_silent_are_distinguished_with_since_when() -> None:
    refuses, silent = AlertLog(), AlertLog()
    refuses(3600, node(ready_message="container runtime is down"))
    silent(3600, node(ready=None))
    assert refuses.summaries == ["Node n: not Ready since 2026-07-01 12:00:00 UTC"]
    assert silent.summaries == [
        "Node n: whether it is Ready is unknown: its kubelet does not report, since 2026-07-01 12:00:00 UTC"
    ]
    assert refuses.descriptions[0].startswith("Its kubelet reports: Container runtime is down. No new pods")
    assert silent.descriptions[0].startswith("The API server no longer hears its kubelet")


def test_a_node_without_the_condition_says_nothing_of_its_kubelet() -> None:
    """A Node object can be made before its kubelet, and a dump can be cut before the condition."""
    unsaid = AlertLog()
    unsaid(3600, node(ready=None, ready_message=""))
    assert unsaid.summaries == []


@pytest.mark.parametrize(
    "drained",
    [
        node(unschedulable=True),
        node(ready=None, unschedulable=True),
        node(taints=["karpenter.sh/disrupted=:NoSchedule"]),
        node(taints=["ToBeDeletedByClusterAutoscaler=1782907200:NoSchedule"]),
    ],
)
def test_a_node_that_is_drained_raises_it_only_for_those_who_ask(drained: NodeRow) -> None:
    assert AlertLog()(3600, drained) == []
    assert AlertLog(changed(NodeNotReady={"cordoned": True}))(3600, drained) == ["firing NodeNotReady"]


def test_cordoning_a_node_that_is_not_ready_resolves_it_and_uncordoning_it_fires_it_again() -> None:
    log = AlertLog()
    log(3600, node())
    assert log(3610, node(unschedulable=True)) == ["resolved NodeNotReady"]
    assert log.emitted[-1].reason == "cordoned"
    assert log(9000) == []
    assert log(9010, node()) == ["firing NodeNotReady"]  # it has not been Ready since long before


def test_a_node_that_is_deleted_is_not_missed() -> None:
    log = AlertLog()
    log(3600, node())
    assert log(3610, node(deleted=True)) == ["resolved NodeNotReady"]


def test_without_a_reason_nobody_says_that_the_kubelet_runs() -> None:
    """An Event or a table has none, and calls a silent node NotReady too."""
    log = AlertLog()
    log(3600, node())
    assert log.descriptions[0].startswith("No reason of its kubelet was seen. No new pods are placed there.")
