"""A runbook that is read about a node begins with what to do there."""

from html import unescape

from components.rows import T0, row, store, store_samples, summary
from leadsman.web.site.pages import Request, runbook_of
from sql.database.open import Database
from streams.fold.findings import Alert, EvictionSignal, NodeRow

GIB = 1 << 30
NODE = "worker-17"


def test_a_runbook_of_a_node_begins_with_its_numbers_and_the_step(database: Database) -> None:
    alert = {"alertname": "EvictionThresholdNear", "severity": "critical", "status": "firing", "starts_at": T0}
    memory = {"signal": "memory.available", "capacity": 64 * GIB, "available": GIB, "hard_threshold": 2 * GIB}
    for node in (NODE, "worker-18"):
        store(database, row(NodeRow, node=node, ready=True), row(EvictionSignal, node=node, **memory, hard_met=True))
        store_samples(database, summary(T0, node, memory_available_bytes=GIB, memory_working_set_bytes=63 * GIB))
    labels = {"resource": "memory"}
    store(database, row(Alert, fingerprint="a", node=NODE, labels=labels, updated_at=T0, **alert))
    text = unescape(runbook_of(database, Request.of({"node": NODE}), "EvictionThresholdNear", lambda: None))
    now, where = text.index("What to do"), text.index('id="alerts-title"')
    card = text[now:where]
    assert now < where < text.index('<article class="card runbook">')
    assert "1.00 GiB available, below the hard threshold of 2.00 GiB" in card
    assert "Next:" in card
    assert "worker-18" not in card
    for asked in ({}, {"node": "worker-18"}):
        assert "What to do" not in runbook_of(database, Request.of(asked), "EvictionThresholdNear", lambda: None)
