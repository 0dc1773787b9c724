"""An empty answer names what was looked at, and never stands beside a record that denies it."""

from collections.abc import Mapping
from copy import copy
from datetime import timedelta
from typing import Any

import msgspec

from components.rows import T0, dicts, row, store, store_samples, summary
from ingest.model.records import SummaryRecord
from sql.database.open import Database, Result
from sql.questions.missing import INPUTS, why_empty
from sql.questions.queries import run, saved_query, with_forms
from streams.fold.findings import (
    CgroupValuesRow,
    DeadLetter,
    FileSystemRow,
    KubeletSetting,
    MachineMemoryRow,
    NodeEvent,
    NodeFit,
    NodeRow,
    NumaAllocation,
    NumaPod,
    NumaResource,
    NumaSkew,
    NumaUsage,
    PodBinding,
    Row,
    SchedulingAttempt,
    SchedulingQueue,
    SourceError,
    Watch,
)

TELLING = [query for query in with_forms() if query.events]


def event(reason: str, **values: Any) -> NodeEvent:
    about = {"namespace": "batch", "object_kind": "Pod", "object_name": "a", "object_uid": "u", "name": "a.1"}
    return row(
        NodeEvent, **{"type": "Warning", "reason": reason, "occurrences": 3, "observed_at": T0, **about, **values}
    )


def test_events_alone_are_no_empty_database(database: Database) -> None:
    store(database, event("FailedMount"))
    known = remembering(database)
    for query in with_forms():
        assert not why_empty(known, query, {}).startswith("The database is empty"), query.name


REASONS = sorted({reason for query in TELLING for reason in query.events})
RESOURCES = (
    *(
        "cgroup_values",
        "configz",
        "events",
        "machine_usage",
        "metrics",
        "nodes",
        "numa_usage",
        "podresources",
        "pods",
        "scheduler_cache",
        "scheduler_log",
    ),
    "stats/summary",
)
NEEDS = sorted({need for query in with_forms() for need in query.needs})


def evidence(database: Database, *clusters: str) -> None:
    """Everything that a question can need, and nothing that answers one; a cluster with the name of an input is
    without it.
    """
    found = [_evidence(cluster, cluster if cluster in NEEDS else "") for cluster in clusters]
    store(database, *(each for rows, _ in found for each in rows))
    store_samples(database, *(each for _, samples in found for each in samples))


def _evidence(cluster: str, without: str) -> tuple[list[Row], list[SummaryRecord]]:
    of = {"cluster": cluster, "node": "n"}
    pod = {"namespace": "shop", "pod": "web-1", "uid": "w"}
    numa = {"scope": "node", "fidelity": "exact"}
    psi = None if without == "psi" else 0
    rows: dict[str, Row] = {
        "configz": row(KubeletSetting, **of),
        "nodes": row(NodeRow, **of, ready=True),
        "numa": row(NumaSkew, **of, **numa, largest_fit_cpus=None if without == "rooms" else 8),
        "held": row(NumaPod, **of, **pod, cpus=0),
        "compared": row(NumaAllocation, **of, witnesses=["pod_spec"]),
        "metrics": row(NumaAllocation, **of, numa_node=1, source="kubelet_metrics"),
        "numa resources": row(NumaResource, **of, resource="memory"),
        "numa use": row(NumaUsage, **of),
        "machine use": row(MachineMemoryRow, **of),
        "file systems": row(FileSystemRow, **of),
        "cgroup values": row(CgroupValuesRow, **of),
        "requests": row(NodeFit, **of, resource="cpu"),
        "pods": row(PodBinding, **of, change="bound", **pod),
        "queues": row(SchedulingQueue, cluster=cluster, queue="active"),
        "attempts": row(SchedulingAttempt, cluster=cluster, pod="web-1", node="n"),
        "events": event("Pulled", cluster=cluster, node="n"),
    }
    sample = summary(T0, "n", [pod | {"cpu_usage_core_nanoseconds": 1}], cpu_psi_some_total_nanoseconds=psi)
    samples = [] if "samples" in without.split(" or ") else [msgspec.structs.replace(sample, cluster=cluster)]
    return [each for name, each in rows.items() if name not in without.split(" or ")], samples


