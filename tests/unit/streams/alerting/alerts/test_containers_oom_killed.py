"""ContainersOOMKilled: kills of a workload gather into one alert, each counts once, and other ends are none."""

from typing import Any

from components.alert_log import AlertLog, at, changed
from components.rows import row
from streams.fold.findings import PodEnd

FIRING = ["firing ContainersOOMKilled"]


def kill(seconds: float, attempt: int = 0, pod: str = "web-1", **values: Any) -> PodEnd:
    given = {
        "node": "n",
        "namespace": "default",
        "uid": pod,
        "container": "w",
        "cause": "oom_kill",
        "owner_kind": "ReplicaSet",
        "owner_name": "web",
        "witness": "status",
    }
    return row(PodEnd, ts=at(seconds), pod=pod, attempt=attempt, **(given | values))


def test_three_kills_of_a_workload_fire_whichever_of_its_pods_they_are_of() -> None:
    log = AlertLog()
    assert log(0, kill(0)) == []
    assert log(100, kill(100, 1)) == []
    assert log(400, kill(400, pod="web-2")) == FIRING
    assert log.summaries == ["Node n: 3 OOM kills within 6 min 40 s of ReplicaSet/web in namespace default"]
    assert log.labels[0]["workload"] == "ReplicaSet/web"


def test_an_end_whose_row_is_updated_counts_once() -> None:
    log = AlertLog()
    for seconds in range(0, 100, 10):
        assert log(seconds, kill(0), kill(0, restarted=True), kill(0, deleted=True)) == []


def test_kills_far_apart_are_no_storm() -> None:
    log = AlertLog()
    for number in range(5):
        assert log(number * 1000, kill(number * 1000, number)) == []


def test_workloads_are_alerts_of_their_own_and_a_pod_without_owner_is_one() -> None:
    log = AlertLog()
    for number in range(3):
        log(number, kill(number, number), kill(number, number, pod="lone", owner_kind="", owner_name=""))
    log(20)
    assert {labels["workload"] for labels in log.labels} == {"ReplicaSet/web", "Pod/lone"}


def test_other_ends_and_old_news_raise_nothing() -> None:
    log = AlertLog(changed(ContainersOOMKilled={"kills": 1}))
    assert log(0, kill(0, cause="liveness"), kill(0, 1, cause="deleted")) == []
    assert log(3600, kill(0, 2)) == []
    assert log(3700) == []


def test_it_is_resolved_when_no_more_were_killed() -> None:
    log = AlertLog(changed(ContainersOOMKilled={"kills": 1}))
    log(0, kill(0))
    assert log(10) == FIRING
    assert log(899) == []
    assert log(900) == ["resolved ContainersOOMKilled"]
