"""A cordon has the time of its taint (rules: nodes-that-do-not-report)."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from components.rows import T0
from ingest.model.objects.node import Node
from ingest.model.records import NodeRecord
from streams.analytics.nodes import REDUCER, State
from streams.fold.findings import NodeRow

ADDED = "2026-06-28T09:30:00Z"
TAINT = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("spec", "since"),
    [
        ({"unschedulable": True, "taints": [TAINT | {"timeAdded": ADDED}]}, datetime(2026, 6, 28, 9, 30, tzinfo=UTC)),
        ({"unschedulable": True, "taints": [TAINT]}, None),
        ({"unschedulable": True}, None),
        ({"taints": [TAINT | {"timeAdded": ADDED}]}, None),
        ({"unschedulable": True, "taints": [TAINT | {"key": "own", "timeAdded": ADDED}]}, None),
    ],
    ids=("by its controller", "no time", "no taint yet", "a taint of somebody", "another taint"),
)
def test_only_the_taint_of_a_cordon_dates_it(spec: dict[str, Any], since: datetime | None) -> None:
    node = msgspec.json.decode(msgspec.json.encode({"metadata": {"name": "n", "uid": "u"}, "spec": spec}), type=Node)
    record = NodeRecord(ts=T0, cluster="c", node="n", change="ADDED", object=node)
    _, (row,) = REDUCER.step(State(), record)
    assert isinstance(row, NodeRow)
    assert row.cordoned_since == since