def remembering(database: Database) -> Database:
    """Return the database as one that answers the same query of all questions once, while nothing is stored."""
    known, answers = copy(database), dict[tuple[str, str], Result]()

    def query(sql: str, parameters: Mapping[str, Any] | None = None, **more: Any) -> Result:
        key = sql, repr(sorted((parameters or {}).items()))
        if key not in answers:
            answers[key] = database.query(sql, parameters, **more)
        return answers[key]

    vars(known)["query"] = query
    return known


def asked(database: Database, cluster: str) -> dict[str, str]:
    database = remembering(database)
    return {query.name: why_empty(database, query, {"cluster": cluster}) for query in with_forms() if query.needs}


def test_nothing_is_said_only_where_nothing_that_is_needed_is_missing(database: Database) -> None:
    """Each kind of evidence is taken away from each question."""
    evidence(database, "all", *NEEDS)
    for name, reported in asked(database, "all").items():
        assert reported.startswith("Cluster all: nothing of this kind in 1 node, 1 pod and 1 Event that were seen"), (
            name
        )
    for need in NEEDS:
        known = remembering(database)
        for query in with_forms():
            if need in query.needs:
                reported = why_empty(known, query, {"cluster": need})
                assert reported == f"Cluster {need}: no {INPUTS[need]} were seen", query.name


def test_contradicting_events_are_named_with_an_empty_answer(database: Database) -> None:
    """Each reason of an Event, each stream that was not read, and records that nobody understood."""
    evidence(database, "denied")
    for cluster in ("denied", "alone"):
        store(database, *(event(reason, cluster=cluster, name=f"a.{reason}") for reason in REASONS))
    for name, reported in asked(database, "denied").items():
        denying = saved_query(name).events
        assert all(f"{reason} (3 times)" in reported for reason in denying), name
        assert reported.startswith(
            f"Cluster denied: {'no row, but Events' if denying else 'nothing of this kind'}"
        ), name
    known = remembering(database)
    for query in TELLING:
        reported = why_empty(known, query, {"cluster": "alone"})
        assert reported.startswith("Cluster alone: no "), query.name
        assert "but Events mention it: " in reported
        assert f"{query.events[0]} (3 times)" in reported
        assert "the last at 2026-07-01 12:00:00 UTC: leadsman query events" in reported
    evidence(database, "unread")
    gaps = {resource: f"Not read all the time: {resource}, see" for resource in RESOURCES}
    store(database, *(row(SourceError, cluster="unread", resource=resource, kind="gap") for resource in RESOURCES))
    for name, reported in asked(database, "unread").items():
        parts = {part for need in saved_query(name).needs for part in need.split(" or ")}
        assert {resource for resource, words in gaps.items() if words in reported} == {
            STREAM_OF[part] for part in parts
        }
    evidence(database, "bad")
    store(database, row(DeadLetter, cluster="bad", error_type="unknown_text", payload="x"))
    for name, reported in asked(database, "bad").items():
        assert reported.endswith("1 record could not be understood: leadsman query dead_letters"), name


STREAM_OF = {
    "samples": "stats/summary",
    "psi": "stats/summary",
    "configz": "configz",
    "nodes": "nodes",
    "numa": "metrics",
    "held": "podresources",
    "rooms": "metrics",
    "numa resources": "podresources",
    "numa use": "numa_usage",
    "machine use": "machine_usage",
    "file systems": "machine_usage",
    "cgroup values": "cgroup_values",
    "metrics": "metrics",
    "compared": "metrics",
    "requests": "pods",
    "pods": "pods",
    "queues": "scheduler_cache",
    "attempts": "scheduler_log",
    "events": "events",
}


