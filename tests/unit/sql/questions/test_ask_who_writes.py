"""A reader's own SQL where the process may also write."""

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from leadsman.cli.main import app
from sql.database.errors import QueryFailed
from sql.database.open import Database, connect
from sql.questions.ask import ask
from sql.questions.limits import Limits
from sql.questions.queries import run, saved_query

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
