"""No alarm calls a Node that was cut before its condition Ready not Ready, or its kubelet silent."""

import pytest

from components.rows import T0, row, store
from leadsman.web.attention.attention import attention
from leadsman.web.attention.badges import Severity, badges
from leadsman.web.reading.overview import Overview, read_overview, read_spans
from leadsman.web.reading.scope import ALL, RequestedRange, choose
from sql.database.open import Database
from streams.fold.findings import NodeRow, PressureChange

TAINT = "karpenter.sh/disrupted=:NoSchedule"


def seen(db: Database, message: str, **values: object) -> Overview:
    """Read a node under pressure whose `ready` is null: it says so, or with an empty message nothing does."""
    store(
        db,
        row(NodeRow, node="n", uid="n", ready=None, ready_message=message, **values),
        row(PressureChange, node="n", condition="MemoryPressure", status=True),
    )
    spans = read_spans(db)
    return read_overview(db, choose(spans, RequestedRange(last=ALL), T0), spans)


@pytest.mark.parametrize("message", ["", "Kubelet stopped posting node status."])
def test_pressure_goes_on_unless_the_kubelet_is_said_not_to_report(database: Database, message: str) -> None:
    view = seen(database, message)
    (card,) = [item for item in attention(view) if item.title == "MemoryPressure"]
    assert card.now is not bool(message)
    assert ("no longer reports" in card.text) is bool(message)
    (node,) = view.nodes
    assert node.not_ready is bool(message)
    reported = [badge for badge in badges(node) if "Ready" in badge.text]
    assert [(badge.severity, badge.text) for badge in reported] == [
        (Severity.UNKNOWN, "Ready unknown" if message else "Ready not reported")
    ]


@pytest.mark.parametrize("message", ["", "Kubelet stopped posting node status."])
@pytest.mark.parametrize("values", [{"unschedulable": True}, {"taints": [TAINT]}], ids=("cordoned", "removed"))
def test_only_what_was_said_makes_a_cordoned_node_s_kubelet_silent(
    database: Database, values: dict[str, object], message: str
) -> None:
    (card,) = [
        item for item in attention(seen(database, message, **values)) if item.anchor == "nodes" and not item.of_each
    ]
    assert ("silent, so whether it is Ready is unknown" in card.text) is bool(message)
    assert "not Ready" not in f"{card.text} {card.step}"
