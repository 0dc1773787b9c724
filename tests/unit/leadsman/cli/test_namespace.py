"""`-n`: what is about pods and objects of other namespaces is left out; nodes and the cluster stay."""

import io
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import Any

import pytest
from rich.console import Console

from components.database import EmptyDatabase
from components.rows import T0, row, store
from leadsman.cli.present.story import print_story
from sql.database.open import Database
from sql.questions.queries import run, saved_query
from streams.fold.findings import Alert, Eviction, NodeEvent, NodeRow, PodBinding, PodEnd

pytestmark = pytest.mark.engine

OURS, OTHERS = "shop", "bank"


@pytest.fixture(scope="module")
def two(empty_database: EmptyDatabase) -> Iterator[Database]:
    """On one node that is not Ready, the same happens to a pod of each of two namespaces. In another cluster, a line
    is about a pod of each.
    """
    with empty_database() as database:
        _fill(database)
        for nth, namespace in enumerate((OURS, OTHERS)):
            pod = {"namespace": namespace, "pod": "p", "uid": namespace, "node": "n"}
            at = T0 + timedelta(seconds=nth)
            store(database, row(PodEnd, cluster="several", ts=at, cause="taint_manager", **pod))
        yield database


def _fill(database: Database) -> None:
    store(database, row(NodeRow, node="n", uid="n", ready=False))
    warning = {"type": "Warning", "node": "n", "occurrences": 1, "count": 1}
    store(database, row(NodeEvent, reason="Rebooted", object_kind="Node", object_name="n", **warning))
    for namespace in (OURS, OTHERS):
        pod = {"namespace": namespace, "pod": f"{namespace}-0", "uid": namespace, "node": "n"}
        alert = {"alertname": "ContainersOOMKilled", "status": "firing", "fingerprint": namespace, "starts_at": T0}
        store(
            database,
            row(PodEnd, cause="oom_kill", container="app", **pod),
            row(PodBinding, change="pending", phase="Pending", reason="Unschedulable", **pod | {"node": ""}),
            row(Eviction, cause="limit", time_known=True, **pod),
            row(
                NodeEvent,
                reason=f"Failed-{namespace}",
                object_kind="Pod",
                namespace=namespace,
                object_name=pod["pod"],
                **warning,
            ),
            row(
                Alert,
                labels={"namespace": namespace},
                annotations={"summary": f"in {namespace}"},
                severity="warning",
                **alert,
            ),
        )


def _story(database: Database, namespace: str) -> str:
    out = io.StringIO()
    print_story(database, ["c"], Console(file=out, width=400), None, namespace=namespace)
    return out.getvalue()


def test_a_story_of_a_namespace_has_its_pods_and_the_nodes(two: Database) -> None:
    assert OTHERS in _story(two, "")
    reported = _story(two, OURS)
    assert OTHERS not in reported
    assert "not Ready" in reported
    assert "Rebooted" in reported
    for words in ("OOM kill", "1 pod Pending", "evicted for its own limit", "Failed-shop", "Pods of namespace shop;"):
        assert words in reported


def test_a_namespace_without_pods_is_named_as_such(two: Database) -> None:
    reported = _story(two, "shpo")
    assert "No pods were seen of namespace shpo; nodes and the cluster as a whole." in reported
    assert "not Ready" in reported
    assert not {OURS, OTHERS} & set(reported.replace("/", " ").split())


def test_the_saved_story_narrows_the_same(two: Database) -> None:
    kinds = {namespace: _kinds(two, namespace) for namespace in ("", OURS, "shpo")}
    assert kinds[""] == {"node", "pod_end", "limit", "pending", "warning", "unknown"}
    assert kinds[OURS] == kinds[""]
    assert kinds["shpo"] == {"node", "warning", "unknown"}
    assert not any(OTHERS in line["what"] for line in _lines(two, OURS) if line["cluster"] == "c")


def _kinds(database: Database, namespace: str) -> set[str]:
    return {line["kind"] for line in _lines(database, namespace) if line["cluster"] == "c"}


@cache
def _lines(database: Database, namespace: str) -> list[dict[str, Any]]:
    """Return what the question answers of both clusters."""
    found = run(database, saved_query("story"), {"namespace": namespace})
    return [dict(zip(found.column_names, line, strict=True)) for line in found.rows]


def test_a_line_about_several_namespaces_is_in_the_story_of_each(two: Database) -> None:
    for namespace, lines in ((OURS, 1), (OTHERS, 1), ("shpo", 0)):
        assert [line["cluster"] for line in _lines(two, namespace)].count("several") == lines
