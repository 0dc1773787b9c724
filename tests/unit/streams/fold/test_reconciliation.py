"""Logs after an interrupted watch know the same as a log that saw everything (delivery.md#watching)."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.clock import FakeClock
from fakes.watched import CLUSTER, NAMES, World, key_of, node_object, raw
from ingest.apiserver.changes import KEYS_OF_A_PAGE, inventories
from ingest.model.records import InventoryRecord, Record
from ingest.resources.nodes import NODES
from ingest.resources.pods import PODS
from profiles import EXAMPLES
from streams.fold.findings import Alert, NodeRow, PodBinding, SchedulerBlindSpot
from streams.fold.fold import LogKey
from streams.fold.shelves import items


def _watched_and_died(world: World) -> None:
    """One watcher, from its beginning to its death at any moment, and a time without one."""
    chance = world.chance
    start = chance.choice([world.begin_to_watch, world.resume])
    if chance.random() < 0.2:
        world.die(start)
    else:
        start()
        for _ in range(chance.randrange(8)):
            world.change()
            world.deliver(chance.randrange(3))
        if chance.random() < 0.2:
            world.compare()
        world.die(world.compare if chance.random() < 0.2 else lambda: world.changes(chance.randrange(4)))
    for _ in range(chance.randrange(8)):
        world.change()


@settings(max_examples=EXAMPLES * 3 // 2)
@given(chance=st.randoms(use_true_random=True))
def test_logs_know_existing_objects_after_any_watcher_was_away(chance: random.Random) -> None:
    """Watchers come, list, resume, compare and die while nodes and pods come and go, and Kafka brings what one log
    emits onto another at any time, but that a log began before the next watcher lists.
    """
    world = World(chance)
    for _ in range(chance.randrange(1, 6)):
        _watched_and_died(world)
    world.begin_to_watch()
    world.settle()
    _check(world)


def _check(world: World) -> None:
    """Logs, rows and alerts have what there is."""
    for name in NAMES:
        bound = {uid for uid, node in world.pods.values() if node == name}
        assert world.known(name) == (name in world.nodes, bound, bound)
    cluster: Any = world.logs[CLUSTER].states
    pending = {uid for uid, _ in items(cluster["pending_pods"].pods)}
    assert pending == {uid for uid, node in world.pods.values() if not node}
    assert {name: node.uid for name, node in cluster["scheduling"].nodes.nodes.items()} == world.nodes
    numa = {*cluster["numa_cluster"].latest} if "numa_cluster" in cluster else set()
    assert {*world.described} - world.recreated <= numa <= {*world.described}
    _check_rows(world)
    world.pass_minutes(10)
    episodes = {
        status: {(each.node, each.starts_at) for each in world.rows if _is_not_ready(each) and each.status == status}
        for status in ("firing", "resolved")
    }
    not_ready = {name for name, uid in world.nodes.items() if uid in world.lost}
    assert {node for node, _ in episodes["firing"] - episodes["resolved"]} == not_ready
    assert all(row.ends_at >= row.starts_at for row in world.rows if isinstance(row, Alert) and row.ends_at)


@given(chance=st.randoms(use_true_random=True))
def test_logs_know_existing_objects_after_a_restore_of_etcd(chance: random.Random) -> None:
    """A watcher that was there compares, or another lists. The last row of a pod that is pending again may be its end
    on its node (delivery.md#reconciling).
    """
    world = World(chance)
    world.begin_to_watch()
    for _ in range(chance.randrange(12)):
        world.change()
    saved = world.saved()
    for _ in range(chance.randrange(12)):
        world.change()
    world.restore(saved)
    if chance.random() < 0.5:
        world.watch_no_more()
        world.begin_to_watch()
    else:
        world.compare()
    world.settle()
    _check(world)


def _is_not_ready(row: object) -> bool:
    return isinstance(row, Alert) and row.alertname == "NodeNotReady"


def _rows(world: World, of: type[Any]) -> list[Any]:
    """Rows of a type in the order of their time, as a table has them."""
    return sorted((row for row in world.rows if isinstance(row, of)), key=lambda row: row.ts)


def _check_rows(world: World) -> None:
    """The last row of each node and pod is what there is."""
    nodes = {row.node: row for row in _rows(world, NodeRow)}
    assert {name: row.uid for name, row in nodes.items() if not row.deleted} == world.nodes
    ready = {name: row.ready for name, row in nodes.items() if not row.deleted}
    assert ready == {name: uid not in world.lost for name, uid in world.nodes.items()}
    pods = {row.uid: row for row in _rows(world, PodBinding)}
    there = {(row.uid, row.node) for row in pods.values() if row.change != "deleted"}
    assert there <= {*world.pods.values()}
    assert {uid for uid, _ in {*world.pods.values()} - there} <= world.pending_again


@pytest.mark.parametrize("lost", [CLUSTER, None], ids=["its cluster had not heard of it", "all logs had"])
def test_a_bound_pod_stays_bound_when_a_resumed_watcher_repeats_both_versions(
    lost: LogKey | None,
) -> None:
    """Its node's log has no news then; so the last row would have it as pending until it changes."""
    world = World(random.Random(1))  # noqa: S311  # a test that can be repeated
    world.nodes = {"a": "a-1"}
    world.begin_to_watch()
    reported: list[Record] = []
    world.unsent = reported
    world.pods = {"p": ("p-1", "")}
    world.see("pods", "ADDED", world.pod("p", "p-1", ""))
    world.clock.seconds += 1
    world.pods, world.bound = {"p": ("p-1", "a")}, {"p-1": world.clock.clock.now()}
    world.see("pods", "MODIFIED", world.pod("p", "p-1", "a"))
    world.unsent = None
    for record in reported:
        if key_of(record) != lost:
            world.step(record)
    world.watch_no_more()
    world.resume()
    world.settle()
    assert [row.change for row in _rows(world, PodBinding)][-2:] == ["pending", "updated"]
    _check_rows(world)


def test_pods_of_an_unseen_node_are_deleted_by_the_next_list() -> None:
    """Two lists of pods: the node of one came and went, or was not listed yet, and then nobody looked."""
    world = World(random.Random(1))  # noqa: S311  # a test that can be repeated
    world.pods = {"a": ("a-1", "b")}
    world.begin_to_watch()
    world.settle()
    assert world.known("b") == (False, {"a-1"}, {"a-1"})
    world.watch_no_more()
    world.pods, world.nodes = {}, {"b": "b-1"}
    world.clock.seconds += 5
    world.begin_to_watch()
    world.settle()
    assert world.known("b") == (True, set(), set())


@settings(max_examples=EXAMPLES // 2)
@given(chance=st.randoms(use_true_random=True))
def test_a_second_list_of_the_same_changes_nothing(chance: random.Random) -> None:
    world = World(chance)
    for _ in range(12):
        world.change()
    world.begin_to_watch()
    world.settle()
    before = len([row for row in world.rows if isinstance(row, NodeRow | PodBinding)])
    world.clock.seconds += 60
    world.begin_to_watch()
    world.settle()
    assert len([row for row in world.rows if isinstance(row, NodeRow | PodBinding)]) == before


@settings(max_examples=EXAMPLES // 20)
@given(chance=st.randoms(use_true_random=True))
def test_a_node_deleted_unseen_does_not_count_as_lost(chance: random.Random) -> None:
    """A scheduler counts the 3 nodes that are left; the log knew 4 before the watcher was restarted."""
    world = World(chance)
    world.nodes = {name: f"{name}-1" for name in (*NAMES, "scaled-down")}
    world.begin_to_watch()
    world.watch_no_more()
    world.clock.seconds += 3600
    del world.nodes["scaled-down"]
    world.begin_to_watch()
    world.settle()
    world.clock.seconds += 1800
    text = (
        "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 No preemption victims."
    )
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": text}
    status = {"phase": "Pending", "conditions": [unschedulable]}
    world.see("pods", "ADDED", raw({"metadata": {"name": "p", "namespace": "d", "uid": "p-1"}, "status": status}))
    world.clock.seconds += 600
    world.see("nodes", "MODIFIED", node_object("a", "a-2"))
    assert [row for row in world.rows if isinstance(row, SchedulerBlindSpot)] == []


@pytest.mark.parametrize("count", [0, 1, KEYS_OF_A_PAGE, KEYS_OF_A_PAGE + 1, 50_000])
def test_a_paged_inventory_finds_the_same_deletions_in_small_pages(count: int) -> None:
    there = {f"uid-{number:06}" for number in range(0, 2 * count, 2)}
    known = {f"uid-{number:06}" for number in range(2 * count + 2)}
    found = list(inventories(NODES, {"": there}))
    assert all(len(part.object) < 1024 * 1024 for part in found)
    reported = [msgspec.json.decode(part.object) for part in found]
    records = [
        InventoryRecord(ts=FakeClock().clock.now(), cluster="lab", resource="nodes", **each) for each in reported
    ]
    gone = [key for record in records for key in record.gone(known)]
    assert gone == sorted(known - there)


def test_an_existing_unreadable_object_is_deleted_nowhere() -> None:
    """An object of another shape: which log it is on is not known, so that no log may miss it."""
    found = [
        (part.node, msgspec.json.decode(part.object)) for part in inventories(PODS, {"a": ["u-1"], None: ["u-9"]})
    ]
    assert found == [("", {"keys": ["u-9"]}), ("a", {"keys": ["u-1", "u-9"]})]