def test_a_second_witness_does_not_prove_what_only_the_first_shows(database: Database) -> None:
    """A pod that waits, and one that was evicted, can have left no Event."""
    store(database, event("Pulled"), row(NodeRow, node="n"))
    for name in ("pending_pods", "evicted_pods", "pod_ends"):
        assert why_empty(database, saved_query(name), {}).startswith(
            "Cluster c: no pods were seen, and nothing of this kind in 1 node, 0 pods and 1 Event"
        )


def test_what_was_looked_at_and_until_when_is_named(database: Database) -> None:
    store(database, event("FailedMount"), row(NodeRow, node="n"), row(PodBinding, pod="a", uid="u", change="bound"))
    reported = why_empty(database, saved_query("evicted_pods"), {})
    assert reported == (
        "Cluster c: nothing of this kind in 1 node, 1 pod and 1 Event that were seen until 2026-07-01 12:00:00 UTC"
    )


def test_each_cluster_has_its_own_reason_and_those_of_one_reason_stand_together(database: Database) -> None:
    """Three have no samples; of the fourth some were seen, and no PSI in them."""
    pod = {"namespace": "ns", "pod": "a", "uid": "u", "cpu_usage_core_nanoseconds": 1}
    store(database, *(row(NodeRow, cluster=cluster, node="n") for cluster in ("b", "d", "e")))
    store_samples(database, summary(T0, "n", [pod]))
    reported = why_empty(database, saved_query("stalls"), {})
    assert f"Clusters b, d, e: no {INPUTS['samples']} were seen" in reported
    assert f"Cluster c: no {INPUTS['psi']} were seen" in reported
    assert why_empty(database, saved_query("stalls"), {"cluster": "b"}) == (
        f"Cluster b: no {INPUTS['samples']} were seen"
    )


def test_a_name_that_was_never_seen_is_no_answer_about_it(database: Database) -> None:
    store(
        database,
        row(NodeRow, node="worker-1"),
        row(NodeRow, cluster="other", node="worker-2"),
        row(NodeRow, cluster="other", node="ip-1.example"),
        row(NodeRow, cluster="other", node="ip-10"),
        row(PodBinding, namespace="shop", pod="a", uid="u", change="bound"),
    )
    query = saved_query("requests")
    for given, reported in (
        ({"cluster": "othr"}, "There is no cluster othr. Did you mean other?"),
        ({"cluster": "prod-eu"}, "There is no cluster prod-eu. Known: c, other"),
        ({"node": "worker1"}, "No node worker1 was seen. Did you mean worker-1?"),
        ({"node": "ip-1"}, "No node ip-1 was seen. Did you mean ip-1.example?"),
        (
            {"node": "worker-1", "cluster": "other"},
            "No node worker-1 was seen in cluster other. Did you mean worker-2?",
        ),
        ({"namespace": "shopp"}, "No namespace shopp was seen. Did you mean shop?"),
    ):
        assert why_empty(database, query, given) == reported


def test_without_psi_the_answer_does_not_claim_that_no_pod_waits_for_cpu(database: Database) -> None:
    pod = {"namespace": "ns", "pod": "a", "uid": "u", "cpu_usage_core_nanoseconds": 1}
    store(database, row(PodBinding, node="n", pod="a", uid="u", change="bound"))
    store_samples(database, summary(T0, "n", [pod]))
    assert why_empty(database, saved_query("cpu_waits"), {}) == f"Cluster c: no {INPUTS['psi']} were seen"
    store_samples(database, summary(T0, "n", [{**pod, "cpu_psi_some_total_nanoseconds": 1}]))
    assert why_empty(database, saved_query("cpu_waits"), {}).startswith("Cluster c: nothing of this kind")


