"""Pods that wait for CPU, and limits against allocatable, by hand; null or inconclusive without evidence."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

from components.database import EmptyDatabase
from components.rows import T0, dicts, row, store, store_samples, summary
from ingest.model.records import SummaryRecord
from sql.database.open import Database
from sql.questions.queries import run, saved_query
from streams.fold.findings import CpuThrottling, KubeletSetting, NodeFit, NodeRow, PodBinding, Row

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


ROWS: list[Row] = []
SAMPLES: list[SummaryRecord] = []
USUAL = [
    bound("greedy", 500),
    bound("capped", 500, 1000),
    bound("short", 1000),
    bound("bursts", 500, 2000),
    bound("idle", 100),
]
"""`greedy` uses 1,500 millicores more than it requests, `capped` all of its limit."""
Reported: TypeAlias = dict[str, dict[str, dict[str, Any]]]
"""Has what is told of each pod, by the name of its case."""


def case(*rows: Row, pods: Sequence[Sequence[dict[str, Any]]], node_cpus: float | None = None) -> str:
    """Return the name of a cluster with the usual pods, these rows, and samples a minute apart."""
    cluster = f"case-{len({each.cluster for each in SAMPLES})}"
    ROWS.extend(each._replace(cluster=cluster) for each in (*USUAL, *rows))  # type: ignore[attr-defined] # each is a NamedTuple
    for number, of_pods in enumerate(zip(*pods, strict=True)):
        counted = None if node_cpus is None else int(node_cpus * 60 * (1 + number) * SECOND)
        sample = summary(T0 + timedelta(minutes=number), "n", of_pods, cpu_usage_core_nanoseconds=counted)
        SAMPLES.append(replace(sample, cluster=cluster))
    return cluster


@pytest.fixture(scope="module")
def reported(empty_database: EmptyDatabase) -> Reported:
    found: Reported = {each.cluster: {} for each in SAMPLES}
    with empty_database() as database:
        store(database, *ROWS)
        store_samples(database, *SAMPLES)
        for each in dicts(database, "SELECT * FROM pod_cpu"):
            found[each["cluster"]][each["pod"]] = each
    return found


GREEDY, CAPPED = used("greedy", 2, 0.2), used("capped", 0.98, 0.3)


OF_EACH_KIND = case(
    pods=[GREEDY, CAPPED, used("short", 0.5, 0.4), used("bursts", 0.1, 0.1), used("idle", 0.01, 0.01)]
)


def test_who_holds_a_pod_back_is_its_limit_itself_or_likely_its_neighbours(reported: Reported) -> None:
    found = reported[OF_EACH_KIND]
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


Throttled: TypeAlias = dict[str, tuple[int, int]]
THROTTLED: list[tuple[Throttled, Throttled, int | None, str]] = [
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
]
IS_THROTTLED = [
    (
        case(
            throttled("bursts", 0, **first),
            *([throttled("bursts", 1, **last)] if last else []),
            pods=[GREEDY, used("bursts", 0.1, 0.1)],
        ),
        percent,
        verdict,
    )
    for first, last, percent, verdict in THROTTLED
]


@pytest.mark.parametrize(("name", "percent", "verdict"), IS_THROTTLED)
def test_throttled_periods_are_evidence_of_the_limit_and_none_that_it_is_not_it(
    reported: Reported, name: str, percent: float | None, verdict: str
) -> None:
    found = reported[name]
    assert (found["bursts"]["throttled_percent"], found["bursts"]["verdict"]) == (percent, verdict)
    assert found["greedy"]["throttled_percent"] is None


NOT_HELD_BACK = case(throttled("capped", 0, pod=(0, 0)), throttled("capped", 1, pod=(600, 0)), pods=[CAPPED])


def test_use_of_all_that_the_limit_allows_is_not_held_back_where_nothing_was_throttled(reported: Reported) -> None:
    assert reported[NOT_HELD_BACK]["capped"]["verdict"] == "over_request"


WAITING_UNKNOWN = case(
    throttled("bursts", 0, pod=(0, 0)), throttled("bursts", 1, pod=(600, 300)), pods=[used("bursts", 0.1, None)]
)


def test_a_throttled_pod_is_at_its_limit_where_its_waiting_is_not_known(reported: Reported) -> None:
    assert reported[WAITING_UNKNOWN]["bursts"]["verdict"] == "at_limit"


LONG_BEFORE = case(
    throttled("bursts", -60, pod=(0, 0)), throttled("bursts", -59, pod=(600, 300)), pods=[used("bursts", 0.1)]
)


def test_throttling_of_another_time_is_not_that_of_now(reported: Reported) -> None:
    assert reported[LONG_BEFORE]["bursts"]["throttled_percent"] is None


FILE = "7791fa6e42ab3991e3af55dcbed4e5b0"
OF_FILE = case(
    bound("static", 100, 200),
    throttled(FILE, 0, pod=(0, 0)),
    throttled(FILE, 1, pod=(600, 300)),
    pods=[
        [each | {"uid": FILE} for each in used("static", 0.2)],
        [each | {"uid": "of-a-pod-that-had-this-name-before"} for each in used("idle", 0.2)],
    ],
)


def test_a_static_pod_is_known_by_its_name_since_its_kubelet_has_another_uid(reported: Reported) -> None:
    (found,) = reported[OF_FILE].values()
    assert (found["uid"], found["request_millicores"], found["throttled_percent"]) == (FILE, 100, 50)


PINNED = case(
    bound("pinned", 1000, 1000, qos_class="Guaranteed"),
    throttled("pinned", 0, pod=(0, 0)),
    throttled("pinned", 1, pod=(0, 0)),
    pods=[GREEDY, used("pinned", 0.9, 0.2)],
)


def test_neighbours_are_not_blamed_for_a_pod_that_may_have_cpus_of_its_own(reported: Reported) -> None:
    assert reported[PINNED]["pinned"]["verdict"] == "inconclusive"


NONE_OVER = case(pods=[used("short", 0.5, 0.4), used("idle", 0.01)])


def test_without_neighbours_over_their_requests_no_pod_is_blamed(reported: Reported) -> None:
    found = reported[NONE_OVER]
    assert (found["short"]["verdict"], found["idle"]["verdict"]) == ("inconclusive", "")


WITHOUT_PSI = case(pods=[GREEDY, used("capped", 1.0, None), used("short", 0.5, None)])


def test_without_psi_only_use_at_the_limit_is_known(reported: Reported) -> None:
    found = reported[WITHOUT_PSI]
    assert {name: each["verdict"] for name, each in found.items()} == {
        "greedy": "over_request",
        "capped": "at_limit",
        "short": "",
    }
    assert found["short"]["some_percent"] is None


TWO_CPUS = row(NodeRow, node="n", capacity={"cpu": 2000})  # 95 % of them are 1.9
OF_FULL_NODES = [
    (
        case(TWO_CPUS, pods=[GREEDY, used("short", 0.5, waits), used("idle", 0.2, None)], node_cpus=node_cpus),
        verdict,
    )
    for node_cpus, waits, verdict in (
        (1.9, None, "node_full"),
        (1.89, None, ""),
        (1.9, 0.0, ""),
        (1.9, 0.4, "neighbours_likely"),
    )
]


@pytest.mark.parametrize(("name", "verdict"), OF_FULL_NODES)
def test_without_psi_a_pod_below_its_request_on_a_full_node_may_starve(
    reported: Reported, name: str, verdict: str
) -> None:
    found = {pod: each["verdict"] for pod, each in reported[name].items()}
    # `idle` got more than its request
    assert found == {"greedy": "over_request", "short": verdict, "idle": ""}


OWN_PERIOD = case(
    row(KubeletSetting, node="n", cpu_quota_enforced=True, cpu_quota_period_seconds=0.005), pods=[CAPPED]
)


def test_a_limit_is_that_of_the_kubelet_s_own_quota_period(reported: Reported) -> None:
    found = reported[OWN_PERIOD]["capped"]
    assert (found["limit_millicores"], found["verdict"]) == (1000, "at_limit")


NEVER_WAITED = case(pods=[[{**each, "cpu_psi_some_total_nanoseconds": 0} for each in used("short", 0.5)]])


def test_that_a_pod_never_waited_is_known(reported: Reported) -> None:
    assert reported[NEVER_WAITED]["short"]["some_percent"] == 0


STRANGER = case(pods=[GREEDY, used("stranger", 1, 0.9)])


def test_nothing_is_concluded_about_a_pod_with_unknown_requests(reported: Reported) -> None:
    assert reported[STRANGER].keys() == {"greedy"}


ONE_SAMPLE = case(pods=[CAPPED[:1]])


def test_one_sample_is_no_rate(reported: Reported) -> None:
    (found,) = reported[ONE_SAMPLE].values()
    assert (found["used_millicores"], found["some_percent"], found["verdict"]) == (None, None, "")


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
