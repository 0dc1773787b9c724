"""Figures of a database now equal the rows that a worker concludes."""

from datetime import timedelta

from components.rows import T0, row, store
from leadsman.web.reading.figures import UNKNOWN, read_figures
from sql.database.open import Database
from streams.fold.figures import FIRING, GC_FAILING, NUMA_SKEW, ROOM, SECONDS
from streams.fold.findings import Alert, EvictionSignal, ImageGc, NodeRow, NumaSkew

A_MINUTE = timedelta(minutes=1)


def test_figures_are_of_the_end_and_of_nodes_that_are_there(database: Database) -> None:
    signal = row(
        EvictionSignal,
        node="n1",
        signal="memory.available",
        available=900,
        capacity=1000,
        hard_threshold=100,
        soft_threshold=None,
        seconds_to_hard=60.0,
    )
    alert = row(Alert, fingerprint="a", alertname="A", severity="critical", status="firing", starts_at=T0)
    store(
        database,
        *(row(NodeRow, node=node, ts=T0) for node in ("n1", "gone")),
        row(NodeRow, node="gone", ts=T0 + A_MINUTE, deleted=True),
        signal,
        signal._replace(available=500, ts=T0 + A_MINUTE),
        signal._replace(node="gone", ts=T0 + A_MINUTE),
        row(ImageGc, node="n1", verdict="persistent", last_at=T0),
        row(NumaSkew, scope="node", node="n1", skew_ratio=0.5, fidelity="exact"),
        row(NumaSkew, scope="cluster", skew_ratio=0.9),
        alert,
        alert._replace(fingerprint="b"),
        alert._replace(fingerprint="b", status="resolved", ts=T0 + A_MINUTE, ends_at=T0 + A_MINUTE),
    )
    labels = ("c", "n1", "memory.available", "hard")
    for now in (None, T0 + UNKNOWN):
        values = read_figures(database, now)
        assert (values[ROOM], values[SECONDS]) == ({labels: 400.0}, {labels: 60.0})
        assert values[GC_FAILING] == {("c", "n1", "persistent"): 1.0}
        assert values[NUMA_SKEW] == {("c", "n1"): 0.5}
        assert values[FIRING] == {("c", "A", "critical"): 1.0}
    assert not any(read_figures(database, T0 + UNKNOWN + 2 * A_MINUTE).values())
