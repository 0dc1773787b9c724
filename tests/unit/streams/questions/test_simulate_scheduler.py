"""Replaying node arrivals for a scheduler of some version (rules: node-tree)."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from ingest.model.objects.node import Node, NodeMetadata
from ingest.model.records import NodeRecord, ObjectChange
from streams.questions.simulate_scheduler import (
    Arrival,
    BadOperations,
    Removal,
    Snapshot,
    names_line,
    operations_of,
    parse_operations,
    report,
    simulate,
)
from streams.rules.scheduling.node_tree import UnknownVersion
from streams.rules.values.labels import REGION, ZONE

START = datetime(2020, 6, 1, tzinfo=UTC)
MASTERS = ["ss-stg-ma-01", "ss-stg-ma-02", "ss-stg-ma-03"]
WORKER = "ss-stg-test-01"
KNOWN_CASE = [
    *({"op": "add", "node": name, "region": "sh", "zone": "200002"} for name in MASTERS),
    {"op": "snapshot"},
    {"op": "add", "node": WORKER, "region": "sh", "zone": "200004"},
    {"op": "snapshot"},
]


def record(
    seconds: float, name: str, zone: str | None, change: ObjectChange = "ADDED", created: float | None = None
) -> NodeRecord:
    labels = {REGION: "sh", ZONE: zone} if zone else None
    created_at = None if created is None else START + timedelta(seconds=created)
    node = Node(metadata=NodeMetadata(name=name, labels=labels, creation_timestamp=created_at))
    return NodeRecord(ts=START + timedelta(seconds=seconds), cluster="stage", change=change, object=node)


def test_the_known_case_of_operations_gives_the_known_second_snapshot_and_its_lost_master() -> None:
    results = simulate(parse_operations(json.dumps(KNOWN_CASE).encode()), "1.18.4")
    assert [json.loads(names_line(result)) for result in results] == [
        MASTERS,
        [WORKER, MASTERS[0], WORKER, MASTERS[1]],
    ]
    assert [result.lost for result in results] == [[], [MASTERS[2]]]
    assert results[1].repaired == [MASTERS[0], WORKER, MASTERS[1], MASTERS[2]]
    assert results[1].repaired_lost == []


@pytest.mark.parametrize("version", ["1.18.7", "1.19.0", "1.20.4", "v1.18.4-tke.5", "1.36.3"])
def test_a_repaired_version_lists_all_four_nodes_of_the_known_case(version: str) -> None:
    second = simulate(parse_operations(json.dumps(KNOWN_CASE).encode()), version)[1]
    assert second.names == second.repaired == [MASTERS[0], WORKER, MASTERS[1], MASTERS[2]]
    assert second.lost == []


def test_a_capture_of_the_known_case_loses_the_same_node_as_its_operations() -> None:
    """The masters come in one list, the worker a minute later: two bursts, so two snapshots."""
    records = [record(i / 100, name, "200002") for i, name in enumerate(MASTERS)]
    records += [record(30, MASTERS[0], "200002", "MODIFIED"), record(60, WORKER, "200004")]
    results = simulate(operations_of(records)["stage"])
    assert [result.lost for result in results] == [[], [MASTERS[2]]]
    assert results[1].ts == START + timedelta(seconds=60)


@pytest.mark.parametrize(
    ("created", "lost"),
    [
        ([-300, -200, -100, -50], [[], [], [], []]),
        ([-300, -300, -300, -50], [[], [MASTERS[2]]]),
        ([-50, -50, -50, -300], [[], []]),
        ([None] * 4, [[]]),
    ],
)
def test_one_list_of_nodes_is_replayed_in_the_order_of_their_creation(
    created: list[float | None], lost: list[list[str]]
) -> None:
    """The masters before the worker lose one of them if they came in one burst. With a snapshot after each master the
    last of them leaves lastIndex 1 of 3, and the worker's snapshot gives the other two before the first. The worker
    before the masters loses none. Nodes whose creation is not known come at once.
    """
    names = [WORKER, *MASTERS]
    of = dict(zip([*MASTERS, WORKER], created, strict=True))
    listed = [record(0, name, "200004" if name == WORKER else "200002", created=of[name]) for name in names]
    assert [result.lost for result in simulate(operations_of(listed)["stage"])] == lost


def test_a_node_that_is_created_anew_does_not_arrive_before_it_went() -> None:
    records = [record(0, "a", "1"), record(60, "a", "1", "DELETED"), record(90, "a", "1", created=30)]
    assert [type(each).__name__ for each in operations_of(records)["stage"]] == [
        *("Arrival", "Snapshot", "Removal", "Snapshot", "Arrival", "Snapshot")
    ]


def test_each_snapshot_has_the_cursors_that_it_leaves() -> None:
    """Source: the known case. The first leaves zoneIndex 1 and lastIndex 3. The second takes the worker, finds the
    masters' zone used up, begins anew at the first zone, and ends in the masters' zone after the second of them.
    """
    results = simulate(parse_operations(json.dumps(KNOWN_CASE).encode()), "1.18.4")
    assert [(each.zone_index, each.last_index) for each in results] == [
        (1, {"sh::200002": 3}),
        (1, {"sh::200002": 2, "sh::200004": 1}),
    ]
    repaired = simulate(parse_operations(json.dumps(KNOWN_CASE).encode()), "1.20.0")
    assert [(each.zone_index, each.last_index) for each in repaired] == [(None, {})] * 2


def test_records_become_arrivals_moves_and_removals_in_the_order_of_their_times() -> None:
    records = [
        record(20, "b", "1", "DELETED"),
        record(0, "a", None),
        record(0.5, "b", "1"),
        record(10, "a", "2", "MODIFIED"),
        record(11, "a", "2", "MODIFIED"),
        record(30, "never-came", "1", "DELETED"),
    ]
    assert operations_of(records) == {
        "stage": [
            Arrival("a", ""),
            Arrival("b", "sh:\0:1"),
            Snapshot(START + timedelta(seconds=0.5)),
            Arrival("a", "sh:\0:2"),
            Snapshot(START + timedelta(seconds=10)),
            Removal("b"),
            Snapshot(START + timedelta(seconds=20)),
        ]
    }


def test_clusters_of_one_capture_have_schedulers_of_their_own() -> None:
    other = NodeRecord(ts=START, cluster="prod", change="ADDED", object=Node(metadata=NodeMetadata(name="p")))
    operations = operations_of([record(0, "s", "1"), other])
    assert operations == {
        "stage": [Arrival("s", "sh:\0:1"), Snapshot(START)],
        "prod": [Arrival("p", ""), Snapshot(START)],
    }


def test_a_node_added_again_in_another_zone_moves_there() -> None:
    moved = [
        {"op": "add", "node": "a", "zone": "1"},
        {"op": "add", "node": "b", "zone": "1"},
        {"op": "add", "node": "a", "zone": "2"},
        {"op": "snapshot"},
    ]
    assert simulate(parse_operations(json.dumps(moved).encode()), "1.20.0")[0].names == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "no JSON list"),
        (b'{"op": "snapshot"}', "no JSON list"),
        (b"[" * 100_000, "no JSON list"),
        (b'[{"op": "snapshot"}, {"op": "drain", "node": "a"}]', "operation 1: .*add.* or .*remove.*snapshot"),
        (b'[{"node": "a"}]', "operation 0: .*op.*allowed are"),
        (b"[3]", "operation 0: .*allowed are"),
        (b'[{"op": "add", "node": 3}]', "operation 0: .*allowed are"),
        (b'[{"op": "add"}]', 'operation 0: "add" needs a "node"'),
        (b'[{"op": "remove", "node": ""}]', 'operation 0: "remove" needs a "node"'),
    ],
)
def test_a_bad_operation_is_an_error_with_its_index_and_what_is_allowed(text: bytes, message: str) -> None:
    with pytest.raises(BadOperations, match=message):
        parse_operations(text)


def test_a_node_that_leaves_without_having_come_is_an_error_with_its_index() -> None:
    with pytest.raises(BadOperations, match=r"operation 1: node 'a' does not exist"):
        simulate([Arrival("b", ""), Removal("a")])


@pytest.mark.parametrize("version", ["1.16.0", "latest"])
def test_a_version_without_a_list_of_nodes_or_none_at_all_is_an_error(version: str) -> None:
    with pytest.raises(UnknownVersion):
        simulate([], version)


def test_the_report_names_who_is_lost_and_who_is_there_twice() -> None:
    lines = list(report(simulate(parse_operations(json.dumps(KNOWN_CASE).encode()))))
    assert lines == [
        "snapshot 1: 3 nodes, loses none (repaired: loses none)",
        'snapshot 2: 4 nodes, loses ["ss-stg-ma-03"], has ["ss-stg-test-01"] more than once (repaired: loses none)',
    ]


def test_a_name_with_control_characters_cannot_write_to_a_terminal() -> None:
    result = simulate([Arrival("\x1b[2J", "a"), Snapshot()])
    assert "\x1b" not in names_line(result[0])
