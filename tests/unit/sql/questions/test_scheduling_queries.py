"""The saved queries about scheduling, on rows reasoned by hand."""

from datetime import datetime, timedelta
from typing import Any

from components.rows import T0, row, store
from sql.database.open import Database
from sql.questions.queries import run, saved_query
from streams.fold.findings import NodeEvent, NodeRow, PodBinding, SchedulerBlindSpot, SchedulingFailure


def at(minutes: float) -> datetime:
    return T0 + timedelta(minutes=minutes)


def ask(db: Database, name: str, **given: str) -> list[dict[str, Any]]:
    found = run(db, saved_query(name), given)
    return [dict(zip(found.column_names, one, strict=True)) for one in found.rows]


def failure(pod: str, minutes: float, reasons: dict[str, int], **values: Any) -> SchedulingFailure:
    given = {"ts": at(minutes), "namespace": "ns", "pod": pod, "uid": f"u-{pod}", "text_source": "condition"}
    given |= {"nodes_total": 3, "nodes_known": 3, "reasons": reasons, "reason_sum": sum(reasons.values())}
    return row(SchedulingFailure, **{**given, **values})


def binding(pod: str, change: str, minutes: float, **values: Any) -> PodBinding:
    given = {"ts": at(minutes), "change": change, "namespace": "ns", "pod": pod, "uid": f"u-{pod}"}
    return row(PodBinding, **{**given, **values})


def node(name: str, zone: str, **values: Any) -> NodeRow:
    return row(NodeRow, **{"node": name, "zone_key": zone, "ready": True, "kubelet_version": "v1.18.4", **values})


def test_pending_pods_are_recognised_by_their_last_condition_and_by_their_event_only_without_one(
    database: Database,
) -> None:
    store(
        database,
        failure("waits", 0, {"Insufficient cpu": 3}),
        failure("waits", 1, {"Too many pods": 3}),
        failure("waits", 2, {"Insufficient memory": 3}, text_source="event"),
        failure("bound", 0, {"Insufficient cpu": 3}),
        failure("only-event", 0, {"Insufficient cpu": 3}, text_source="event"),
        binding("waits", "pending", 0),
        binding("bound", "pending", 0),
        binding("bound", "bound", 3),
    )
    found = ask(database, "pending_pods")
    assert [(r["pod"], r["reasons"], r["text_source"]) for r in found] == [
        ("only-event", {"Insufficient cpu": 3}, "event"),
        ("waits", {"Too many pods": 3}, "condition"),
    ]


def event(pod: str, reason: str, minutes: float, **values: Any) -> NodeEvent:
    given = {"ts": at(minutes), "reason": reason, "name": f"{pod}.{reason}", "object_kind": "Pod", "namespace": "ns"}
    of = {"object_name": pod, "object_uid": f"u-{pod}", "type": "Normal" if reason == "Scheduled" else "Warning"}
    return row(NodeEvent, **{**given, **of, "message": reason, **values})


def test_only_an_event_after_it_was_last_seen_to_wait_binds_a_pod(database: Database) -> None:
    """The uid of a text is the name, which an older pod can have had. Events have whole seconds. Of a real uid, one
    Event Scheduled is enough.
    """
    seen = 60.01

    def of_text(pod: str, reason: str, minutes: float) -> NodeEvent:
        return event(pod, reason, minutes, object_uid=f"ns/{pod}")

    store(
        database,
        *(
            binding(pod, "pending", seen, phase="Pending", waits_for="no room", uid=f"ns/{pod}")
            for pod in ("old", "failed", "same", "new")
        ),
        of_text("old", "Scheduled", 1),
        of_text("failed", "Scheduled", 70),
        of_text("failed", "FailedScheduling", 71),
        of_text("same", "Scheduled", 60),
        of_text("new", "Scheduled", 80),
        of_text("new", "FailedScheduling", 61),
        *(of_text(pod, "FailedScheduling", 2) for pod in ("text-bound", "text-waits")),
        of_text("text-bound", "Scheduled", 3),
        of_text("text-waits", "Scheduled", 1),
        binding("real", "pending", seen, phase="Pending", waits_for="no room"),
        event("real", "Scheduled", 1),
    )
    assert [each["pod"] for each in ask(database, "pending_pods")] == ["failed", "old", "text-waits"]
    assert [each["pod"] for each in ask(database, "pending_pods", cluster="c")] == ["failed", "old", "text-waits"]
    waits = database.query("SELECT pod, until FROM pod_waits ORDER BY pod").rows
    assert list(waits) == [("failed", None), ("new", at(80)), ("old", None), ("real", at(seen)), ("same", at(seen))]


