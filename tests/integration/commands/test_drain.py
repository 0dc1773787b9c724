"""`leadsman simulate-drain` on a dump as `kubectl get nodes,pods,poddisruptionbudgets -A -o json` prints it."""

import json
from pathlib import Path
from typing import Any

import pytest

from components.command import Done, leadsman, succeeds


def _named(kind: str, name: str, version: str = "v1", **parts: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "uid": name, **parts.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}


def _node(name: str) -> dict[str, Any]:
    ready = [{"type": "Ready", "status": "True"}]
    return _named("Node", name, status={"allocatable": {"cpu": "4", "pods": "9"}, "conditions": ready})


def _pod(name: str, node: str) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": "r", "controller": True}
    container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    metadata = {"labels": {"app": name}, "ownerReferences": [owner]}
    return _named(
        "Pod",
        name,
        metadata=metadata,
        spec={"nodeName": node, "containers": [container]},
        status={"phase": "Running"},
    )


BUDGET = _named(
    "PodDisruptionBudget",
    "db\x1b[31m",
    "policy/v1",
    spec={"selector": {"matchLabels": {"app": "db"}}},
    status={"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("drain")


def _drained(folder: Path, name: str, *items: dict[str, Any]) -> Done:
    dump, db = folder / f"{name}.json", folder / name
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    succeeds("replay", dump, "--quiet", db=db)
    return leadsman("simulate-drain", "a", db=db)


def test_a_budget_that_lets_none_go_is_named_with_its_numbers(folder: Path) -> None:
    done = _drained(folder, "refused", _node("a"), _node("b"), _pod("db", "a"), _pod("web", "a"), BUDGET)
    assert done.returncode == 1
    assert "2 pods: 1 cannot be evicted, 1 moves." in done.stdout
    assert "needs 1 healthy pod and has 1" in done.stdout
    assert "\x1b" not in done.stdout
    found = json.loads(leadsman("simulate-drain", "a", "-o", "json", db=folder / "refused").stdout)
    assert [(each["pod"], each["outcome"], each["to"]) for each in found["pods"]] == [
        ("db", "refused", "b"),
        ("web", "moves", "b"),
    ]


def test_without_any_budget_read_it_does_not_say_that_all_is_well(folder: Path) -> None:
    done = _drained(folder, "unread", _node("a"), _node("b"), _pod("web", "a"))
    assert done.returncode == 1
    assert "1 pod: 1 moves." in done.stdout
    assert "0 PodDisruptionBudgets were read, and no complete list of them" in done.stdout


def test_a_drain_that_moves_every_pod_ends_with_0(folder: Path) -> None:
    done = _drained(folder, "moves", _node("a"), _node("b"), _pod("web", "a"), BUDGET)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].split()[:5] == ["a", "shop/web", "moves", "b", "ReplicaSet"]


def test_all_drained_nodes_are_closed_to_the_pods_of_each(folder: Path) -> None:
    _drained(folder, "both", _node("a"), _node("b"), _pod("web", "a"))
    done = leadsman("simulate-drain", "a", "b", db=folder / "both")
    assert "1 finds no room" in done.stdout


def test_an_unknown_node_is_a_mistake(folder: Path) -> None:
    _drained(folder, "unknown", _node("a"))
    done = leadsman("simulate-drain", "nope", db=folder / "unknown")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no node 'nope' is known" in done.stderr
