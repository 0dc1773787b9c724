"""Commands beside the process that holds an embedded database: each answers as it does alone."""

import asyncio
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Final, NamedTuple

import pytest
from mcp import Client, StdioServerParameters

from components.command import dsn, in_a_process, leadsman, leadsman_process, succeeds
from components.processes import Process
from components.rows import row, store
from leadsman.run.beside import MOST_AT_ONCE, answering
from leadsman.run.silences import Silences
from sql.database.errors import DatabaseError, DatabaseHeld, QueryFailed
from sql.database.held import HOST, SOCKET, SocketDatabase, connect_to_read, connected, listening
from sql.database.open import connect
from streams.fold.findings import NodeRow
from waiting import PATIENCE_SECONDS, eventually

COMMANDS: Final = (
    ("query", "story", "-o", "json"),
    ("query", "next_eviction", "--node", "real-node-1", "--depth", "2"),
    ("query", "pod_ends", "--since", "24h"),
    ("query", "blind_spots"),
    ("fit", "--cpu", "500m", "--cluster", "late-joiners", "-o", "json"),
    ("digest",),
    ("silence", "list"),
    ("query", "--sql", "SELECT node, max(ts) AS last FROM node_samples GROUP BY node"),
    ("query", "--sql", "SELECT {node:String} AS n", "--node", "a\\b\t'c"),
)
SLOW: Final = "SELECT count() FROM numbers(1000000000000) WHERE cityHash64(number) = 1"
RUNNING: Final = (
    "SELECT count() FROM system.processes WHERE query LIKE '%cityHash64%' AND query NOT LIKE '%processes%'"
)
NOBODY: Final = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


@contextmanager
def _serving(db: Path, folder: Path) -> Iterator[Process]:
    serve = leadsman_process("serve", f"--db={dsn(db)}", "--port=0", folder=folder)
    before = serve.log.read_text().count("is at http") if serve.log.exists() else 0
    serve.start()
    try:
        serve.await_ready(lambda: serve.log.read_text().count("is at http") > before)
        yield serve
    finally:
        serve.stop()


@pytest.fixture(scope="module")
def demo(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(demo_folder, tmp_path_factory.mktemp("beside") / "db", symlinks=True))


class Served(NamedTuple):
    db: Path
    serve: Process


