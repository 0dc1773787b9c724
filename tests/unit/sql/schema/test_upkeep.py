"""A disk that fills, announced before it is full."""

from functools import partial
from pathlib import Path
from threading import Event
from typing import Self, cast

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from sql.database.errors import DatabaseUnreachable
from sql.database.open import Database, Result, connect
from sql.schema import upkeep
from sql.schema.migrate import migrate
from sql.schema.upkeep import Upkeep
from waiting import eventually


class Disks:
    """A database that answers with how much is free, one answer after the other."""

    def __init__(self, *free: float) -> None:
        self._free = list(free)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def query(self, *_: object) -> Result:
        return Result((), (), [("default", self._free.pop(0))])


def test_each_percent_less_than_a_tenth_is_logged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "renew", lambda _: None)
    database = cast("Database", Disks(0.5, 0.1, 0.099, 0.095, 0.081, 0.5, 0.089))
    kept = Upkeep(lambda: database)
    logged = []
    for _ in range(7):
        with capture_logs() as logs:
            kept.once(database)
        logged.append([each["free_percent"] for each in logs])
    assert logged == [[], [], [9], [], [8], [], [8]]


def test_the_engine_knows_its_disks(database: Database) -> None:
    kept = Upkeep(lambda: database)
    kept.once(database)
    assert [0 < free <= 1 for free in kept._free.values()] == [True]


def test_an_embedded_database_is_kept_beside_the_one_that_lands(tmp_path: Path) -> None:
    dsn = f"chdb://{tmp_path}/db"
    with connect(dsn) as database:
        migrate(database)
        with Upkeep(partial(connect, dsn)) as kept:
            eventually("it was asked", lambda: len(kept._free) == 1)
            assert database.query("SELECT 1").rows
        assert kept._trouble == ""
        assert database.query("SELECT 1").rows


class Slow(Disks):
    """A database that answers only when its keeper was told to end."""

    def __init__(self) -> None:
        super().__init__(0.5)
        self.keeper = Upkeep(lambda: cast("Database", self))
        self.is_asked, self.is_closed = Event(), False

    def __exit__(self, *_: object) -> None:
        self.is_closed = True

    def query(self, *_: object) -> Result:
        self.is_asked.set()
        self.keeper._ended.wait()
        return super().query()


def test_the_database_is_closed_when_the_block_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "renew", lambda _: None)
    slow = Slow()
    with slow.keeper:
        assert slow.is_asked.wait(10)
    assert slow.is_closed


def test_what_is_free_is_a_metric_while_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "renew", lambda _: None)
    with Upkeep(lambda: cast("Database", Disks(0.25))):
        eventually("it was asked", lambda: free() is not None)
        assert free() == 0.25
    assert free() is None


def free() -> float | None:
    return REGISTRY.get_sample_value("leadsman_database_disk_free_ratio", {"disk": "default"})


@pytest.mark.parametrize("error", [DatabaseUnreachable("away"), ValueError("an answer that was cut off")])
def test_a_database_that_fails_is_asked_again(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setattr(upkeep, "PAUSE_SECONDS", 0.01)
    asked: list[int] = []

    def connect() -> Database:
        asked.append(1)
        raise error

    with Upkeep(connect):
        eventually("it was asked three times", lambda: len(asked) > 2)


def test_what_follows_from_the_rows_is_calculated_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "renew", lambda _: None)
    monkeypatch.setattr(upkeep, "PAUSE_SECONDS", 0.01)
    calculated: list[Database] = []
    with Upkeep(lambda: cast("Database", Disks(0.25)), calculated.append):
        eventually("it was calculated three times", lambda: len(calculated) > 2)
