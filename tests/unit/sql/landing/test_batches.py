"""Batches into tables on a thread of their own."""

from typing import Any

import pyarrow as pa
import pytest

from components.rows import T0, add_sample, row, summary
from sql.database.open import Database
from sql.landing import batches as landing
from sql.landing.batches import Lander
from streams.fold.batch import Batch
from streams.fold.findings import HIGH_RATE, NodeEvent, NodeFit, Row


class Inserts:
    """A database's client that only notes what is inserted."""

    embedded = False

    def __init__(self) -> None:
        self.inserts: list[tuple[str, int]] = []
        self.fails = False

    def insert(self, table: str, columns: pa.Table, token: str | None = None) -> None:
        assert (token is None) == (table in {*HIGH_RATE, "node_samples", "pod_samples"})
        if self.fails:
            raise OSError("the disk is full")
        self.inserts.append((table, columns.num_rows))


def batch(*rows: Row) -> Batch:
    made = Batch()
    made.add(rows)
    return made


def test_what_is_drained_is_stored_and_of_equal_keys_the_last(database: Database) -> None:
    with Lander(database) as sink:
        for pods in (1, 2, 3):
            made = batch(row(NodeEvent, name=f"e{pods}"), row(NodeFit, node="n", resource="pods", pods=pods))
            add_sample(made, summary(T0, f"n{pods}", [{"uid": "a"}, {"uid": "b"}]))
            sink.write(made)
        sink.drain()
        counted = (
            "SELECT (SELECT count() FROM node_events), (SELECT count() FROM node_samples), count() FROM pod_samples"
        )
        assert database.query(counted).rows == [(3, 3, 6)]
        assert database.query("SELECT pods FROM node_fit FINAL").rows == [(3,)]


def test_small_tables_wait_until_there_is_enough_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    database: Any = Inserts()
    monkeypatch.setattr(landing, "HELD_BYTES", 100_000)
    event = row(NodeEvent, message="m" * 1000)
    with Lander(database) as sink:
        for _ in range(12):
            sink.write(batch(*[event] * 10, row(NodeFit, node="n")))
        sink.drain()
        # 10 kB a batch: the tenth is beyond 100 kB, and only the largest table goes
        assert database.inserts[0][0] == "node_events"
        assert 90 <= database.inserts[0][1] <= 100
        assert sorted(database.inserts[1:]) == [("node_events", 120 - database.inserts[0][1]), ("node_fit", 12)]
        sink.drain()
        assert len(database.inserts) == 3


def test_an_insert_that_fails_is_raised_and_nothing_is_inserted_after_it() -> None:
    database: Any = Inserts()
    with Lander(database) as sink:
        sink.write(batch(row(NodeEvent)))
        database.fails = True
        with pytest.raises(OSError, match="the disk is full"):
            sink.drain()
        database.fails = False
        with pytest.raises(OSError, match="the disk is full"):
            sink.write(batch(row(NodeEvent)))
    assert database.inserts == []
