"""A view's SQL and its rule in Python agree on random rows (sql/schema/views.py)."""

import random
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from typing import Any, Final

import pytest
from msgspec import convert

from common.durations import parse_duration
from components.cases import Answers, Cases
from components.database import EmptyDatabase
from components.rows import dicts, row, store
from ingest.messages.reasons import is_kubelet_start
from ingest.model.objects.event import Event
from sql.database.open import Database
from sql.schema.views import RULES
from streams.fold.findings import EvictionSignal, NodeEvent, is_waiting, ready_state
from streams.rules.eviction.signals import CONSEQUENCES, SIGNALS, Reading, unguarded_of
from streams.rules.eviction.thresholds import first_met
from streams.rules.pod_ends.actors import claim_of
from streams.rules.pod_ends.machine import concerns_machine
from streams.rules.scheduling.selectors import Requirement, matches
from streams.rules.values.expressions import Expression, literal

CASES = Cases()


@pytest.fixture(scope="module")
def answers(empty_database: EmptyDatabase) -> Answers:
    return CASES.answers(empty_database, "SELECT cluster, about FROM story WHERE kind IN ('kubelet', 'pod_end')")


OPERATORS: Final = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Unheard"]
LABELS: Final[list[dict[str, str]]] = [{}, {"a": ""}, {"a": "5"}, {"a": "x"}, {"b": "5"}]
VALUES: Final[list[list[str]]] = [[], [""], ["5"], ["4"], ["6"], ["x"], ["4", "5"]]


def test_labels_meet_the_same_requirements_in_a_view(database: Database) -> None:
    cases = list(product(OPERATORS, VALUES, LABELS))
    operators, wanted, labels = map(list, zip(*cases, strict=True))
    found = database.query(
        f"WITH {RULES['meets']} AS meets "
        "SELECT arrayMap((operator, wanted, keys, values) -> "
        "meets(CAST((keys, values), 'Map(String, String)'), [('a', operator, wanted)]), {operators:Array(String)}, "
        "{wanted:Array(Array(String))}, {keys:Array(Array(String))}, {values:Array(Array(String))})",
        {
            "operators": operators,
            "wanted": wanted,
            "keys": [list(each) for each in labels],
            "values": [list(each.values()) for each in labels],
        },
    ).rows[0][0]
    expected = [matches([Requirement("a", operator, wanted)], labels) for operator, wanted, labels in cases]
    assert list(map(bool, found)) == expected


def test_the_view_finds_the_signals_that_nothing_guards(database: Database) -> None:
    rng = random.Random(7)  # noqa: S311 - cases, not secrets
    rows: list[EvictionSignal] = []
    expected = defaultdict[str, set[str]](set)
    for number in range(200):
        node = f"node-{number}"
        here = [
            row(
                EvictionSignal,
                node=node,
                signal=signal,
                available=rng.choice([0, 10, 11, 20]),
                capacity=rng.choice([1000, 1000, 2000]),
                hard_threshold=rng.choice([None, None, 5]),
                soft_threshold=rng.choice([None, None, None, 9]),
            )
            for signal in rng.sample(SIGNALS, rng.randrange(1, len(SIGNALS)))
        ]
        readings = (
            Reading(
                one.signal,
                one.available,
                one.capacity,
                one.hard_threshold is not None or one.soft_threshold is not None,
            )
            for one in here
        )
        expected[node] = set(unguarded_of(readings))
        rows += here
    store(database, *rows)
    found = defaultdict[str, set[str]](set)
    for one in dicts(database, "SELECT node, signal, consequence FROM unguarded_signals"):
        found[one["node"]].add(one["signal"])
        assert one["consequence"] in CONSEQUENCES.values()
    assert dict(found) == {node: bare for node, bare in expected.items() if bare}


ABOUT_NODE: Final = {"object_kind": "Node", "object_name": "n", "node": "n", "name": "e"}
STARTS: Final = [
    row(NodeEvent, reason=reason, component=component, message=message, **ABOUT_NODE)
    for reason, component, message in (
        ("Starting", "kubelet", "Starting kubelet."),
        ("Starting", "", "Starting kubelet. "),
        ("Starting", "kubelet", "(combined from similar events): Starting kubelet."),
        ("Starting", "kube-proxy", "Starting kube-proxy."),
        ("Starting", "kube-proxy", ""),
        ("Started", "kubelet", "Starting kubelet."),
    )
]


@pytest.mark.parametrize(("event", "case"), [(event, CASES.add(event)) for event in STARTS])
def test_the_story_has_the_starts_that_the_rule_finds(event: NodeEvent, case: str, answers: Answers) -> None:
    assert bool(answers[case]) == is_kubelet_start(event.reason, event.message)


