"""Pods that wait for CPU, and limits against allocatable, by hand; null or inconclusive without evidence."""

from datetime import timedelta
from typing import Any

import pytest

from components.rows import T0, dicts, row, store, store_samples, summary
from sql.database.open import Database
from sql.questions.queries import run, saved_query
from streams.fold.findings import CpuThrottling, KubeletSetting, NodeFit, NodeRow, PodBinding

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


def throttled(name: str, minute: int, **cgroups: tuple[int, int]) -> CpuThrottling:
    """Periods and throttled ones by container; `pod` is the pod's own cgroup."""
    return row(
        CpuThrottling,
        ts=T0 + timedelta(minutes=minute),
        node="n",
        uid=name,
        containers=[each.removeprefix("pod") for each in cgroups],
        periods=[periods for periods, _ in cgroups.values()],
        throttled_periods=[throttled for _, throttled in cgroups.values()],
        throttled_nanoseconds=[0 for _ in cgroups],
    )


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


@pytest.mark.parametrize(
    ("first", "last", "percent", "verdict"),
    [
        # 5 % of 600 periods are 30; the container that is throttled most counts, the pod's own cgroup too
        ({"pod": (600, 10)}, {"pod": (1200, 40)}, 5, "at_limit"),
        ({"pod": (0, 0), "a": (0, 0)}, {"pod": (0, 0), "a": (600, 30), "b": (600, 150)}, 25, "at_limit"),
        # too few to explain it, and not none
        ({"pod": (600, 10)}, {"pod": (1200, 16)}, 1, "inconclusive"),
        # the limit is not it: 1,500 of greedy's are
        ({"pod": (600, 10)}, {"pod": (1200, 10)}, 0, "neighbours_likely"),
        ({"pod": (600, 10), "a": (9, 9)}, {"pod": (1200, 10)}, 0, "neighbours_likely"),
        ({"pod": (0, 0)}, {"pod": (0, 0)}, 0, "neighbours_likely"),
        # not known: a counter went back, or cannot be, or there is one sample
        ({"pod": (600, 10)}, {"pod": (500, 0)}, None, "inconclusive"),
        ({"pod": (600, 10)}, {"pod": (700, 5)}, None, "inconclusive"),
        ({"pod": (600, 10)}, {"pod": (610, 40)}, None, "inconclusive"),
        ({"pod": (600, 10)}, {}, None, "inconclusive"),
    ],
)
def test_throttled_periods_are_evidence_of_the_limit_and_none_that_it_is_not_it(
    node: Database,
    first: dict[str, tuple[int, int]],
    last: dict[str, tuple[int, int]],
    percent: float | None,
    verdict: str,
) -> None:
    store(node, throttled("bursts", 0, **first), *([throttled("bursts", 1, **last)] if last else []))
    found = sampled(node, GREEDY, used("bursts", 0.1, 0.1))
    assert (found["bursts"]["throttled_percent"], found["bursts"]["verdict"]) == (percent, verdict)
    assert found["greedy"]["throttled_percent"] is None


def test_use_of_all_that_the_limit_allows_is_not_held_back_where_nothing_was_throttled(node: Database) -> None:
    store(node, throttled("capped", 0, pod=(0, 0)), throttled("capped", 1, pod=(600, 0)))
    assert sampled(node, CAPPED)["capped"]["verdict"] == "over_request"


def test_a_throttled_pod_is_at_its_limit_where_its_waiting_is_not_known(node: Database) -> None:
    store(node, throttled("bursts", 0, pod=(0, 0)), throttled("bursts", 1, pod=(600, 300)))
    assert sampled(node, used("bursts", 0.1, None))["bursts"]["verdict"] == "at_limit"


def test_throttling_of_another_time_is_not_that_of_now(node: Database) -> None:
    store(node, throttled("bursts", -60, pod=(0, 0)), throttled("bursts", -59, pod=(600, 300)))
    assert sampled(node, used("bursts", 0.1))["bursts"]["throttled_percent"] is None


def test_a_static_pod_is_known_by_its_name_since_its_kubelet_has_another_uid(node: Database) -> None:
    file = "7791fa6e42ab3991e3af55dcbed4e5b0"
    static, stranger = used("static", 0.2), used("idle", 0.2)
    for sample in static:
        sample["uid"] = file
    for sample in stranger:
        sample["uid"] = "of-a-pod-that-had-this-name-before"
    store(node, bound("static", 100, 200), throttled(file, 0, pod=(0, 0)), throttled(file, 1, pod=(600, 300)))
    (found,) = sampled(node, static, stranger).values()
    assert (found["uid"], found["request_millicores"], found["throttled_percent"]) == (file, 100, 50)


def test_neighbours_are_not_blamed_for_a_pod_that_may_have_cpus_of_its_own(node: Database) -> None:
    store(node, bound("pinned", 1000, 1000, qos_class="Guaranteed"))
    store(node, throttled("pinned", 0, pod=(0, 0)), throttled("pinned", 1, pod=(0, 0)))
    assert sampled(node, GREEDY, used("pinned", 0.9, 0.2))["pinned"]["verdict"] == "inconclusive"


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


@pytest.mark.parametrize(
    ("node_cpus", "waits", "verdict"),
    [(1.9, None, "node_full"), (1.89, None, ""), (1.9, 0.0, ""), (1.9, 0.4, "neighbours_likely")],
)
def test_without_psi_a_pod_below_its_request_on_a_full_node_may_starve(
    node: Database, node_cpus: float, waits: float | None, verdict: str
) -> None:
    store(node, row(NodeRow, node="n", capacity={"cpu": 2000}))  # 95 % of 2 CPUs are 1.9
    for number, pods in enumerate(zip(GREEDY, used("short", 0.5, waits), used("idle", 0.2, None), strict=True)):
        counted = int(node_cpus * 60 * (1 + number) * SECOND)
        sample = summary(T0 + timedelta(minutes=number), "n", pods, cpu_usage_core_nanoseconds=counted)
        store_samples(node, sample)
    found = {each["pod"]: each["verdict"] for each in dicts(node, "SELECT * FROM pod_cpu")}
    # `idle` got more than its request
    assert found == {"greedy": "over_request", "short": verdict, "idle": ""}


def test_a_limit_is_that_of_the_kubelet_s_own_quota_period(node: Database) -> None:
    store(node, row(KubeletSetting, node="n", cpu_quota_enforced=True, cpu_quota_period_seconds=0.005))
    found = sampled(node, CAPPED)["capped"]
    assert (found["limit_millicores"], found["verdict"]) == (1000, "at_limit")


def test_that_a_pod_never_waited_is_known(node: Database) -> None:
    never = [{**each, "cpu_psi_some_total_nanoseconds": 0} for each in used("short", 0.5)]
    assert sampled(node, (never[0], never[1]))["short"]["some_percent"] == 0


def test_nothing_is_concluded_about_a_pod_with_unknown_requests(node: Database) -> None:
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
    result = run(database, saved_query("fit"), {"limited": "1"})
    rows = [dict(zip(result.column_names, each, strict=True)) for each in result.rows]
    assert [
        (each["resource"], each["limits"], each["limits_percent"], each["pods_without_limit"]) for each in rows
    ] == [
        ("cpu", 5000, 250, 1),
        ("memory", gib, 12, 2),
    ]


def test_without_a_node_s_allocatable_its_limits_are_not_judged(database: Database) -> None:
    store(database, bound("a", 500, 3000))
    assert run(database, saved_query("fit"), {"limited": "1"}).rows == []
