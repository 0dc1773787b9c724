"""A mistyped word in SQL is named, with the nearest that exists."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sql.database.errors import QueryFailed
from sql.database.open import Database, connect
from sql.questions.ask import ask, run_freely


@pytest.fixture
def reader(migrated_folder: Path) -> Iterator[Database]:
    with connect(f"chdb://{migrated_folder}", make=False, read_only=True) as db:
        yield db


def refusal(db: Database, sql: str) -> QueryFailed:
    with pytest.raises(QueryFailed) as refused:
        ask(db, sql, {})
    return refused.value


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT node FROM node", "there is no table or view node. Did you mean nodes?"),
        ("SELECT 1 FROM nodes JOIN pod_sample USING node", "view pod_sample. Did you mean pod_samples?"),
        ("SELECT 1 FROM nodes AS n, evictoins", "view evictoins. Did you mean evictions?"),
        ("WITH own AS (SELECT 1) SELECT * FROM own, default.node", "view node. Did you mean nodes?"),
        ("DESCRIBE evictons", "view evictons. Did you mean evictions?"),
        ("SELECT * FROM xyzzy", "view xyzzy. SHOW TABLES lists them"),
        ("SELECT nod FROM nodes", "there is no column nod. Did you mean node?"),
        ("SELECT n.zone_kee FROM nodes AS n", "there is no column n.zone_kee. Did you mean n.zone_key?"),
        ("SELECT qqq FROM numa_skew", "there is no column qqq. Columns: cluster, ts"),
        (
            "SELECT reason FROM evictions UNION ALL SELECT reason FROM pod_ends",
            "there is no column reason in evictions. Only pod_ends has it",
        ),
        ("SELECT cout(node) FROM nodes", "there is no function cout. Did you mean count?"),
        ("SELECT {a:String}", "no value was given for {a}"),
    ],
)
def test_a_mistyped_name_suggests_the_nearest_and_asks_for_no_rights(reader: Database, sql: str, said: str) -> None:
    error = refusal(reader, sql)
    assert said in str(error)
    assert not error.forbidden


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELEC 1", 'line 1, column 7, at "1" after "SELEC". Did you mean SELECT?'),
        (
            "SELECT node FROM nodes WHER node = 1",
            'line 1, column 29, at "node = 1" after "SELECT node FROM nodes WHER". Did you mean WHERE?',
        ),
        ("SELECT 'é'\nFROM nodes\nWHERE node = = 2", 'line 3, column 14, at "= 2"'),
        ("SELECT node FROM", 'column 17, at the end after "SELECT node FROM"'),
        ("SELECT count( FROM nodes", "'(' at position 13 is never closed"),
        ("SELECT * FROM nodes WHERE node = 'x", "Single quoted string is not closed"),
        ("SELECT 1; SELECT 2", "Multi-statements are not allowed"),
        (" ", "syntax error: Empty query"),
    ],
)
def test_a_syntax_error_shows_the_person_s_own_text(reader: Database, sql: str, said: str) -> None:
    text = str(refusal(reader, sql))
    assert said in text
    assert "formatQuery" not in text


def test_text_around_a_syntax_error_is_cut_and_cannot_run_on_a_terminal(reader: Database) -> None:
    text = str(refusal(reader, f"SELECT {'1, ' * 900}\x1b[2J FROM nodes"))
    assert len(text) < 300
    assert "\x1b" not in text


def test_a_function_that_exists_and_is_not_allowed_is_no_mistyped_one(reader: Database) -> None:
    for sql in ("SELECT sleep(1)", "SELECT * FROM url('http://x')", "SELECT sleepIf(1)"):
        assert "is not allowed in a question" in str(refusal(reader, sql)), sql


def test_a_writer_also_gets_suggestions(database: Database) -> None:
    with pytest.raises(QueryFailed, match="Did you mean nodes"):
        run_freely(database, "SELECT node FROM nodess", {})
