"""An empty answer names what was looked at, and never stands beside a record that denies it."""

from datetime import timedelta
from typing import Any

import pytest

from components.rows import T0, dicts, row, store, store_samples, summary
from sql.database.open import Database
from sql.questions.missing import INPUTS, why_empty
from sql.questions.queries import run, saved_queries, saved_query
from streams.fold.findings import NodeEvent, NodeRow, PodBinding

TELLING = [query for query in saved_queries() if query.events]


def event(reason: str, **values: Any) -> NodeEvent:
    about = {"namespace": "batch", "object_kind": "Pod", "object_name": "a", "object_uid": "u", "name": "a.1"}
    return row(
        NodeEvent, **{"type": "Warning", "reason": reason, "occurrences": 3, "observed_at": T0, **about, **values}
    )


def test_events_alone_are_no_empty_database(database: Database) -> None:
    store(database, event("FailedMount"))
    for query in saved_queries():
        assert not why_empty(database, query, {}).startswith("The database is empty"), query.name


@pytest.mark.parametrize("query", TELLING, ids=lambda query: query.name)
def test_an_empty_answer_names_the_events_that_deny_it(database: Database, query: Any) -> None:
    store(database, event(query.events[0]))
    told = why_empty(database, query, {})
    assert f"{query.events[0]} (3 times), the last at 2026-07-01 12:00:00 UTC" in told
    assert told.startswith("Cluster c: no ")
    assert "nothing" not in told


def test_what_was_looked_at_and_until_when_is_named(database: Database) -> None:
    store(database, event("FailedMount"), row(NodeRow, node="n"), row(PodBinding, pod="a", uid="u", change="bound"))
    told = why_empty(database, saved_query("evicted_pods"), {})
    assert told == (
        "Cluster c: nothing of this kind in 1 node, 1 pod and 1 Event that were seen until 2026-07-01 12:00:00 UTC"
    )


def test_each_cluster_has_its_own_reason_and_those_of_one_reason_stand_together(database: Database) -> None:
    """Three have no samples; of the fourth some were seen, and no PSI in them."""
    pod = {"namespace": "ns", "pod": "a", "uid": "u", "cpu_usage_core_nanoseconds": 1}
    store(database, *(row(NodeRow, cluster=cluster, node="n") for cluster in ("b", "d", "e")))
    store_samples(database, summary(T0, "n", [pod]))
    told = why_empty(database, saved_query("stalls"), {})
    assert f"Clusters b, d, e: no {INPUTS['samples']} were seen" in told
    assert f"Cluster c: no {INPUTS['psi']} were seen" in told
    assert why_empty(database, saved_query("stalls"), {"cluster": "b"}) == (
        f"Cluster b: no {INPUTS['samples']} were seen"
    )


def test_a_name_that_was_never_seen_is_no_answer_about_it(database: Database) -> None:
    store(
        database,
        row(NodeRow, node="worker-1"),
        row(NodeRow, cluster="other", node="worker-2"),
        row(PodBinding, namespace="shop", pod="a", uid="u", change="bound"),
    )
    query = saved_query("without_requests")
    for given, told in (
        ({"cluster": "othr"}, "There is no cluster othr. Did you mean other?"),
        ({"cluster": "prod-eu"}, "There is no cluster prod-eu. There are c, other"),
        ({"node": "worker1"}, "No node worker1 was seen. Did you mean worker-1?"),
        (
            {"node": "worker-1", "cluster": "other"},
            "No node worker-1 was seen in cluster other. Did you mean worker-2?",
        ),
        ({"namespace": "shopp"}, "No namespace shopp was seen. Did you mean shop?"),
    ):
        assert why_empty(database, query, given) == told


def test_without_psi_nobody_says_that_no_pod_waits_for_cpu(database: Database) -> None:
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


def test_warnings_that_no_finding_tells_of_stay(database: Database) -> None:
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
