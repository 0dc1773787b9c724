"""A view's SQL and its rule in Python agree on random rows (sql/schema/views.py)."""

import random
from collections import defaultdict
from itertools import product
from typing import Final

import pytest

from common.durations import parse_duration
from components.rows import dicts, row, store
from ingest.messages.reasons import is_kubelet_start
from sql.database.open import Database
from sql.schema.views import RULES
from streams.fold.findings import EvictionSignal, NodeEvent
from streams.rules.eviction.signals import SIGNALS
from streams.rules.eviction.unguarded import CONSEQUENCES, Reading, unguarded_of
from streams.rules.scheduling.selectors import Requirement, matches

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


@pytest.mark.parametrize(
    ("reason", "component", "message"),
    [
        ("Starting", "kubelet", "Starting kubelet."),
        ("Starting", "", "Starting kubelet. "),
        ("Starting", "kubelet", "(combined from similar events): Starting kubelet."),
        ("Starting", "kube-proxy", "Starting kube-proxy."),
        ("Starting", "kube-proxy", ""),
        ("Started", "kubelet", "Starting kubelet."),
    ],
)
def test_the_story_has_the_starts_that_the_rule_finds(
    reason: str, component: str, message: str, database: Database
) -> None:
    about = {"object_kind": "Node", "object_name": "n", "node": "n", "name": "e"}
    store(database, row(NodeEvent, reason=reason, component=component, message=message, **about))
    found = dicts(database, "SELECT what FROM story WHERE kind = 'kubelet'")
    assert bool(found) == is_kubelet_start(reason, message)


def test_a_view_reads_durations_as_go_prints_them(database: Database) -> None:
    texts = ["1.234s", "812.5µs", "812.5μs", "1m2.000000003s", "1h0m0.5s", "950ms", "15us", "7ns", "0s"]
    found = database.query(f"SELECT arrayMap({RULES['duration']}, {{texts:Array(String)}})", {"texts": texts}).rows
    assert list(found[0][0]) == list(map(parse_duration, texts))
