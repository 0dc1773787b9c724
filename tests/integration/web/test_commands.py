"""`report` and `serve` as a user types them."""

import signal
import socket
from pathlib import Path
from typing import Final

import pytest

from components.clickhouse import ClickHouseHttp
from components.command import leadsman, start, succeeds
from components.processes import free_port
from components.rows import T0, row, store
from leadsman.web.reading.scope import RequestedRange
from leadsman.web.rendering.report import write_report
from sql.database.errors import DatabaseError, QueryFailed
from sql.database.open import connect
from sql.schema.migrate import migrate
from streams.fold.findings import NodeRow
from waiting import PATIENCE_SECONDS

USAGE: Final = 2
NO_SOURCE: Final = 4
NO_DATABASE: Final = 5
SCHEMA: Final = 6


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with one node."""
    folder = tmp_path_factory.mktemp("page") / "db"
    with connect(f"chdb://{folder}") as database:
        migrate(database)
        store(database, row(NodeRow, node="node-1", ready=True))
    return folder


def test_a_report_is_written_where_it_is_asked(db: Path, tmp_path: Path) -> None:
    file = tmp_path / "incident.html"
    assert succeeds("report", "--output", file, db=db).strip() == f"{file}: 0.1 MB"
    assert "node-1" in file.read_text("utf-8")


def test_a_report_of_a_range_that_cannot_be_is_wrong_usage(db: Path, tmp_path: Path) -> None:
    done = leadsman("report", "-o", tmp_path / "r.html", "--since", "yesterday", db=db)
    assert (done.returncode, "write 2026-11-21T04:19, " in done.stderr) == (USAGE, True)
    assert not (tmp_path / "r.html").exists()


def test_a_report_that_cannot_be_written_is_reported(db: Path, tmp_path: Path) -> None:
    done = leadsman("report", "-o", tmp_path / "none" / "r.html", db=db)
    assert (done.returncode, "No such file or directory" in done.stderr) == (NO_SOURCE, True)


def test_a_report_of_no_database_says_what_makes_one(tmp_path: Path) -> None:
    done = leadsman("report", "-o", tmp_path / "r.html", db=tmp_path / "none")
    assert (done.returncode, "leadsman replay PATH" in done.stderr) == (NO_DATABASE, True)


def test_a_report_of_an_empty_database_is_a_page_that_says_so(tmp_path: Path) -> None:
    with connect(f"chdb://{tmp_path / 'db'}") as database:
        migrate(database)
    succeeds("report", "-o", tmp_path / "r.html", db=tmp_path / "db")
    assert "Nothing observed yet" in (tmp_path / "r.html").read_text("utf-8")


def test_a_report_of_an_older_database_is_refused(db: Path, tmp_path: Path) -> None:
    older = tmp_path / "db"
    with connect(f"chdb://{older}") as database:
        migrate(database)
        database.command("TRUNCATE TABLE schema_migrations")
    done = leadsman("report", "-o", tmp_path / "r.html", db=older)
    assert (done.returncode, "Run leadsman migrate" in done.stderr) == (SCHEMA, True)
    assert db.exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])  # noqa: S104 - to be refused
def test_the_page_is_not_opened_to_others_without_a_token(db: Path, host: str) -> None:
    done = leadsman("serve", "--host", host, db=db)
    assert (done.returncode, "--token-file" in done.stderr) == (USAGE, True)


def test_a_port_that_is_taken_is_reported(db: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = leadsman("serve", "--port", taken.getsockname()[1], db=db)
    assert (done.returncode, "cannot be listened on" in done.stderr) == (13, True)


@pytest.mark.parametrize("reported", [signal.SIGINT, signal.SIGTERM])
def test_the_page_ends_when_it_is_asked(db: Path, reported: signal.Signals) -> None:
    with start("serve", "--port", free_port(), db=db) as process:
        try:
            assert process.stderr is not None
            assert "the page is at http://127.0.0.1:" in process.stderr.readline()
            process.send_signal(reported)
            assert process.wait(timeout=PATIENCE_SECONDS) == 0
        finally:
            process.kill()


def test_a_server_is_read_as_well_and_takes_no_write(tmp_path: Path) -> None:
    with ClickHouseHttp(tmp_path / "server") as http:
        dsn = http.dsn("page")
        with connect(dsn) as database:
            migrate(database)
            store(database, row(NodeRow, node="node-1", ready=True))
        with connect(dsn, make=False, read_only=True) as database:
            assert "node-1" in write_report(database, RequestedRange(), T0)
            with pytest.raises(QueryFailed, match="readonly"):
                database.command("TRUNCATE TABLE nodes")
        with pytest.raises(DatabaseError, match="no such database"):
            connect(http.dsn("none"), make=False, read_only=True)
