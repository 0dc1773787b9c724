"""A Node that was cut before its condition Ready says nothing of it (rules: nodes-that-do-not-report)."""

from typing import Any

import msgspec
import pytest

from components.rows import T0
from ingest.model.objects.node import Node
from ingest.model.records import NodeRecord
from streams.analytics.nodes import REDUCER, State
from streams.fold.findings import NodeRow

SILENT = {"type": "Ready", "status": "Unknown"}


def _read(minute: int, *conditions: dict[str, Any]) -> NodeRecord:
    raw = msgspec.json.encode({"metadata": {"name": "n", "uid": "u"}, "status": {"conditions": conditions}})
    return NodeRecord(
        ts=T0.replace(minute=minute),
        cluster="c",
        node="n",
        change="MODIFIED",
        object=msgspec.json.decode(raw, type=Node),
    )


@pytest.mark.parametrize(
    ("conditions", "reported"),
    [
        ((), (None, "")),
        (({"type": "DiskPressure", "status": "True"},), (None, "")),
        ((SILENT,), (None, "Unknown")),
        ((SILENT | {"reason": "NodeStatusUnknown"},), (None, "NodeStatusUnknown")),
        (({"type": "Ready", "status": "False"},), (False, "")),
    ],
)
def test_only_a_condition_says_that_ready_is_unknown(
    conditions: tuple[dict[str, Any], ...], reported: tuple[bool | None, str]
) -> None:
    _, (row,) = REDUCER.step(State(), _read(0, *conditions))
    assert isinstance(row, NodeRow)
    assert (row.ready, row.ready_message) == reported


def test_a_cut_node_leaves_what_was_known_before() -> None:
    state, _ = REDUCER.step(State(), _read(0, {"type": "Ready", "status": "True"}))
    assert REDUCER.step(state, _read(1)) == (state, ())
