"""Pods that wait for CPU, and limits against allocatable, by hand; null or inconclusive without evidence."""

from datetime import timedelta
from typing import Any

import pytest

from components.rows import T0, dicts, row, store, store_samples, summary
from sql.database.open import Database
from sql.questions.queries import run, saved_query
from streams.fold.findings import NodeFit, PodBinding

SECOND = 10**9


def bound(name: str, request: int, limit: int | None = None, **more: Any) -> PodBinding:
    given = {"cpu_request_millicores": request, "cpu_limit_millicores": limit, "qos_class": "Burstable", **more}
    return row(PodBinding, node="n", namespace="ns", pod=name, uid=name, change="bound", phase="Running", **given)


def used(name: str, cpus: float, waits: float | None = 0.0) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two samples, a minute apart, of a pod that uses so many CPUs and waits this share of the time."""
    totals = [
        {
            "cpu_usage_core_nanoseconds": int(cpus * seconds * SECOND),
            "cpu_psi_some_total_nanoseconds": None if waits is None else int((1 + waits * seconds) * SECOND),
        }
        for seconds in (60, 120)
    ]
    first, last = ({"namespace": "ns", "pod": name, "uid": name, **each} for each in totals)
    return first, last


def sampled(db: Database, *pods: tuple[dict[str, Any], dict[str, Any]]) -> dict[str, dict[str, Any]]:
    for number in (0, 1):
        store_samples(db, summary(T0 + timedelta(minutes=number), "n", [each[number] for each in pods]))
    return {each["pod"]: each for each in dicts(db, "SELECT * FROM pod_cpu")}


@pytest.fixture
def node(database: Database) -> Database:
    """`greedy` uses 1,500 millicores more than it requests, `capped` all of its limit."""
    store(
        database,
        bound("greedy", 500),
        bound("capped", 500, 1000),
        bound("short", 1000),
        bound("bursts", 500, 2000),
        bound("idle", 100),
    )
    return database


GREEDY, CAPPED = used("greedy", 2, 0.2), used("capped", 0.98, 0.3)


def test_who_holds_a_pod_back_is_its_limit_itself_or_likely_its_neighbours(node: Database) -> None:
    found = sampled(node, GREEDY, CAPPED, used("short", 0.5, 0.4), used("bursts", 0.1, 0.1), used("idle", 0.01, 0.01))
    assert {name: each["verdict"] for name, each in found.items()} == {
        "greedy": "over_request",
        "capped": "at_limit",
        "short": "neighbours_likely",
        "bursts": "inconclusive",
        "idle": "",
    }
    short = found["short"]
    assert (round(short["used_millicores"]), round(short["some_percent"])) == (500, 40)
    # 1,500 of greedy and 480 of capped; its own use counts for nobody
    assert round(short["neighbours_over_millicores"]) == 1980
    assert round(found["greedy"]["neighbours_over_millicores"]) == 480


def test_without_neighbours_over_their_requests_nobody_is_blamed(node: Database) -> None:
    found = sampled(node, used("short", 0.5, 0.4), used("idle", 0.01))
    assert (found["short"]["verdict"], found["idle"]["verdict"]) == ("inconclusive", "")


def test_without_psi_only_use_at_the_limit_is_known(node: Database) -> None:
    found = sampled(node, GREEDY, used("capped", 1.0, None), used("short", 0.5, None))
    assert {name: each["verdict"] for name, each in found.items()} == {
        "greedy": "over_request",
        "capped": "at_limit",
        "short": "",
    }
    assert found["short"]["some_percent"] is None


def test_that_a_pod_never_waited_is_known(node: Database) -> None:
    never = [{**each, "cpu_psi_some_total_nanoseconds": 0} for each in used("short", 0.5)]
    assert sampled(node, (never[0], never[1]))["short"]["some_percent"] == 0


def test_of_a_pod_whose_requests_are_not_known_nothing_is_concluded(node: Database) -> None:
    assert "stranger" not in sampled(node, GREEDY, used("stranger", 1, 0.9))


def test_one_sample_is_no_rate(node: Database) -> None:
    store_samples(node, summary(T0, "n", [CAPPED[0]]))
    (found,) = dicts(node, "SELECT used_millicores, some_percent, verdict FROM pod_cpu")
    assert found == {"used_millicores": None, "some_percent": None, "verdict": ""}


def test_limits_are_compared_with_allocatable_and_pods_without_one_are_counted(database: Database) -> None:
    fit = row(NodeFit, node="n", resource="cpu", allocatable=2000, requested=1500, free=500)
    gib = 1 << 30
    store(
        database,
        fit,
        fit._replace(resource="memory", allocatable=8 * gib),
        fit._replace(resource="pods", allocatable=110),
        bound("a", 500, 3000, memory_limit_bytes=gib),
        bound("b", 500, 2000),
        bound("c", 500),
    )
    result = run(database, saved_query("limits"), {})
    rows = [dict(zip(result.column_names, each, strict=True)) for each in result.rows]
    assert [
        (each["resource"], each["limits"], each["limits_percent"], each["pods_without_limit"]) for each in rows
    ] == [
        ("cpu", 5000, 250, 1),
        ("memory", gib, 12, 2),
    ]


def test_without_a_node_s_allocatable_its_limits_are_not_judged(database: Database) -> None:
    store(database, bound("a", 500, 3000))
    assert run(database, saved_query("limits"), {}).rows == []
