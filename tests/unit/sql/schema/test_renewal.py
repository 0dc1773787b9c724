"""A state that still holds survives its retention, and nothing else does."""

from datetime import timedelta

import pytest

from components.rows import T0, row, store
from sql.database.open import Database
from sql.landing.batches import SCHEMAS
from sql.questions.digest import digest
from sql.schema.retention import KEPT, keep
from sql.schema.upkeep import CURRENT, renew
from streams.fold.findings import Alert, NodeRow, NumaPod, PodBinding, PressureChange

LATER = T0 + timedelta(hours=1)


def bound(pod: str, change: str = "bound", **values: object) -> PodBinding:
    return row(PodBinding, node="n", namespace="d", pod=pod, uid=f"u-{pod}", change=change, **values)


def fired(name: str, status: str = "firing", **values: object) -> Alert:
    return row(Alert, fingerprint=name, alertname=name, status=status, starts_at=T0, updated_at=T0, **values)


@pytest.fixture
def aged(database: Database) -> Database:
    """Every row was stored 60 days ago, under a retention of 100 days."""
    store(
        database,
        row(NodeRow, node="n"),
        row(NodeRow, node="gone", ts=T0),
        row(NodeRow, node="gone", ts=LATER, deleted=True),
        bound("runs", "pending"),
        bound("runs", ts=T0),
        bound("ended", ts=T0),
        bound("ended", "finished", ts=LATER),
        bound("lost")._replace(node="gone"),
        fired("Fires"),
        fired("Resolved"),
        fired("Resolved", "resolved", ts=LATER),
        row(PressureChange, node="n", condition="DiskPressure", status=True),
        row(PressureChange, node="n", condition="DiskPressure", status=False, ts=LATER),
        row(PressureChange, node="gone", condition="DiskPressure", status=True),
        row(NumaPod, node="n", namespace="d", pod="holds", uid="u", container="c", cpus=2),
        row(NumaPod, node="n", namespace="d", pod="ended", uid="v", container="c", cpus=2),
        row(NumaPod, node="n", namespace="d", pod="ended", uid="v", container="c", cpus=0, ts=LATER),
    )
    return database


def age(db: Database, days: int) -> None:
    for table in CURRENT:
        # a column that is not stored cannot be updated: it is made one that has this default, and stored
        db.command(f"ALTER TABLE {table} MODIFY COLUMN landed_at DateTime MATERIALIZED now() - toIntervalDay({days})")
        db.command(f"ALTER TABLE {table} MATERIALIZE COLUMN landed_at SETTINGS mutations_sync = 2")
        db.command(f"ALTER TABLE {table} MODIFY COLUMN landed_at DateTime MATERIALIZED now()")


def renewed(db: Database, table: str, columns: str) -> list[tuple[object, ...]]:
    found = db.query(f"SELECT {columns} FROM {table} FINAL WHERE landed_at > now() - toIntervalDay(1) ORDER BY ALL")
    return list(found.rows)


def test_what_holds_is_stored_again_after_half_of_its_retention(aged: Database) -> None:
    before = digest(aged)
    for kept in KEPT:
        keep(aged, kept.tables, 100)
    age(aged, 60)
    renew(aged)
    assert digest(aged) == before
    assert renewed(aged, "pod_bindings", "pod, change") == [("runs", "bound"), ("runs", "pending")]
    assert renewed(aged, "alerts", "alertname, status") == [("Fires", "firing")]
    assert renewed(aged, "pressure_changes", "node, status") == [("n", 0)]
    assert renewed(aged, "numa_pods", "pod, cpus") == [("holds", 2)]
    for table in CURRENT:
        aged.command(f"OPTIMIZE TABLE {table} FINAL")
    assert digest(aged) == before


def test_what_holds_outlives_its_retention(aged: Database) -> None:
    age(aged, 60)
    for kept in KEPT:
        keep(aged, kept.tables, 100)
    renew(aged)
    for kept in KEPT:
        keep(aged, kept.tables, 50)
    for table in CURRENT:
        aged.command(f"OPTIMIZE TABLE {table} FINAL")
    assert aged.query("SELECT DISTINCT pod FROM pod_bindings").rows == [("runs",)]
    assert aged.query("SELECT alertname FROM alerts").rows == [("Fires",)]


def test_nothing_is_stored_again_before_half_of_its_retention_or_without_one(aged: Database) -> None:
    age(aged, 60)
    renew(aged)
    for kept in KEPT:
        keep(aged, kept.tables, 150)
    renew(aged)
    for table in CURRENT:
        assert renewed(aged, table, "count()") == [(0,)], table


def test_what_stands_is_a_table_with_a_retention() -> None:
    kept = {table for each in KEPT for table in each.tables}
    assert kept >= CURRENT.keys()
    assert all("node" in SCHEMAS[table].names for table, standing in CURRENT.items() if standing.of_nodes)