def test_blind_spots_can_be_asked_for_by_their_verdict(database: Database) -> None:
    given = {"test": "nodes_total", "namespace": "ns", "evidence": "why"}
    store(
        database,
        row(SchedulerBlindSpot, verdict="stale_view", pod="a", **given),
        row(SchedulerBlindSpot, verdict="ghost_nodes", pod="b", **given),
    )
    assert [r["pod"] for r in ask(database, "blind_spots")] == ["a", "b"]
    assert [(r["pod"], r["evidence"]) for r in ask(database, "blind_spots", verdict="ghost_nodes")] == [("b", "why")]


def test_a_ready_node_without_new_pods_is_listed_while_others_get_some(database: Database) -> None:
    store(
        database,
        *(node(name, "z") for name in ("busy", "idle", "lost")),
        node("cordoned", "z", unschedulable=True),
        node("not-ready", "z", ready=False),
        node("gone", "z", deleted=True),
        binding("old", "bound", 0, node="idle"),
        binding("new", "bound", 60, node="busy", owner_kind="ReplicaSet"),
        binding("daemon", "bound", 60, node="lost", owner_kind="DaemonSet"),
    )
    found = ask(database, "nodes_without_new_pods")
    assert [(r["node"], r["last_bound_at"], r["nodes_with_new_pods"], r["new_pods"]) for r in found] == [
        ("idle", at(0), 1, 1),
        ("lost", None, 1, 1),
    ]
    assert [r["node"] for r in ask(database, "nodes_without_new_pods", minutes="61")] == ["lost"]


def test_reasons_are_counted_by_pods_in_each_step_of_time(database: Database) -> None:
    store(
        database,
        failure("a", 0, {"Insufficient cpu": 2, "Too many pods": 1}),
        failure("b", 1, {"Insufficient cpu": 3}),
        failure("a", 6, {"Too many pods": 3}),
    )
    found = ask(database, "scheduling_reasons")
    assert [(r["since"], r["reason"], r["pods"], r["most_nodes"]) for r in found] == [
        (at(0), "Insufficient cpu", 2, 3),
        (at(0), "Too many pods", 1, 1),
        (at(5), "Too many pods", 1, 3),
    ]


def test_the_scheduler_s_number_of_nodes_stands_beside_that_of_the_cluster(database: Database) -> None:
    store(
        database,
        failure("a", 0, {"Insufficient cpu": 3}),
        failure("b", 1, {"Insufficient cpu": 2}, nodes_total=5, nodes_known=4),
        failure("c", 6, {}, prefilter="no nodes available to schedule pods", nodes_total=0),
    )
    found, without = ask(database, "scheduling_reasons")
    assert (without["reason"], without["counted"]) == ("no nodes available to schedule pods", 0)
    assert (found["least_counted"], found["counted"]) == (3, 5)
    assert (found["least_known"], found["known"]) == (3, 4)
    assert (found["texts_with_too_few_reasons"], found["pods"]) == (1, 2)


def test_zones_of_a_cluster_are_reported_as_uneven_where_their_sizes_differ(database: Database) -> None:
    store(database, node("a", "r:\0:1"), node("b", "r:\0:1"), node("c", "r:\0:2"))
    found = ask(database, "zones")
    assert [(r["zone"], r["nodes"], r["uneven"]) for r in found] == [("1", 2, 1), ("2", 1, 1)]
    assert found[0]["kubelet_versions"] == ["v1.18.4"]
