"""The node tree against the known cases and a direct model of the rule (rules: node-tree)."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.rules.scheduling import node_tree
from streams.rules.scheduling.node_tree import NodeTree, UnknownVersion, affected

MASTERS = ["ss-stg-ma-01", "ss-stg-ma-02", "ss-stg-ma-03"]


def tree_of(**zones: list[str]) -> NodeTree:
    tree = NodeTree()
    for zone, names in zones.items():
        for name in names:
            tree = node_tree.add(tree, name, zone)
    return tree


class Model:
    """The rule word for word (rules: node-tree): a list of zones, an index that rotates over them, a cursor in
    each, none of them put back.
    """

    def __init__(self) -> None:
        self.zones: list[str] = []
        self.nodes: dict[str, list[str]] = {}
        self.last_index: dict[str, int] = {}
        self.zone_index = 0

    def add(self, name: str, zone: str) -> None:
        if zone not in self.zones:
            self.zones.append(zone)
            self.nodes[zone] = []
            self.last_index[zone] = 0
        if name not in self.nodes[zone]:
            self.nodes[zone].append(name)

    def remove(self, name: str, zone: str) -> None:
        self.nodes[zone].remove(name)
        if not self.nodes[zone]:
            self.zones.remove(zone)
            del self.nodes[zone], self.last_index[zone]

    def next_name(self) -> str:
        empty_handed = 0
        while True:
            if self.zone_index >= len(self.zones):
                self.zone_index = 0
            zone = self.zones[self.zone_index]
            self.zone_index += 1
            if self.last_index[zone] < len(self.nodes[zone]):
                self.last_index[zone] += 1
                return self.nodes[zone][self.last_index[zone] - 1]
            empty_handed += 1
            if empty_handed >= len(self.zones):
                self.last_index = dict.fromkeys(self.zones, 0)
                self.zone_index = 0

    def snapshot(self) -> list[str]:
        return [self.next_name() for names in self.nodes.values() for _ in names]


changes = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "remove", "snapshot"]), st.integers(0, 14), st.sampled_from("abc")
    ),
    max_size=60,
)
"""`put` adds a node, or moves it to another zone; `remove` is for a node that is there."""


@given(changes)
def test_snapshots_of_any_arrivals_and_removals_equal_the_direct_model(steps: list[tuple[str, int, str]]) -> None:
    tree, model, zones = NodeTree(), Model(), dict[str, str]()
    for step, number, zone in steps:
        name = f"node-{number}"
        old = zones.get(name)
        if step == "snapshot":
            tree, names = node_tree.snapshot(tree)
            assert names == model.snapshot()
        elif step == "remove" and old is not None:
            tree = node_tree.remove(tree, name, zones.pop(name))
            model.remove(name, old)
        elif step == "put" and old is None:
            tree = node_tree.add(tree, name, zone)
            model.add(name, zone)
            zones[name] = zone
        elif step == "put" and old is not None and old != zone:
            tree = node_tree.update(tree, name, old, zone)
            model.remove(name, old)
            model.add(name, zone)
            zones[name] = zone
    assert tree.size == len(zones)


@given(changes)
def test_the_repaired_algorithms_have_each_node_exactly_once_and_in_the_same_order(
    steps: list[tuple[str, int, str]],
) -> None:
    tree, zones = NodeTree(), dict[str, str]()
    for step, number, zone in steps:
        name = f"node-{number}"
        if step == "put":
            tree = node_tree.update(tree, name, zones.get(name, "nowhere"), zone)
            zones[name] = zone
        elif step == "remove" and name in zones:
            tree = node_tree.remove(tree, name, zones.pop(name))
        elif step == "snapshot":
            # the repair of 1.18.7 and 1.19: every snapshot begins at the first node of the first zone
            tree = node_tree.NodeTree(tuple(zone._replace(given=0) for zone in tree.zones))
            tree, reset = node_tree.snapshot(tree)
            assert Counter(reset) == Counter(dict.fromkeys(zones, 1))
            assert reset == node_tree.listed(tree)


@given(st.lists(st.sampled_from(["add", "remove", "snapshot"]), max_size=40))
def test_with_a_single_zone_no_snapshot_loses_a_node(steps: list[str]) -> None:
    tree, there = NodeTree(), list[str]()
    for number, step in enumerate(steps):
        if step == "add":
            there.append(f"node-{number}")
            tree = node_tree.add(tree, there[-1], "only")
        elif step == "remove" and there:
            tree = node_tree.remove(tree, there.pop(), "only")
        elif step == "snapshot":
            tree, names = node_tree.snapshot(tree)
            assert sorted(names) == sorted(there)


def test_the_known_case_of_three_masters_and_a_worker_in_a_second_zone_loses_the_third_master() -> None:
    tree, first = node_tree.snapshot(tree_of(masters=MASTERS))
    assert first == MASTERS
    _, second = node_tree.snapshot(node_tree.add(tree, "ss-stg-test-01", "workers"))
    assert second == ["ss-stg-test-01", "ss-stg-ma-01", "ss-stg-test-01", "ss-stg-ma-02"]


def test_the_lost_node_changes_with_every_rebuild_because_cursors_advance() -> None:
    """1.17 rebuilds in every cycle, so its loss is transient (rules: node-tree): cursors are [2, 1] and it is zone
    2's turn.
    """
    tree, _ = node_tree.snapshot(tree_of(masters=MASTERS))
    tree, _ = node_tree.snapshot(node_tree.add(tree, "worker", "workers"))
    _, third = node_tree.snapshot(tree)
    assert third == ["ss-stg-ma-03", "ss-stg-ma-01", "worker", "ss-stg-ma-02"]


def test_the_list_of_1_20_takes_zones_in_turn_in_the_order_of_first_sight() -> None:
    tree = tree_of(z=["z1", "z2", "z3"], a=["a1"], m=["m1", "m2"])
    assert node_tree.listed(tree) == ["z1", "a1", "m1", "z2", "m2", "z3"]


def test_a_node_that_changes_its_zone_becomes_the_last_of_the_new_zone() -> None:
    tree = node_tree.update(tree_of(a=["a1", "a2"], b=["b1"]), "a1", "a", "b")
    assert node_tree.listed(tree) == ["a2", "b1", "a1"]
    assert node_tree.zone_of(tree, "a1") == "b"


def test_a_zone_leaves_with_its_last_node_and_comes_back_as_the_last_zone() -> None:
    tree = node_tree.remove(tree_of(a=["a1"], b=["b1"]), "a1", "a")
    assert node_tree.listed(tree) == ["b1"]
    assert node_tree.listed(node_tree.add(tree, "a1", "a")) == ["b1", "a1"]


def test_adding_a_node_twice_or_removing_an_unknown_one_changes_nothing() -> None:
    tree = tree_of(a=["a1"])
    assert node_tree.add(tree, "a1", "a") == tree
    assert node_tree.remove(tree, "a2", "a") == tree
    assert node_tree.remove(tree, "a1", "b") == tree


def test_an_empty_tree_gives_an_empty_snapshot() -> None:
    assert node_tree.snapshot(NodeTree()) == (NodeTree(), [])
    assert node_tree.listed(NodeTree()) == []


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.16.15", "none"),
        ("1.17.0", "transient"),
        ("v1.17.17", "transient"),
        ("1.18", "persistent"),
        ("1.18.0", "persistent"),
        ("v1.18.3+f291db1", "persistent"),
        ("v1.18.4", "persistent"),
        ("v1.18.4-tke.4", "persistent"),
        ("v1.18.4-tke.5", "none"),
        ("v1.18.4-tke.14", "none"),
        ("1.18.6", "persistent"),
        ("1.18.7", "none"),
        ("v1.18.20-eks-1", "none"),
        ("1.19.0-rc.2", "persistent"),
        ("1.19.0-beta.1", "persistent"),
        ("1.19.0-rc.3", "none"),
        ("1.19.0", "none"),
        ("1.20.4", "none"),
        ("v1.36.3", "none"),
    ],
)
def test_1_17_loses_nodes_for_a_cycle_and_1_18_to_its_sixth_patch_until_the_next_change(
    version: str, expected: str
) -> None:
    assert affected(version) == expected


@pytest.mark.parametrize("version", ["", "one", "1", "1.18.x", "1.١٨", "1.18.4 ; rm", "1" * 5000])
def test_an_invalid_version_is_an_error_that_shows_a_valid_one(version: str) -> None:
    with pytest.raises(UnknownVersion, match=r"expected one like 1\.18\.4"):
        affected(version)
