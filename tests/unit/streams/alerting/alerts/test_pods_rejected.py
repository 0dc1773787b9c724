"""PodsRejected: a storm of rejections is one alert with who and how often; preemption and evictions are neither."""

from typing import Any

import pytest

from components.alert_log import AlertLog, at, changed
from components.rows import row
from streams.fold.findings import PodEnd

UNDER_PRESSURE = {"refused_by": "node_pressure", "resource": "DiskPressure"}


def rejection(seconds: float, pod: str, reason: str = "OutOfcpu", **values: Any) -> PodEnd:
    given = {"node": "n", "namespace": "shop", "uid": pod, "owner_kind": "ReplicaSet", "owner_name": "web-98cbc7457"}
    return row(PodEnd, ts=at(seconds), pod=pod, cause="admission", reason=reason, **(given | values))


def test_a_storm_is_one_alert_that_counts_the_pods_and_names_their_owners() -> None:
    log = AlertLog()
    for number in range(69):
        ended = rejection(number / 10, f"p{number}", "Evicted", **UNDER_PRESSURE)
        assert log(number / 10, ended) == []
    log(8, rejection(8, "db-0", "Evicted", owner_kind="StatefulSet", owner_name="db", **UNDER_PRESSURE))
    assert log(12) == ["firing PodsRejected"]
    assert log.summaries == [
        "Node n: 70 pods rejected at admission within 8 s because the node was under disk pressure"
    ]
    assert log.descriptions[0].startswith(
        "Pods of ReplicaSet web-98cbc7457 in shop, 69 times; StatefulSet db in shop, once. "
    )
    assert log.labels[0]["reason"] == "DiskPressure"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("OutOfcpu", "because the kubelet counted too little free CPU"),
        ("OutOfexample.com/gpu", "because the kubelet counted too few free example.com/gpu"),
        (
            "NodeAffinity",
            "because the node's labels, as the kubelet had them, did not match their selector or affinity",
        ),
        ("UnexpectedAdmissionError", "because their kubelet met an error that it did not expect"),
        ("PodOSSelectorNodeLabelDoesNotMatch", "because their label kubernetes.io/os did not match the node's"),
        ("SomethingNew", "because of what the kubelet's message names"),
    ],
)
def test_a_reason_is_reported_in_words(reason: str, words: str) -> None:
    log = AlertLog()
    log(0, rejection(0, "a", reason))
    assert log(10) == ["firing PodsRejected"]
    assert log.summaries == [f"Node n: 1 pod rejected at admission {words}"]


@pytest.mark.parametrize("cause", ["kubelet_preemption", "scheduler_preemption", "node_pressure", "own_limit"])
def test_a_pod_that_was_preempted_or_evicted_was_not_rejected(cause: str) -> None:
    log = AlertLog()
    log(0, rejection(0, "a", "Preempting")._replace(cause=cause))
    assert log(20) == []


def test_a_pod_counts_once_and_gets_its_owner_from_a_later_witness() -> None:
    log = AlertLog()
    log(0, rejection(0, "a", owner_kind="", owner_name=""))
    log(1, rejection(0, "a"))
    log(2, rejection(0, "a", deleted=True))
    log(10)
    assert "1 pod rejected" in log.summaries[0]
    assert "Pods of ReplicaSet web-98cbc7457 in shop, once." in log.descriptions[0]


def test_each_reason_is_an_alert_of_its_own() -> None:
    log = AlertLog()
    log(0, rejection(0, "a"), rejection(0, "b", "NodeAffinity"))
    assert log(10) == ["firing PodsRejected", "firing PodsRejected"]


def test_rejections_that_a_list_repeats_long_after_raise_nothing() -> None:
    assert AlertLog()(3600, rejection(0, "a")) == []


def test_with_too_few_pods_it_does_not_fire() -> None:
    log = AlertLog(changed(PodsRejected={"pods": 2}))
    log(0, rejection(0, "a"))
    assert log(20) == []
    assert log(30, rejection(30, "b")) == ["firing PodsRejected"]


def test_it_is_resolved_when_no_more_came() -> None:
    log = AlertLog()
    log(0, rejection(0, "a"))
    log(10)
    assert log(239) == []
    assert log(240) == ["resolved PodsRejected"]
