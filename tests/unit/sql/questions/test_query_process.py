"""People's own SQL in a process of its own: what it may take, how it ends, and that it answers what was asked."""

import os
import resource
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.rows import row, store
from sql.database.errors import DatabaseError, QueryCancelled, QueryFailed
from sql.database.open import Database, Stop, connect
from sql.questions.limits import MIB, Limits
from sql.questions.query_process import QueryProcess
from streams.fold.findings import NodeRow
from waiting import PATIENCE_SECONDS, unhurried

LIMITS = Limits(rows=1000, seconds=5, memory_bytes=256 * MIB, answer_bytes=16 * MIB)
UNION = " UNION ALL ".join(["SELECT 1"] * 20)
HUGE = {
    "arrays": "SELECT range(1000000)::Array(UInt8) AS a FROM numbers(60)",
    "empty arrays": "SELECT arrayMap(x -> []::Array(UInt8), range(1000000)) AS a FROM numbers(8)",
    "blocks of text": f"SELECT repeat('x', 1000000) AS a FROM ({UNION})",
}
"""Within every limit that the engine knows, and gigabytes as Python's rows."""
SLOW = "SELECT count() FROM numbers(1000000000000) WHERE cityHash64(number) = 1"


@pytest.fixture(scope="module")
def folder(migrated_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("apart") / "db"
    shutil.copytree(migrated_folder, folder, symlinks=True)
    with connect(f"chdb://{folder}") as db:
        store(db, row(NodeRow, node="n1", ready=True))
    return folder


@pytest.fixture(scope="module")
def reader(folder: Path) -> Iterator[Database]:
    with connect(f"chdb://{folder}", make=False, read_only=True) as db:
        yield db


@pytest.fixture(scope="module")
def process(reader: Database) -> Iterator[QueryProcess]:
    made = QueryProcess(reader)
    yield made
    made.close()
    assert not list(reader.folder.glob("asked-*"))


def child_of(process: QueryProcess) -> int:
    assert process._child is not None
    return process._child._process.pid


@pytest.mark.parametrize("what", HUGE)
def test_an_answer_takes_no_memory_of_the_process_that_others_wait_for(process: QueryProcess, what: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(QueryFailed):
        process.ask(HUGE[what], {}, LIMITS)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024
    assert process.ask("SELECT node, {a:String} FROM nodes", {"a": "b"}, LIMITS).rows == [("n1", "b")]


def test_it_answers_a_process_that_has_a_thousand_files_open(process: QueryProcess) -> None:
    """The engine opens several a part; select() fails above 1,023."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4096), hard), hard))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    try:
        assert process.ask("SELECT 1", {}, LIMITS).rows == [(1,)]
    finally:
        for each in held:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_question_whose_reader_left_is_killed(reader: Database, process: QueryProcess) -> None:
    process.ask("SELECT 1", {}, LIMITS)
    killed = child_of(process)
    reader.stop = stop = Stop()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    try:
        with pytest.raises(QueryCancelled):
            process.ask(SLOW, {}, LIMITS._replace(seconds=600))
    finally:
        reader.stop = None
    assert time.monotonic() - began < unhurried(5)
    assert not Path(f"/proc/{killed}").exists()
    assert process.ask("SELECT 1", {}, LIMITS).rows == [(1,)]


def test_what_the_engine_does_not_end_by_itself_is_killed_at_its_limit(process: QueryProcess) -> None:
    """Between two blocks alone the engine looks at the clock: by itself it would take minutes."""
    block = "SELECT editDistance(materialize(repeat('a', 60000)), repeat('b', 60000)) FROM numbers(100)"
    process.ask("SELECT 1", {}, LIMITS)
    began = time.monotonic()
    with pytest.raises(QueryFailed, match="too long"):
        process.ask(block, {}, LIMITS._replace(seconds=1))
    assert time.monotonic() - began < unhurried(30)


def test_the_process_has_no_environment_and_writes_no_file(
    reader: Database, process: QueryProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEADSMAN_DB", "http://user:hunter2@host:8123/")
    process.close()
    process.ask("SELECT 1", {}, LIMITS)
    proc = Path(f"/proc/{child_of(process)}")
    assert b"hunter2" not in (proc / "environ").read_bytes()
    assert not (proc / "environ").read_bytes().strip(b"\0")
    limits = {line[:26].strip(): line[26:].split()[:2] for line in (proc / "limits").read_text().splitlines()}
    assert limits["Max file size"] == ["0", "0"]
    assert limits["Max core file size"] == ["0", "0"]
    assert int(limits["Max data size"][0]) < 4 << 30
    opened = [str(each.readlink()) for each in (proc / "fd").iterdir()]
    assert not [each for each in opened if each.startswith("socket:") or each == str(reader.folder / "status")]


def test_the_database_s_own_files_stay_as_they_are(reader: Database, process: QueryProcess) -> None:
    def files() -> dict[str, tuple[int, int]]:
        found = [each for each in (reader.folder / "store").rglob("*") if each.is_file()]
        return {str(each): (each.stat().st_mtime_ns, each.stat().st_size) for each in found}

    before = files()
    assert before
    process.close()
    process.ask("SELECT count() FROM nodes", {}, LIMITS)
    assert files() == before


def test_a_failed_question_is_not_answered_to_the_next(process: QueryProcess) -> None:
    """The embedded engine gave what it had made until then as the answer to the query after it."""
    for statement in (HUGE["blocks of text"], "SELECT 1 UNION ALL SELECT throwIf(1)", SLOW):
        with pytest.raises(QueryFailed):
            process.ask(statement, {}, LIMITS._replace(seconds=1))
        assert process.ask("SELECT 'mine'", {}, LIMITS).rows == [("mine",)]


def test_values_come_as_they_are(process: QueryProcess) -> None:
    sql = """SELECT 1, 1.5, 'x', NULL, true, [1, 2], map('a', [1]), toDateTime64('2026-11-21 04:19:00.5', 3, 'UTC'),
        toUInt256('100000000000000000000'), toUUID('00000000-0000-0000-0000-000000000001'), toDate('2026-11-21')"""
    (found,) = process.ask(sql, {}, LIMITS).rows
    assert found[:7] == (1, 1.5, "x", None, True, [1, 2], {"a": [1]})
    assert found[7].isoformat() == "2026-11-21T04:19:00.500000+00:00"
    assert found[8:] == ("100000000000000000000", "00000000-0000-0000-0000-000000000001", "2026-11-21")


def test_no_rows_have_their_columns(process: QueryProcess) -> None:
    assert process.ask("SELECT node, ready FROM nodes WHERE 0", {}, LIMITS).column_names == ("node", "ready")


def test_what_a_killed_process_left_is_removed(reader: Database, process: QueryProcess) -> None:
    left = reader.folder / "asked-left"
    (left / "db").mkdir(parents=True)
    process.close()
    process.ask("SELECT 1", {}, LIMITS)
    assert [each.name for each in reader.folder.glob("asked-*")] != ["asked-left"]
    assert not left.exists()


def test_a_process_that_dies_while_it_waits_is_begun_again(process: QueryProcess) -> None:
    process.ask("SELECT 1", {}, LIMITS)
    os.kill(child_of(process), signal.SIGKILL)
    assert process._child is not None
    process._child._process.wait(PATIENCE_SECONDS)
    assert process.ask("SELECT 1", {}, LIMITS).rows == [(1,)]


def test_a_folder_that_takes_no_second_one_says_what_to_do(reader: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(DatabaseError, match="hard links inside this one: Operation not permitted"):
        QueryProcess(reader).ask("SELECT 1", {}, LIMITS)
