"""PodsEvicted: a storm is one alert, each pod counts once, and old news raises nothing."""

from typing import Any

from components.alert_log import AlertLog, at, changed
from components.rows import row
from streams.alerting.active import MAX_MEMBERS
from streams.fold.findings import Eviction


def eviction(seconds: float, pod: str, cause: str = "pressure", **values: Any) -> Eviction:
    given = {"resource": "memory", "node": "n", "namespace": "default", "uid": pod, "evidence": "event"}
    return row(Eviction, ts=at(seconds), pod=pod, cause=cause, **(given | values))


def test_a_rejection_at_admission_is_no_eviction() -> None:
    log = AlertLog()
    log(0, eviction(0, "a", "admission", resource="DiskPressure"))
    assert log(20) == []


def test_a_pod_that_two_witnesses_report_is_counted_once() -> None:
    log = AlertLog()
    log(0, eviction(0, "a"))
    log(1, eviction(0, "a", evidence="both"))
    log(2, eviction(1, "b"), eviction(1, "b", evidence="both"))
    log(20)
    assert "2 pods evicted" in log.summaries[0]


def test_a_pod_of_the_same_name_that_was_made_anew_is_another() -> None:
    log = AlertLog()
    log(0, eviction(0, "web-0", uid="first"))
    log(1, eviction(1, "web-0", uid="second"))
    log(20)
    assert "2 pods evicted" in log.summaries[0]


def test_causes_and_resources_are_alerts_of_their_own() -> None:
    log = AlertLog()
    log(0, eviction(0, "a"), eviction(0, "b", resource="ephemeral-storage"), eviction(0, "c", "limit"))
    assert len(log(20)) == 3
    assert len({alert.fingerprint for alert in log.emitted}) == 3


def test_an_eviction_without_its_reason_fires_and_claims_no_shortage() -> None:
    log = AlertLog()
    log(0, eviction(0, "a", "unknown", resource="", evidence="status"))
    log(20)
    (alert,) = log.emitted
    assert alert.labels["cause"] == "unknown"
    assert log.summaries == ["Node n: 1 pod evicted, reason unknown"]
    assert "low on" not in str(alert.annotations)


def test_evictions_that_a_list_repeats_long_after_raise_nothing() -> None:
    log = AlertLog()
    assert log(3600, eviction(0, "a")) == []
    assert log(3700) == []


def test_evictions_are_resolved_when_no_more_came() -> None:
    log = AlertLog()
    log(0, eviction(0, "a"))
    log(10)
    log(200, eviction(200, "b"))
    assert log(439) == []
    assert log(440) == ["resolved PodsEvicted"]


def test_with_too_few_pods_it_does_not_fire() -> None:
    log = AlertLog(changed(PodsEvicted={"pods_limit": 3}))
    log(0, eviction(0, "a", "limit"))
    log(1, eviction(1, "b", "limit"))
    assert log(100) == []
    assert log(300) == []
    assert log.state.active == {}
    for second, pod in enumerate("cde"):
        log(400 + second, eviction(400 + second, pod, "limit"))
    assert log(410) == ["firing PodsEvicted"]


def test_a_storm_that_is_too_large_to_keep_apart_is_still_counted() -> None:
    log = AlertLog()
    log(0, *(eviction(0, f"p{number}") for number in range(MAX_MEMBERS + 5)))
    log(10)
    assert "1,005 pods evicted" in log.summaries[0]
    (alert,) = log.state.active["PodsEvicted"].values()
    assert len(alert.group.members) == MAX_MEMBERS + 1


def test_a_shortage_that_no_pod_explains_points_outside_pods() -> None:
    log = AlertLog()
    log(0, eviction(0, "a", pods_usage_ratio=0.05), eviction(0, "b", resource="inodes", pods_usage_ratio=0.5))
    log(20)
    assert ["outside pods." in text for text in log.descriptions] == [True, False]


def test_a_hostile_name_is_one_harmless_line() -> None:
    log = AlertLog()
    log(0, eviction(0, "x\x1b[31m\n\u202ey" * 200))
    log(20)
    for text in log.emitted[0].annotations.values():
        assert text.isprintable()
        assert len(text) < 2000
