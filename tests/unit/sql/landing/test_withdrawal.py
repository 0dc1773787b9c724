"""Passes over a whole dump take back what passes over its parts concluded: in a real engine."""

from collections.abc import Iterable
from pathlib import Path

from components.rows import dicts
from ingest.files.sources import read_sources
from ingest.normalize.decoded import decode
from leadsman.run.replay import replay
from leadsman.run.settings import Settings
from paths import TESTS
from sql.database.open import Database

CASE = TESTS / "field/cases/62-kubeadm-intends"
WHOLE = [each for each in sorted(CASE.iterdir()) if each.name != "facts.json"]
PART = [each for each in WHOLE if each.name != "asked.configz.json"]
"""Without its /configz, a node has the settings that kubeadm intends, and is below one of their thresholds."""
TABLES = "alerts", "kubelet_settings", "settings_warnings"


def read(database: Database, cluster: str, files: Iterable[Path]) -> None:
    replay(database, map(decode, read_sources([*files], cluster=cluster)), Settings())


def rows(database: Database, table: str, cluster: str) -> list[str]:
    found = dicts(database, f"SELECT * FROM {table} FINAL WHERE cluster = '{cluster}'")
    apart = {"cluster", "fingerprint", "labels", "landed_at"}
    return sorted(repr({name: value for name, value in row.items() if name not in apart}) for row in found)


def test_the_whole_takes_back_what_its_part_concluded_however_often_both_are_read(database: Database) -> None:
    read(database, "once", WHOLE)
    read(database, "often", PART)
    assert [table for table in TABLES if rows(database, table, "often") == rows(database, table, "once")] == []
    for _ in range(2):
        read(database, "often", WHOLE)
        for table in TABLES:
            assert rows(database, table, "once")
            assert rows(database, table, "often") == rows(database, table, "once")
        read(database, "often", PART)


def test_a_part_takes_nothing_back(database: Database) -> None:
    read(database, "often", WHOLE)
    before = {table: seen(database, table) for table in TABLES}
    read(database, "often", PART)
    assert all(before[table] <= seen(database, table) for table in TABLES)


def seen(database: Database, table: str) -> set[tuple[object, ...]]:
    return {*database.query(f"SELECT node, ts FROM {table} FINAL WHERE cluster = 'often'").rows}