@pytest.fixture(scope="module")
def served(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Another copy, and the process that holds it; for tests that ask it and leave it as it is."""
    folder = tmp_path_factory.mktemp("served")
    db = Path(shutil.copytree(demo_folder, folder / "db", symlinks=True))
    with _serving(db, folder) as serve:
        yield Served(db, serve)


def _printed(*arguments: str, db: Path) -> tuple[str, str]:
    done = leadsman(*arguments, db=db)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def _report(db: Path, folder: Path) -> str:
    succeeds("report", "-o", folder / "report.html", db=db)
    return re.sub(r'<time datetime="[^"]+" data-form="timestamp">[^<]+', "", (folder / "report.html").read_text())


def test_every_command_that_reads_answers_as_it_does_alone(demo: Path, tmp_path: Path) -> None:
    alone = [_printed(*each, db=demo) for each in COMMANDS], _report(demo, tmp_path)
    with _serving(demo, tmp_path) as serve:
        assert ([_printed(*each, db=demo) for each in COMMANDS], _report(demo, tmp_path)) == alone
        asyncio.run(_an_assistant_is_answered(demo))
        for refused, status, reason in (
            (("query", "--sql", "DROP TABLE nodes", "--write"), 14, f"process {serve.pid} holds this database"),
            (("replay", "examples/late-joiners.jsonl.gz"), 14, "holds this database"),
            (("query", "--sql", "SELECT * FROM url('http://127.0.0.1:1/', CSV, 'a Int8')"), 7, "url is not allowed"),
            (("query", "--sql", "SELECT nod FROM nodes"), 7, "Did you mean node?"),
            (("query", "--sql", "SELECT '\udce4'"), 7, r"SELECT '\udce4' is not text in UTF-8"),
            (("silence", "add", "a=b", "--for", "1h", "--why", "x"), 5, "can only read. Stop it first"),
        ):
            done = leadsman(*refused, db=demo)
            assert (done.returncode, reason in done.stderr) == (status, True), done.stderr
        serve.terminate()
        assert serve.wait() == 0
    assert not (demo / SOCKET).exists()


async def _an_assistant_is_answered(db: Path) -> None:
    command = StdioServerParameters(command=sys.executable, args=["-m", "leadsman", "mcp", "--db", dsn(db)])
    async with Client(command, read_timeout_seconds=PATIENCE_SECONDS) as client:
        for tool, arguments in (("story", {}), ("sql", {"query": "SELECT count() FROM nodes"})):
            assert not (await client.call_tool(tool, arguments)).is_error


def test_the_socket_of_a_killed_holder_is_ignored(demo: Path, tmp_path: Path) -> None:
    with _serving(demo, tmp_path) as serve:
        os.kill(serve.pid, signal.SIGKILL)
        serve.wait()
    assert (demo / SOCKET).exists()
    assert "real-node-1" in succeeds("query", "nodes", db=demo)
    with connect(dsn(demo), make=False):  # a holder that answers nobody
        done = in_a_process("query", "nodes", db=demo)
        assert (done.returncode, "holds this database" in done.stderr) == (14, True)
    with _serving(demo, tmp_path):
        assert "real-node-1" in succeeds("query", "nodes", db=demo)


def test_many_commands_at_once_are_all_answered(served: Served) -> None:
    with ThreadPoolExecutor(2 * MOST_AT_ONCE) as commands:
        asked = [("query", "nodes"), ("query", "--sql", "SELECT count() FROM nodes")] * MOST_AT_ONCE
        found = list(commands.map(lambda each: in_a_process(*each, db=served.db), asked))
        assert {(each.returncode, each.stderr) for each in found} == {(0, "")}
        assert len({each.stdout for each in found}) == 2


def test_a_huge_answer_takes_no_memory_of_the_holder(demo: Path, tmp_path: Path) -> None:
    with _serving(demo, tmp_path) as serve, connect_to_read(dsn(demo)) as held:
        assert isinstance(held, SocketDatabase)
        held.query("SELECT 1")
        before = _peak_mib(serve.pid)
        sql = "SELECT number, repeat('x', 50) FROM numbers(10000000) FORMAT Native"
        answer = held._pool.request("POST", f"http://{HOST}/", body=sql, preload_content=False)
        assert sum(map(len, answer.stream(1 << 20))) > 500_000_000
        assert _peak_mib(serve.pid) - before < 150


def _peak_mib(pid: int) -> int:
    (line,) = (each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if each.startswith("VmHWM"))
    return int(line.split()[1]) >> 10


def test_an_answer_that_fails_midway_is_an_error(served: Served) -> None:
    with connect_to_read(dsn(served.db)) as held:
        for sql in ("SELECT throwIf(number = 3000000) FROM numbers(4000000)", "SELECT nothing"):
            with pytest.raises(DatabaseError):
                held.query(sql)
        with pytest.raises(QueryFailed) as refused:
            held.query("INSERT INTO nodes (node) VALUES ('n')")
        assert refused.value.forbidden


def test_a_query_ends_when_its_asker_leaves(served: Served) -> None:
    with connect_to_read(dsn(served.db)) as held:
        left = connected(served.db, PATIENCE_SECONDS)
        head = f"POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {len(SLOW)}\r\n\r\n"
        left.sendall(head.encode() + SLOW.encode())
        eventually("it runs", lambda: held.query(RUNNING).rows == [(1,)])
        left.close()
        eventually("it has ended", lambda: held.query(RUNNING).rows == [(0,)])


@pytest.mark.asyncio
async def test_a_process_that_writes_answers_with_what_it_has_stored(migrated_folder: Path, tmp_path: Path) -> None:
    """Holds a database like `leadsman up`."""
    deep = tmp_path / ("deeper than a socket's name can be" * 3) / "db"  # 108 bytes
    db = Path(shutil.copytree(migrated_folder, deep, symlinks=True))
    with connect(dsn(db)) as writer, connect(dsn(db), read_only=True) as reader:
        async with answering(reader, {"/silences": Silences(lambda: connect(dsn(db))).reply}):
            store(writer, row(NodeRow, node="n1", ready=True))
            for asked in (("nodes",), ("--sql", "SELECT node FROM nodes")):
                done = await asyncio.to_thread(in_a_process, "query", *asked, "-o", "json", db=db)
                assert '"n1"' in done.stdout, done.stderr
    assert not (db / SOCKET).exists()


def test_a_link_that_is_put_in_place_of_the_socket_gives_its_mode_to_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may hold the database of a folder whose owner is somebody else."""
    theirs = tmp_path / "theirs"
    theirs.touch(0o640)
    before, bind = theirs.stat().st_mode, socket.socket.bind

    def replaced(listener: socket.socket, address: str) -> None:
        bind(listener, address)
        assert stat.S_IMODE(Path(address).stat().st_mode) == 0o600
        Path(address).unlink()
        Path(address).symlink_to(theirs)

    monkeypatch.setattr(socket.socket, "bind", replaced)
    with listening(tmp_path):
        assert theirs.stat().st_mode == before


def test_the_socket_is_for_its_owner_alone(tmp_path: Path) -> None:
    with listening(tmp_path) as listener, connected(tmp_path, 1.0):
        assert stat.S_IMODE((tmp_path / SOCKET).stat().st_mode) == 0o600
        listener.accept()[0].close()


def test_who_finds_too_many_before_the_holder_waits_to_be_let_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = Event()
    monkeypatch.setattr("sql.database.held.sleep", lambda _: waits.set())
    with listening(tmp_path) as listener, ThreadPoolExecutor(1) as beside, ExitStack() as stack:
        with suppress(BlockingIOError):
            while True:
                stack.enter_context(connected(tmp_path, 0.0))
        last = beside.submit(connected, tmp_path, PATIENCE_SECONDS)
        assert waits.wait(PATIENCE_SECONDS)
        listener.accept()[0].close()
        last.result().close()


GARBAGE: Final = (
    b"POST /own HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc",
    b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n\xff\xfe",
    b"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 3\r\n\r\n--x",
    (
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/x-www-form-urlencoded; charset=no\r\n"
        b"Content-Length: 3\r\n\r\na=b"
    ),
)


def test_what_cannot_be_read_or_is_left_is_no_traceback_in_the_log(served: Served) -> None:
    for sent in GARBAGE:
        with connected(served.db, PATIENCE_SECONDS) as asker:
            asker.sendall(sent)
            assert asker.recv(100).split()[1] == b"400"
    sql = b"SELECT number, repeat('x', 500) FROM numbers(100000000) FORMAT Native"
    for _ in range(MOST_AT_ONCE):
        with connected(served.db, PATIENCE_SECONDS) as killed:
            killed.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s" % (len(sql), sql))
            killed.recv(100_000)
    with connect_to_read(dsn(served.db)) as held:
        running = "SELECT count() FROM system.processes WHERE query LIKE '%repeat%' AND query NOT LIKE '%processes%'"
        eventually("they have ended", lambda: held.query(running).rows == [(0,)])
    assert "Traceback" not in served.serve.log.read_text()


@pytest.mark.asyncio
async def test_a_fault_of_ours_is_not_taken_for_a_request_that_cannot_be_read(
    migrated_folder: Path, tmp_path: Path
) -> None:
    async def faulty(_: bytes) -> bytes:
        raise ValueError("ours")

    db = Path(shutil.copytree(migrated_folder, tmp_path / "db", symlinks=True))
    with connect(dsn(db), read_only=True) as reader:
        async with answering(reader, {"/faulty": faulty}):
            with connected(db, PATIENCE_SECONDS) as asker:
                asker.sendall(b"POST /faulty HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n")
                assert (await asyncio.to_thread(asker.recv, 100)).split()[1] == b"500"


@pytest.mark.asyncio
async def test_who_does_not_take_an_answer_is_dropped_and_the_next_is_answered(
    migrated_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leadsman.run.beside.TAKEN_SECONDS", 0.5)
    db = Path(shutil.copytree(migrated_folder, tmp_path / "db", symlinks=True))
    sql = b"SELECT number, repeat('x', 500) FROM numbers(100000000) FORMAT Native"
    with connect(dsn(db), read_only=True) as reader, ExitStack() as stack:
        async with answering(reader):
            for _ in range(MOST_AT_ONCE):
                slow = stack.enter_context(connected(db, PATIENCE_SECONDS))
                slow.sendall(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s" % (len(sql), sql))
            done = await asyncio.to_thread(in_a_process, "query", "nodes", db=db)
            assert done.returncode == 0, done.stderr


@as_root
def test_a_stranger_is_not_let_in_whatever_the_mode(demo: Path, tmp_path: Path) -> None:
    demo.chmod(0o755)
    with _serving(demo, tmp_path):
        assert _asked_by_a_stranger(demo) == "PermissionError"
        (demo / SOCKET).chmod(0o666)
        assert _asked_by_a_stranger(demo) == "403"
        assert "real-node-1" in succeeds("query", "nodes", db=demo)


def _asked_by_a_stranger(db: Path) -> str:
    asked = """
import os, socket, sys
os.chdir(sys.argv[1]); os.setgid(65534); os.setgroups([]); os.setuid(65534)
connection = socket.socket(socket.AF_UNIX)
try:
    connection.connect("holder.sock")
    connection.sendall(b"GET /ping HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n")
    print(connection.recv(100).split()[1].decode())
except OSError as error:
    print(type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", asked, db], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@as_root
def test_a_stranger_who_listens_there_is_asked_nothing(tmp_path: Path) -> None:
    """Another user's process could answer anything, where the folder is shared."""
    listener = socket.socket(socket.AF_UNIX)
    pid = os.fork()
    if not pid:
        os.chdir(tmp_path)
        tmp_path.chmod(0o777)
        os.setuid(NOBODY)
        listener.bind(SOCKET)
        listener.listen()
        signal.pause()
    try:
        eventually("it listens", (tmp_path / SOCKET).exists)
        eventually("it is asked", lambda: "another user" in _refusal(tmp_path))
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        listener.close()


def _refusal(folder: Path) -> str:
    try:
        connected(folder, 1.0).close()
    except OSError as error:
        return str(error)
    raise AssertionError("it was believed")


def test_a_holder_that_does_not_answer_is_named(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sql.database.held.FIRST_SECONDS", 0.5)
    os.kill(served.serve.pid, signal.SIGSTOP)
    try:
        with pytest.raises(DatabaseHeld, match=f"process {served.serve.pid} holds"):
            connect_to_read(dsn(served.db))
    finally:
        os.kill(served.serve.pid, signal.SIGCONT)
