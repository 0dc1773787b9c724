"""TopologyAdmissionRunaway: a hundred rejected pods of one ReplicaSet are one alert, and no other."""

from typing import Any

from components.alert_log import AlertLog, at, changed
from components.rows import row
from streams.fold.findings import PodEnd


def refused(seconds: float, **values: Any) -> PodEnd:
    given = {
        "node": "n",
        "namespace": "shop",
        "pod": f"p{seconds}",
        "uid": f"p{seconds}",
        "reason": "TopologyAffinityError",
        "message": "Resources cannot be allocated with Topology locality",
        "owner_kind": "ReplicaSet",
        "owner_name": "web-98cbc7457",
    }
    return row(PodEnd, ts=at(seconds), cause="admission", **(given | values))


def feed(log: AlertLog, *seconds: float, **values: Any) -> list[str]:
    """What a rejection at each of these seconds emits."""
    return [emitted for each in seconds for emitted in log(each, refused(each, **values))]


def test_a_hundred_rejected_pods_are_one_alert_with_who_and_how_often() -> None:
    log = AlertLog()
    assert feed(log, *(number / 2 for number in range(100))) == ["firing TopologyAdmissionRunaway"]
    assert log(60, new_minute=True) == ["firing TopologyAdmissionRunaway"]
    assert log.labels[0]["workload"] == "ReplicaSet/web-98cbc7457"
    assert log.summaries[-1] == (
        "Node n: ReplicaSet web-98cbc7457 in shop made 100 pods within 50 s that were rejected because their CPUs "
        "and devices cannot be aligned on NUMA nodes"
    )


def test_a_runaway_takes_the_place_of_rejections_that_fired_before_it() -> None:
    log = AlertLog()
    assert feed(log, *range(0, 40, 5)) == ["firing PodsRejected"]
    assert feed(log, 40, 45, 50, 55) == ["resolved PodsRejected", "firing TopologyAdmissionRunaway"]
    assert set(log.state.active) == {"TopologyAdmissionRunaway"}


def test_nine_rejections_are_no_runaway() -> None:
    log = AlertLog()
    feed(log, *range(9))
    assert log(20) == ["firing PodsRejected"]


def test_a_pod_that_nothing_makes_anew_cannot_run_away() -> None:
    log = AlertLog()
    feed(log, *range(20), owner_kind="", owner_name="")
    assert set(log.state.active) == {"PodsRejected"}


def test_each_workload_is_an_alert_of_its_own() -> None:
    log = AlertLog(changed(TopologyAdmissionRunaway={"rejections": 2}))
    feed(log, 0, 1)
    feed(log, 2, 3, owner_name="other")
    assert len({alert.fingerprint for alert in log.emitted}) == 2


def test_for_want_of_another_resource_nothing_runs_away() -> None:
    """The scheduler counts CPUs itself, and looks for another node."""
    log = AlertLog()
    feed(log, *range(20), reason="OutOfcpu")
    assert set(log.state.active) == {"PodsRejected"}


def test_it_is_resolved_when_no_more_came() -> None:
    log = AlertLog()
    feed(log, *range(10))
    assert log(9 + 15 * 60 - 1) == []
    assert log(9 + 15 * 60) == ["resolved TopologyAdmissionRunaway"]
