"""The database that tests share: nothing of one is left to the next, and no test has to know of it."""

from pathlib import Path

import pytest

from components.cases import Cases
from components.database import KEPT, EmptyDatabase, Once
from components.rows import row, store
from sql.database.errors import DatabaseHeld
from sql.database.open import connect
from sql.landing.batches import to_arrow
from streams.fold.findings import NodeRow

ROWS = to_arrow(NodeRow, [row(NodeRow, node="n")])
COUNT = "SELECT count() FROM nodes"


@pytest.mark.parametrize("_", ["before", "after"])
def test_what_one_test_stored_is_unknown_to_the_next(empty_database: EmptyDatabase, _: str) -> None:
    """Also the token by which the same insert is recognised."""
    for _again in range(2):
        with empty_database() as db:
            assert db.query(COUNT).rows == [(0,)]
            db.insert("nodes", ROWS, "token")
            db.insert("nodes", ROWS, "token")
            assert db.query(COUNT).rows == [(1,)]


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE more (a String) ENGINE = MergeTree ORDER BY a",
        "DROP VIEW story",
        "ALTER TABLE nodes MODIFY TTL toDateTime(ts) + INTERVAL 1 DAY",
        "CREATE DATABASE other",
        "INSERT INTO schema_migrations (version, name) VALUES (9000, 'x')",
    ],
)
def test_a_schema_that_a_test_changed_goes_with_it(empty_database: EmptyDatabase, change: str) -> None:
    schema = "SELECT database, name, create_table_query FROM system.tables WHERE database NOT ILIKE '%s%m%'"
    databases, migrations = "SELECT name FROM system.databases", "SELECT count() FROM schema_migrations"
    with empty_database() as db:
        before = [sorted(db.query(each).rows) for each in (schema, databases, migrations)]
        db.command(change)
    with empty_database() as db:
        assert [sorted(db.query(each).rows) for each in (schema, databases, migrations)] == before


def test_settings_of_one_test_s_connection_are_not_the_next_one_s(empty_database: EmptyDatabase) -> None:
    with empty_database() as db:
        db.command("SET max_threads = 1")
    with empty_database() as db:
        assert db.query("SELECT getSetting('max_threads')").rows == [(2,)]


def test_a_kept_engine_gives_way_and_one_that_is_used_does_not(empty_database: EmptyDatabase, tmp_path: Path) -> None:
    other = f"chdb://{tmp_path / 'db'}"
    with empty_database() as db:
        with pytest.raises(DatabaseHeld):
            connect(other)
        assert db.query(COUNT).rows == [(0,)]
    connect(other).close()


def test_a_test_without_the_marker_opens_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KEPT, "allowed", False)
    with pytest.raises(pytest.fail.Exception, match="mark it `engine`"):
        connect(f"chdb://{tmp_path / 'db'}")


def test_each_case_gets_its_own_rows(empty_database: EmptyDatabase) -> None:
    cases = Cases()
    one, none, two = cases.add(row(NodeRow, node="a")), cases.add(), cases.add(*(row(NodeRow, node=n) for n in "bc"))
    answers = cases.answers(empty_database, "SELECT cluster, node FROM nodes ORDER BY node")
    assert {case: [each["node"] for each in answers[case]] for case in (one, none, two)} == {
        one: ["a"],
        none: [],
        two: ["b", "c"],
    }
    with empty_database() as db:
        store(db, row(NodeRow, node="n"))
        assert db.query("SELECT cluster FROM nodes").rows == [("c",)]


def test_what_is_made_once_is_copied_for_each_process(once: Once) -> None:
    made: list[Path] = []

    def make(folder: Path) -> None:
        made.append(folder)
        folder.mkdir()
        (folder / "status").write_text("made")

    one, other = once("thing", make), once("thing", make)
    (one / "status").write_text("changed")
    assert (len(made), (other / "status").read_text()) == (1, "made")
