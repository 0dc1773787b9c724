"""Nodes that were not Ready and what went before, and storms of OOM kills, by hand."""

from datetime import timedelta
from typing import Any

from components.rows import T0, dicts, row, store, store_samples, summary
from sql.database.open import Database
from streams.fold.findings import Eviction, NodeEvent, NodeRow, NodeStall, PodBinding, PodEnd, PressureChange


def after(minutes: float) -> Any:
    return T0 + timedelta(minutes=minutes)


def node(minutes: float, ready: bool | None, **values: Any) -> NodeRow:
    silent = {"ready_message": "Kubelet stopped posting node status."} if ready is None else {}
    return row(NodeRow, node="n", ts=after(minutes), ready=ready, **(silent | values))


def outages(db: Database) -> list[dict[str, Any]]:
    return dicts(db, "SELECT * FROM not_ready ORDER BY since")


def test_an_outage_lasts_from_the_condition_on_until_the_node_is_ready_again(database: Database) -> None:
    store(
        database,
        node(0, True),
        node(11, False, ready_since=after(10), ready_message="container runtime is down"),
        node(12, None, ready_since=after(12)),
        node(20, True, ready_since=after(20)),
        node(30, None, ready_since=after(30)),
    )
    first, second = outages(database)
    assert (first["since"], first["until"], first["state"]) == (after(10), after(20), "Unknown")
    assert first["message"] == "container runtime is down"
    assert (second["since"], second["until"]) == (after(30), None)


def test_what_was_under_pressure_before_is_named(database: Database) -> None:
    store(
        database,
        node(0, True),
        node(60, None, ready_since=after(60)),
        row(PressureChange, node="n", ts=after(30), condition="MemoryPressure", status=True),
        row(PressureChange, node="n", ts=after(1), condition="DiskPressure", status=True),
        row(PressureChange, node="n", ts=after(5), condition="DiskPressure", status=False),
        row(Eviction, node="n", ts=after(50), uid="a", cause="pressure"),
        row(Eviction, node="n", ts=after(20), uid="b", cause="pressure"),
        row(NodeStall, node="n", ts=after(55), memory_full_percent=63.0, io_full_percent=12.0),
        row(NodeStall, node="n", ts=after(40), memory_full_percent=99.0),
    )
    (found,) = outages(database)
    assert found["before"] == "MemoryPressure; 1 pod evicted; work stalled on memory for 63 % of a minute"


def test_without_evidence_of_the_time_before_it_is_unknown(database: Database) -> None:
    store(database, node(0, True), node(60, None, ready_since=after(60)))
    assert [each["before"] for each in outages(database)] == ["unknown"]
    store_samples(database, summary(after(40), "n"))
    (old,) = outages(database)
    assert (old["before"], old["silent_seconds"]) == ("unknown", 20 * 60)
    store_samples(database, summary(after(59), "n"))
    (recent,) = outages(database)
    assert (recent["before"], recent["silent_seconds"]) == ("no pressure was seen", 60)


def kill(minutes: float, uid: str, place: str = "n", **values: Any) -> PodEnd:
    given = {"ts": after(minutes), "node": place, "namespace": "ns", "pod": uid, "uid": uid, "container": "w"}
    given |= {"attempt": int(minutes), "cause": "oom_kill", "owner_kind": "ReplicaSet", "owner_name": "web"}
    return row(PodEnd, **(given | values))


def bound(uid: str, limit: int | None) -> PodBinding:
    return row(PodBinding, uid=uid, ts=T0, change="bound", memory_limit_bytes=limit)


def storms(db: Database) -> list[dict[str, Any]]:
    return dicts(db, "SELECT * FROM oom_storms ORDER BY started_at")


def test_kills_of_one_workload_on_many_nodes_are_one_storm(database: Database) -> None:
    store(database, *[bound(uid, 100) for uid in "abc"])
    store(database, kill(0, "a"), kill(14, "b", "m"), kill(28, "c"), kill(60, "a"), kill(61, "a"))
    store(database, kill(5, "x", owner_name="other"), kill(1, "y", cause="liveness"))
    (found,) = storms(database)
    assert (found["owner"], found["kills"], found["pods"], found["nodes"]) == ("ReplicaSet/web", 3, 3, 2)
    assert (found["started_at"], found["ended_at"], found["cause"]) == (T0, after(28), "limit")


def test_the_cause_is_the_node_where_it_says_so_and_unknown_without_a_limit(database: Database) -> None:
    store(database, kill(0, "a"), kill(1, "b"), kill(2, "c"))
    assert [each["cause"] for each in storms(database)] == ["unknown"]
    ooms = [
        row(NodeEvent, node="n", ts=after(minute + 0.5), name=str(minute), reason="SystemOOM", object_kind="Node")
        for minute in range(3)
    ]
    store(database, *ooms[:1])
    (some,) = storms(database)
    assert (some["system_ooms"], some["cause"]) == (2, "unknown")
    store(database, *ooms)
    (every,) = storms(database)
    assert (every["system_ooms"], every["cause"]) == (3, "node")
