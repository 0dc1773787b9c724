"""Lines of the story about the condition Ready say no more than it does (rules: nodes-that-do-not-report)."""

from datetime import timedelta
from typing import Any

from components.rows import T0, dicts, row, store
from sql.database.open import Database
from streams.fold.findings import NodeRow


def _seen(minute: int, ready: bool | None, **more: Any) -> NodeRow:
    at = T0 + timedelta(minutes=minute)
    return row(NodeRow, node="n", uid="n", ts=at, ready=ready, **more)


def _lines(database: Database, *rows: NodeRow) -> list[str]:
    store(database, *rows)
    return [each["what"] for each in dicts(database, "SELECT what FROM story WHERE kind = 'node' ORDER BY ts")]


def test_a_new_node_becomes_ready_and_not_ready_again(database: Database) -> None:
    """It joins without the condition, as one that a cloud provider makes: that says nothing about its kubelet."""
    assert _lines(database, _seen(0, None), _seen(1, ready=False), _seen(2, ready=True)) == [
        "The node is not Ready.",
        "The node is Ready.",
    ]


def test_a_node_that_was_ready_before_is_ready_again(database: Database) -> None:
    said = "Kubelet stopped posting node status."
    assert _lines(database, _seen(0, ready=True), _seen(1, None, ready_message=said), _seen(2, ready=True)) == [
        "Whether the node is Ready is unknown: its kubelet does not report.",
        "The node is Ready again.",
    ]
