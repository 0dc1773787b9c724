"""Filters keep the news of an object and drop heartbeats (rules: list-and-watch: heartbeats)."""

from typing import Any

import msgspec

from fakes.apiserver import pod
from ingest.apiserver.changes import Inventory, Key, News
from ingest.model.records import ObjectChange
from ingest.resources.events import EVENTS
from ingest.resources.node_resource_topologies import NODE_RESOURCE_TOPOLOGIES
from ingest.resources.nodes import NODES
from ingest.resources.pods import PODS


def _raw(thing: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(thing))


def _node(version: str, heartbeat: str, **condition: str) -> dict[str, Any]:
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": heartbeat, **condition}
    return {
        "metadata": {"name": "n1", "uid": "u", "resourceVersion": version},
        "status": {"conditions": [ready], "images": [{"names": ["a"]}]},
    }


def _watched(inventory: Inventory, change: ObjectChange, raw: msgspec.Raw) -> list[News]:
    return inventory.watched(change, inventory.read(raw))


def test_a_nodes_heartbeat_is_not_news() -> None:
    inventory = Inventory(NODES)
    assert _watched(inventory, "ADDED", _raw(_node("1", "2026-01-01T00:00:00Z")))
    assert _watched(inventory, "MODIFIED", _raw(_node("2", "2026-01-01T00:05:00Z"))) == []


def test_a_condition_of_a_node_that_changed_is_news() -> None:
    inventory = Inventory(NODES)
    _watched(inventory, "ADDED", _raw(_node("1", "2026-01-01T00:00:00Z")))
    changed = _node("2", "2026-01-01T00:05:00Z", status="False")
    assert [news.change for news in _watched(inventory, "MODIFIED", _raw(changed))] == ["MODIFIED"]


def test_a_change_of_a_dropped_pod_field_is_not_news() -> None:
    inventory = Inventory(PODS)
    _watched(inventory, "ADDED", _raw(pod("a", "1")))
    other = pod("a", "2", podIP="10.0.0.1")
    other["metadata"]["managedFields"] = [{"manager": "kubelet"}]
    other["spec"]["containers"][0]["env"] = []
    assert _watched(inventory, "MODIFIED", _raw(other)) == []


def test_a_change_is_compared_with_the_last_emitted_version() -> None:
    inventory = Inventory(PODS)
    phases = ["Pending", "Running", "Pending"]
    reported = [
        _watched(inventory, "MODIFIED", _raw(pod("a", str(n), phase=phase))) for n, phase in enumerate(phases)
    ]
    assert [len(news) for news in reported] == [1, 1, 1]


def test_every_version_of_an_event_is_news_but_no_version_twice() -> None:
    inventory = Inventory(EVENTS)
    thing = {"metadata": {"name": "e", "uid": "u", "resourceVersion": "1"}, "count": 1}
    again = {"metadata": {"name": "e", "uid": "u", "resourceVersion": "2"}, "count": 2}
    assert [len(_watched(inventory, "MODIFIED", _raw(one))) for one in (thing, thing, again)] == [1, 0, 1]


def test_deleted_is_always_news_and_the_same_pod_may_come_again() -> None:
    inventory = Inventory(PODS)
    _watched(inventory, "ADDED", _raw(pod("a", "1")))
    assert len(_watched(inventory, "DELETED", _raw(pod("a", "2")))) == 1
    assert len(_watched(inventory, "ADDED", _raw(pod("a", "1")))) == 1
    assert len(inventory) == 1


def test_a_topology_with_unchanged_zones_is_not_news() -> None:
    inventory = Inventory(NODE_RESOURCE_TOPOLOGIES)
    first = {"metadata": {"name": "n", "uid": "u", "resourceVersion": "1"}, "zones": [{"name": "node-0"}]}
    same = {"zones": [{"name": "node-0"}], "metadata": {"name": "n", "uid": "u", "resourceVersion": "2"}}
    other = {"metadata": {"name": "n", "uid": "u", "resourceVersion": "3"}, "zones": []}
    assert [len(_watched(inventory, "MODIFIED", _raw(one))) for one in (first, same, other)] == [1, 0, 1]


def test_a_pod_of_a_shape_that_cannot_be_decoded_is_news_when_it_changes() -> None:
    inventory = Inventory(PODS)
    broken = {"metadata": {"name": "a", "uid": "u", "resourceVersion": "1"}, "spec": 5}
    again = {"metadata": {"name": "a", "uid": "u", "resourceVersion": "2"}, "spec": 5}
    worse = {"metadata": {"name": "a", "uid": "u", "resourceVersion": "3"}, "spec": 6}
    assert [len(_watched(inventory, "MODIFIED", _raw(one))) for one in (broken, again, worse)] == [1, 0, 1]


def test_pods_of_the_same_name_in_two_namespaces_are_two() -> None:
    inventory = Inventory(PODS)
    other = pod("a", "1")
    other["metadata"]["namespace"] = "kube-system"
    found = [inventory.read(_raw(thing)) for thing in (pod("a", "1"), other)]
    assert [len(inventory.listed(each)) for each in found] == [1, 1]
    assert [news.change for news in inventory.vanished([Key.of(found[0].metadata)], "9")] == ["DELETED"]
    assert len(inventory) == 1
