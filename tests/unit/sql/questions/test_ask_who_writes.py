"""A reader's own SQL where the process may also write."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from components.rows import row, store
from leadsman.cli.main import app
from sql.database.errors import QueryFailed
from sql.database.open import Database, connect
from sql.questions.ask import ask
from sql.questions.limits import Limits
from sql.questions.queries import run, saved_query
from sql.questions.query_process import QueryProcess
from streams.fold.findings import NodeRow

LIMITS = Limits(rows=1000, seconds=5, memory_bytes=256 << 20, answer_bytes=16 << 20)
SMALL = Limits(rows=3, seconds=1, memory_bytes=64 << 20, answer_bytes=1 << 20)


def test_the_command_says_what_it_refuses_and_how_it_is_meant(migrated_folder: Path, tmp_path: Path) -> None:
    run = CliRunner()
    dsn = f"chdb://{shutil.copytree(migrated_folder, tmp_path / 'db', symlinks=True)}"
    refused = run.invoke(app, ["query", "--db", dsn, "--sql", "CREATE VIEW v AS SELECT 1"])
    assert (refused.exit_code, "add --write" in refused.stderr) == (7, True)
    assert run.invoke(app, ["query", "--db", dsn, "--sql", "CREATE VIEW v AS SELECT 1", "--write"]).exit_code == 0
    assert run.invoke(app, ["query", "--db", dsn, "--sql", "DROP VIEW v", "--write"]).exit_code == 0
    assert run.invoke(app, ["query", "--db", dsn, "nodes", "--write"]).exit_code == 2


@pytest.mark.parametrize("statement", ["SELECT 1", "SELECT * FROM `/etc/hostname`"])
def test_a_process_that_also_writes_answers_no_sql_of_a_reader_s_own(database: Database, statement: str) -> None:
    """Its engine's user has every grant, also in a connection that only reads."""
    with connect(str(database), make=False, read_only=True) as reader:
        with pytest.raises(QueryFailed, match="also writes the database") as refusal:
            ask(reader, statement, {}, SMALL)
        assert refusal.value.forbidden
        assert run(reader, saved_query("nodes"), {}, SMALL).rows == []


def test_a_process_that_also_writes_answers_with_what_it_stored_since(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own engine's user has every grant; the child's has not."""
    monkeypatch.setattr("sql.questions.query_process.FRESH_SECONDS", 0.0)
    (database.folder / "holder.sock").touch()
    (database.folder / "journal").mkdir(exist_ok=True)
    with connect(str(database), make=False, read_only=True) as reader:
        process = QueryProcess(reader)
        try:
            assert process.ask("SELECT count() FROM nodes", {}, LIMITS).rows == [(0,)]
            store(database, row(NodeRow, node="n1", ready=True))
            assert process.ask("SELECT node FROM nodes", {}, LIMITS).rows == [("n1",)]
            with pytest.raises(QueryFailed, match="not allowed"):
                process.ask("SELECT * FROM file('/etc/hostname')", {}, LIMITS)
            (copied,) = database.folder.glob("asked-*/db")
            assert {each.name for each in copied.iterdir()} & {"journal", "holder.sock"} == set()
        finally:
            process.close()
            (database.folder / "holder.sock").unlink()
            (database.folder / "journal").rmdir()
    assert not list(database.folder.glob("asked-*"))