def test_a_view_reads_durations_as_go_prints_them(database: Database) -> None:
    texts = ["1.234s", "812.5µs", "812.5μs", "1m2.000000003s", "1h0m0.5s", "950ms", "15us", "7ns", "0s"]
    found = database.query(f"SELECT arrayMap({RULES['duration']}, {{texts:Array(String)}})", {"texts": texts}).rows
    assert list(found[0][0]) == list(map(parse_duration, texts))


DESCHEDULED: Final = "pod evicted from n node by sigs.k8s.io/descheduler"
BY_TAINT: Final = ("taint-eviction-controller", "TaintManagerEviction", "Marking for deletion Pod shop/web")


AUTHORS: Final = [
    ("sigs.k8s.io/descheduler", "LowNodeUtilization", DESCHEDULED, "descheduler"),
    ("sigs.k8s.io.descheduler", "Descheduled", DESCHEDULED, "descheduler"),
    ("", "Descheduled", f"(combined from similar events): {DESCHEDULED}", "descheduler"),
    ("web", "Descheduled", DESCHEDULED, ""),
    (
        "vpa-updater",
        "EvictedByVPA",
        "Pod was evicted by VPA Updater to apply resource recommendation.",
        "vpa-updater",
    ),
    ("vpa-updater", "EvictedPod", "VPA Updater evicted Pod web to apply resource recommendation.", ""),
    ("karpenter", "Evicted", "Evicted pod: Underutilized", "karpenter"),
    ("karpenter", "Disrupted", "Deleting the pod to accommodate the terminationTime", ""),
    ("cluster-autoscaler", "ScaleDown", "deleting pod for node scale down", ""),
    ("kubelet", "Evicted", "Evicted pod: Underutilized", ""),
    (*BY_TAINT, ""),
]
ABOUT_POD: Final = {"object_kind": "Pod", "object_name": "web", "namespace": "shop", "node": "n", "name": "e"}


@pytest.mark.parametrize(
    ("component", "reason", "message", "author", "case"),
    [
        (
            *(component, reason, message, author),
            CASES.add(row(NodeEvent, reason=reason, component=component, message=message, **ABOUT_POD)),
        )
        for component, reason, message, author in AUTHORS
    ],
)
def test_the_story_names_who_evicted_a_pod_by_the_rule(
    component: str, reason: str, message: str, author: str, case: str, answers: Answers
) -> None:
    """The autoscaler and Karpenter announce some ends, which can still fail: these alone evict nothing."""
    about = {"kind": "Pod", "name": "web", "namespace": "shop"}
    event = convert(
        {
            "metadata": about,
            "reason": reason,
            "message": message,
            "involvedObject": about,
            "source": {"component": component},
        },
        Event,
    )
    claim = claim_of(event)
    assert not author or (claim is not None and (claim.cause, claim.actor) == ("api_eviction", author))
    found = [line["about"] for line in answers[case]]
    by_taint = ["marked for deletion for a NoExecute taint"] if (component, reason, message) == BY_TAINT else []
    assert found == ([f"evicted by {author}"] if author else by_taint)


STATES: Final[list[dict[str, Any]]] = [
    {"deleted": gone, "ready": ready, "message": message}
    for gone, ready, message in product([0, 1], [None, 0, 1], ["", "x"])
]
CHANGES: Final[list[dict[str, Any]]] = [
    {"change": change, "phase": phase}
    for change, phase in product(["pending", "bound", "updated", "finished", "deleted"], ["Pending", "Running", ""])
]
THRESHOLDS: Final[list[dict[str, Any]]] = [
    {"hard": hard, "soft": soft} for hard, soft in product([None, 0, 5], [None, 0, 4, 9])
]
EVENTS: Final[list[dict[str, Any]]] = [
    {"kind": kind, "reason": reason, "component": component}
    for kind, reason, component in product(
        ["Node", "Pod"], ["ScaleDown", "Drain", "Rebooted", "Started"], ["", "kubelet", "machineconfigdaemon"]
    )
]


@pytest.mark.parametrize(
    ("rule", "cases"),
    [(ready_state, STATES), (is_waiting, CHANGES), (first_met, THRESHOLDS), (concerns_machine, EVENTS)],
)
def test_a_rule_decides_alike_about_values_and_columns(
    rule: Callable[..., Any], cases: list[dict[str, Any]], database: Database
) -> None:
    columns = {name: Expression(name) for name in cases[0]}
    types = ", ".join(
        f"{name} {'String' if isinstance(value, str) else 'Nullable(Int64)' if cases[0][name] is None else 'UInt8'}"
        for name, value in cases[-1].items()
    )
    rows = [str(tuple(case.values())).replace("None", "NULL") for case in cases]
    found = database.query(f"SELECT {rule(**columns)} FROM values({literal(types)}, {', '.join(rows)})").rows
    assert [value for (value,) in found] == [rule(**case) for case in cases]