def test_pending_pods_have_the_words_of_failures_without_a_histogram(database: Database) -> None:
    text = 'running Reserve plugin "DynamicResources": waiting for resource driver to allocate resource'
    store(
        database,
        row(PodBinding, namespace="batch", pod="a", uid="u", change="pending"),
        row(PodBinding, namespace="batch", pod="b", uid="v", change="bound"),
        event("FailedScheduling", message=text, ts=T0),
        event("FailedScheduling", message=text, object_name="b", object_uid="v", name="b.1"),
    )
    answer = run(database, saved_query("pending_pods"), {})
    (found,) = (dict(zip(answer.column_names, each, strict=True)) for each in answer.rows)
    assert (found["pod"], found["said"], found["autoscaler"]) == ("a", text, "")


def test_warnings_that_no_finding_mentions_stay(database: Database) -> None:
    store(
        database,
        row(PodBinding, namespace="batch", pod="known", uid="k", change="pending"),
        event("FailedScheduling", object_name="known", object_uid="k", name="k.1"),
        event("FailedScheduling"),
        event("NodeNotReady", type="Normal", object_kind="Node", object_name="n", node="n", name="n.1"),
        event("Evicted", object_uid="gone", name="e.1", ts=T0 + timedelta(minutes=1)),
    )
    found = dicts(database, "SELECT reason, object_uid FROM untold_warnings ORDER BY reason, object_uid")
    assert [(each["reason"], each["object_uid"]) for each in found] == [
        ("Evicted", "gone"),
        ("FailedScheduling", "u"),
        ("NodeNotReady", "u"),
    ]


def test_what_only_an_older_dump_had_was_not_looked_at_until_now(database: Database) -> None:
    """Nodes and pods are half an hour older; those of the other cluster are watched, and did not change."""
    later = {"ts": T0 + timedelta(minutes=30), "observed_at": T0 + timedelta(minutes=30)}
    for cluster in ("dumps", "live"):
        seen = row(NodeRow, cluster=cluster, node="n"), row(PodBinding, cluster=cluster, uid="u", change="bound")
        store(database, *seen, event("Pulled", cluster=cluster, **later))
    watched = {"cluster": "live", "since": T0, "ts": later["ts"]}
    store(database, *(row(Watch, resource=each, **watched) for each in ("nodes", "pods")))
    reported = {
        each: why_empty(database, saved_query("evicted_pods"), {"cluster": each}) for each in ("dumps", "live")
    }
    seen_until = "nothing of this kind in 1 node, 1 pod and 1 Event that were seen until 2026-07-01 12:30:00 UTC"
    older = ", nodes only until 2026-07-01 12:00:00, pods only until 2026-07-01 12:00:00"
    assert reported == {"dumps": f"Cluster dumps: {seen_until}{older}", "live": f"Cluster live: {seen_until}"}


def test_what_only_an_older_dump_shows_of_numa_nodes_and_samples_has_its_time(database: Database) -> None:
    """A later dump has nodes and pods alone; where pods are watched, NUMA nodes are looked at until they change."""
    for cluster in ("dumps", "live"):
        evidence(database, cluster)
        for ts in (T0, T0 + timedelta(minutes=30)):
            of = {"cluster": cluster, "ts": ts, "node": "n"}
            store(database, row(NodeRow, **of, ready=True), row(PodBinding, **of, uid="w", change="updated"))
    store(database, row(Watch, cluster="live", resource="pods", since=T0, ts=T0 + timedelta(minutes=30)))
    by_change = {"cgroup values", "numa", "held", "rooms", "numa resources", "metrics", "compared"}
    for query in with_forms():
        parts = {part for need in query.needs for part in need.split(" or ")} - {"nodes", "pods", "events"}
        for cluster, older in (("dumps", parts), ("live", parts - by_change)):
            reported = why_empty(database, query, {"cluster": cluster}) if parts else ""
            named = {part for part in parts if f", {INPUTS[part]} only until 2026-07-01 12:00:00" in reported}
            assert named == older - {"configz", "requests"}, (query.name, cluster, reported)
