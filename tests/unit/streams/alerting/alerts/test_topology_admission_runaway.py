"""TopologyAdmissionRunaway: a hundred rejected pods of one ReplicaSet are one alert, on however many nodes."""

from datetime import UTC, datetime
from itertools import cycle
from typing import Any

from components.alert_log import AlertLog, at, changed, rejection
from components.captures import Json, about_pod, event, pod, records
from components.rows import row
from ingest.model.records import RejectionRecord
from streams.fold.findings import PodEnd

OWNER = {"kind": "ReplicaSet", "name": "web-98cbc7457", "uid": "rs", "controller": True}
REJECTED = "Pod was rejected: Resources cannot be allocated with Topology locality"


def cluster_log(rules: Any = None) -> AlertLog:
    return AlertLog(rules, node="")


def feed(log: AlertLog, *seconds: float, target: str = "n", **values: Any) -> list[str]:
    """Return the changes that a rejection at each of these seconds emits."""
    return [emitted for each in seconds for emitted in log.record(rejection(each, target, **values))]


def test_a_hundred_rejected_pods_are_one_alert_with_who_where_and_how_often() -> None:
    log = cluster_log()
    nodes = cycle(("n-1", "n-2", "n-2"))
    emitted = [each for number in range(99) for each in feed(log, number / 2, target=next(nodes))]
    assert emitted == ["firing TopologyAdmissionRunaway"]
    assert log(60, new_minute=True) == ["firing TopologyAdmissionRunaway"]
    assert log.labels[0] == {
        "alertname": "TopologyAdmissionRunaway",
        "severity": "critical",
        "cluster": "c",
        "namespace": "shop",
        "workload": "ReplicaSet/web-98cbc7457",
    }
    assert log.summaries[-1] == (
        "Cluster c: ReplicaSet web-98cbc7457 in shop made 99 pods within 49 s that were rejected on 2 nodes because "
        "their resources could not be aligned on NUMA nodes"
    )
    assert log.descriptions[-1].startswith("Rejected on n-2 (66), n-1 (33). Each rejected pod stays Failed")


def test_it_is_the_same_in_whatever_order_the_rejections_of_a_minute_come() -> None:
    """Nodes' logs are folded by several workers."""
    given = [rejection(number, f"n-{number % 3}") for number in range(20)]
    found = []
    for order in (given, given[::-1]):
        log = cluster_log()
        for each in order:
            log.record(each)
        log(60, new_minute=True)
        found.append((log.labels[-1], log.summaries[-1], log.descriptions[-1], log.emitted[-1].starts_at))
    assert found[0] == found[1]


def test_a_runaway_takes_the_place_of_rejections_that_fired_before_it_on_any_node() -> None:
    log = cluster_log()
    feed(log, 0, target="n-1")
    feed(log, 5, target="n-2")
    assert feed(log, 60, target="n-2") == ["firing PodsRejected", "firing PodsRejected"]
    assert feed(log, *range(61, 68), target="n-2") == [
        "resolved PodsRejected",
        "resolved PodsRejected",
        "firing TopologyAdmissionRunaway",
    ]
    assert set(log.state.active) == {"TopologyAdmissionRunaway"}


def test_rejections_of_another_workload_are_no_part_of_a_runaway() -> None:
    log = cluster_log()
    feed(log, *range(10))
    feed(log, 20, owner_name="other")
    assert log(60, new_minute=True) == ["firing PodsRejected"]
    assert log.labels[-1]["node"] == "n"


def test_nine_rejections_are_no_runaway() -> None:
    log = cluster_log()
    feed(log, *range(9))
    assert log(60) == ["firing PodsRejected"]


def test_a_pod_that_nothing_makes_anew_cannot_run_away() -> None:
    log = cluster_log()
    feed(log, *range(20), owner_kind="", owner_name="")
    assert set(log.state.active) == {"PodsRejected"}


def test_a_pod_counts_once_whichever_witness_names_its_owner() -> None:
    log = cluster_log(changed(TopologyAdmissionRunaway={"rejections": 2}))
    for owner in ("", "web", "web"):
        assert log.record(rejection(0, owner_name=owner)) == []


def test_each_workload_is_an_alert_of_its_own() -> None:
    log = cluster_log(changed(TopologyAdmissionRunaway={"rejections": 2}))
    feed(log, 0, 1)
    feed(log, 2, 3, owner_name="other")
    assert len({alert.fingerprint for alert in log.emitted}) == 2


def test_on_the_log_of_a_node_it_raises_nothing() -> None:
    """The cluster's log has it."""
    log = AlertLog()
    log(0, row(PodEnd, ts=at(0), node="n", pod="p", uid="p", cause="admission", reason="TopologyAffinityError"))
    assert log(60) == []


def test_it_is_resolved_when_no_more_came() -> None:
    log = cluster_log()
    feed(log, *range(10))
    assert log(14 * 60, new_minute=True) == []
    assert log(9 + 16 * 60) == ["resolved TopologyAdmissionRunaway"]


def test_the_clusters_log_has_each_rejection_by_each_witness_without_the_log_of_a_node() -> None:
    text = {"reason": "TopologyAffinityError", "message": REJECTED}
    failed: dict[str, Any] = {"phase": "Failed", "status": text, "metadata": {"ownerReferences": [OWNER]}}
    given: list[Json] = [
        pod("12:00:00", "a", "n-1", phase="Pending"),
        event("12:00:01", "a.1", *text.values(), node="n-1", about=about_pod("a"), kind="Warning"),
        pod("12:00:01.5", "a", "n-1", **failed),
        pod("12:00:03", "b", "n-1", phase="Failed", status={"reason": "OutOfcpu", "message": "Pod was rejected: no"}),
        pod("12:00:09", "a", "n-1", **failed, type_="DELETED"),
    ]
    found = [each for each in records(*given) if isinstance(each, RejectionRecord)]
    assert [(each.node, each.target, each.uid, each.owner_name) for each in found] == [
        ("", "n-1", "uid-a", ""),
        ("", "n-1", "uid-a", "web-98cbc7457"),
    ]
    assert found[0].rejected_at == datetime(2026, 7, 1, 12, 0, 1, tzinfo=UTC)


def test_a_rejection_that_a_list_repeats_is_as_old_as_its_pod_says() -> None:
    status = {"reason": "TopologyAffinityError", "message": REJECTED, "startTime": "2026-07-01T08:00:05Z"}
    (found,) = (
        each
        for each in records(pod("12:00:00", "a", "n-1", phase="Failed", status=status))
        if not each.node and isinstance(each, RejectionRecord)
    )
    assert found.rejected_at == datetime(2026, 7, 1, 8, 0, 5, tzinfo=UTC)
