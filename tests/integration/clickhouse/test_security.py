"""ClickHouse over TLS with a password: what is trusted, what is refused, and what is changed without a restart."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Final

import pytest

from components.clickhouse import ClickHouseHttp
from components.command import leadsman, succeeds
from components.kafka import Kafka
from components.pipeline import Pipeline, embedded_digest, examples
from components.processes import HOST, Process, free_port
from components.secured import Authority
from paths import SCENARIOS
from sql.database.dsn import parse_dsn
from sql.database.errors import BadDsn, DatabaseError, DatabaseUnreachable, QueryFailed
from sql.database.open import connect
from waiting import eventually

CAPTURE: Final = SCENARIOS / "evictions/capture.jsonl"
NODES: Final = SCENARIOS / "nodes/capture.jsonl"
FIRST, SECOND = "canary-first-6f2c", "canary-second-91ab"
NO_DATABASE: Final = 5


class Secured:
    """A server over TLS with a password, the files that its clients read, and its DSN, which has no secret in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.ca_file, self.password_file = folder / "ca.crt", folder / "password"
        self.authority = Authority(folder, "first")
        self.ca_file.write_text(self.authority.ca_file.read_text())
        self.password_file.write_text(f"{FIRST}\n")
        self._running: ClickHouseHttp | None = None

    def start(self, password: str = FIRST) -> None:
        """Start, or start anew with another password and whatever authority there is now."""
        self.stop()
        certificate = self.authority.issue("server")
        self._running = ClickHouseHttp(self._folder / "engine", password, self._port, certificate)
        self._running.__enter__()

    def stop(self) -> None:
        if self._running is not None:
            self._running.__exit__()
            self._running = None

    def dsn(self, database: str = "leadsman", ca_file: Path | None = None) -> str:
        files = f"ca_file={ca_file or self.ca_file}&password_file={self.password_file}"
        return f"https://default@{HOST}:{self._port}/{database}?{files}"

    def dsn_with(self, password: str, ca_file: Path | None = None) -> str:
        """The DSN with the password."""
        return f"https://default:{password}@{HOST}:{self._port}/leadsman?ca_file={ca_file or self.ca_file}"


@contextmanager
def secured(folder: Path) -> Iterator[Secured]:
    running = Secured(folder)
    running.start()
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A server that stays as it is."""
    with secured(tmp_path_factory.mktemp("steady")) as running:
        yield running


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A server that is changed."""
    with secured(tmp_path_factory.mktemp("secured")) as running:
        yield running


def is_discreet(error: pytest.ExceptionInfo[DatabaseError]) -> None:
    """A message of one line without a password."""
    text = str(error.value)
    assert "\n" not in text
    assert "canary" not in text


def test_rows_are_stored_and_asked_for_by_the_right_ca_and_password(steady: Secured) -> None:
    for dsn in (steady.dsn(), steady.dsn_with(FIRST)):
        assert "canary" not in succeeds("replay", NODES, db=dsn)
        assert "heartbeat" in succeeds("query", "nodes", db=dsn)


def test_a_server_that_another_ca_signed_gets_no_byte_of_a_request(tmp_path: Path) -> None:
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    with eavesdropping(*theirs.issue("server")) as (port, heard):
        for ca in (f"?ca_file={ours.ca_file}", ""):
            with pytest.raises(DatabaseUnreachable, match=r"its certificate is not trusted.*ca_file=PATH") as refusal:
                connect(f"https://default:{FIRST}@{HOST}:{port}/leadsman{ca}")
            is_discreet(refusal)
        assert heard == []
        connect_anyway = f"https://default:{FIRST}@{HOST}:{port}/leadsman?ca_file={theirs.ca_file}"
        with pytest.raises(DatabaseUnreachable):
            connect(connect_anyway)
        assert heard, "whoever is trusted is asked, or the above proves nothing"


def test_a_certificate_for_another_host_is_not_trusted(steady: Secured) -> None:
    with pytest.raises(DatabaseUnreachable, match="its certificate is not trusted") as refusal:
        connect(steady.dsn_with(FIRST).replace(HOST, "localhost"))
    is_discreet(refusal)


@pytest.mark.parametrize("command", [["query", "nodes"], ["replay", str(NODES)], ["migrate"]])
def test_a_command_with_a_wrong_password_ends_and_says_so(steady: Secured, command: list[str]) -> None:
    done = leadsman(*command, db=steady.dsn_with("canary-wrong"))
    assert done.returncode == NO_DATABASE
    assert "user 'default' or its password was refused" in done.stderr
    assert "canary" not in done.stderr + done.stdout
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_password_is_taken_from_its_file_for_each_request(server: Secured) -> None:
    with connect(server.dsn()) as db:
        server.start(SECOND)
        with pytest.raises(QueryFailed) as refusal:
            db.query("SELECT 1")
        is_discreet(refusal)
        server.password_file.write_text(SECOND)
        assert db.query("SELECT 1").rows == [(1,)]
        server.password_file.unlink()
        with pytest.raises(DatabaseUnreachable, match=r"password_file: .* cannot be read") as missing:
            db.query("SELECT 1")
        is_discreet(missing)
        server.password_file.write_text(SECOND)
        assert db.query("SELECT 1").rows == [(1,)]


def test_errors_hide_the_old_and_the_new_password(server: Secured) -> None:
    with connect(server.dsn()) as db:
        server.start(SECOND)
        server.password_file.write_text(SECOND)
        with pytest.raises(QueryFailed) as refusal:
            db.query(f"SELECT nonesuch -- {FIRST} {SECOND}")
    is_discreet(refusal)


def test_a_server_that_points_elsewhere_is_not_followed(tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text(FIRST)
    asked: list[str] = []
    with pointing_elsewhere(asked) as port, pytest.raises(DatabaseError) as refusal:
        connect(f"http://default@{HOST}:{port}/leadsman?password_file={password}")
    is_discreet(refusal)
    assert asked
    assert not [path for path in asked if path.startswith("/elsewhere")]


@pytest.mark.parametrize(
    ("dsn", "says"),
    [
        ("http://u@h/db?ca_file=/ca.crt", "an unknown option for http: ca_file"),
        ("chdb:///db?password_file=/p", "an unknown option for chdb: password_file"),
        ("https://u:canary@h/db?password_file=/p", "a password and password_file; one of them is enough"),
        ("https://u@h/db?password_file=/nonesuch", "password_file: /nonesuch cannot be read"),
        ("https://u@h/db?ca_file=/nonesuch", "ca_file: /nonesuch cannot be used"),
    ],
)
def test_what_would_not_be_used_or_cannot_be_is_refused_at_start(dsn: str, says: str) -> None:
    with pytest.raises(BadDsn, match=says) as refusal:
        connect(dsn)
    is_discreet(refusal)


def test_an_address_with_files_shows_neither_password_nor_files(tmp_path: Path) -> None:
    (tmp_path / "p").write_text(FIRST)
    target = parse_dsn(f"https://u@h/db?password_file={tmp_path / 'p'}")
    assert str(target) == "https://h:8443/db"
    assert FIRST not in repr(target)


@pytest.mark.components("kafka")
def test_landing_goes_on_after_ca_and_password_were_changed_under_it(
    kafka: Kafka, server: Secured, tmp_path: Path
) -> None:
    live = Pipeline(kafka, server.dsn("live"), tmp_path)
    worker, lander = live.part("work", "0"), live.part("land", "0")
    try:
        worker.start()
        lander.start()
        live.replay(examples([NODES]))
        live.settle()
        before = lander.pid
        server.authority = Authority(tmp_path, "second")
        server.start(SECOND)
        live.replay(examples([CAPTURE]))
        refused_for(lander, "certificate verify failed")
        server.ca_file.write_text(server.authority.ca_file.read_text())
        refused_for(lander, "Authentication failed")
        server.password_file.write_text(SECOND)
        live.settle()
        assert lander.pid == before
        for part in (worker, lander):
            assert "canary" not in seen_by_others(part)
            assert "canary" not in part.log.read_text()
            assert "Traceback" not in part.log.read_text()
    finally:
        live.stop()
    assert live.digest() == embedded_digest(examples([NODES, CAPTURE]), server.dsn("embedded"))


@pytest.mark.components("kafka")
def test_a_refused_part_ends_with_the_reason(kafka: Kafka, steady: Secured) -> None:
    for dsn, says in (
        (steady.dsn_with("canary-wrong"), "its password was refused"),
        (steady.dsn(ca_file=Authority(steady.ca_file.parent, "other").ca_file), "its certificate is not trusted"),
    ):
        done = leadsman("land", f"--kafka={kafka.bootstrap_servers}", db=dsn)
        assert done.returncode == NO_DATABASE
        assert says in done.stderr
        assert "canary" not in done.stderr + done.stdout


def refused_for(part: Process, reason: str) -> None:
    eventually(f"the log of {part.name} says {reason}", lambda: reason in part.log.read_text())


def seen_by_others(part: Process) -> str:
    """Return a process's command line, as `ps` shows it, and its environment."""
    shown = subprocess.run(["ps", "-ww", "-f", "-p", str(part.pid)], check=True, capture_output=True, text=True)  # noqa: S607
    return shown.stdout + Path(f"/proc/{part.pid}/environ").read_text()


@contextmanager
def eavesdropping(certificate: Path, key: Path) -> Iterator[tuple[int, list[bytes]]]:
    """A TLS server that keeps what it is told after the handshake, and answers nothing."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    heard: list[bytes] = []
    with socket.create_server((HOST, 0)) as listening:

        def listen() -> None:
            while True:
                try:
                    accepted, _ = listening.accept()
                except OSError:
                    return  # the test has ended
                with accepted:
                    try:
                        with context.wrap_socket(accepted, server_side=True) as trusted:
                            if reported := trusted.recv(65536):
                                heard.append(reported)
                    except OSError:
                        continue

        thread = threading.Thread(target=listen)
        thread.start()
        try:
            yield listening.getsockname()[1], heard
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


@contextmanager
def pointing_elsewhere(asked: list[str]) -> Iterator[int]:
    """A server that answers every request with a redirect to another host name of itself."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            self.send_response(307)
            self.send_header("Location", f"http://localhost:{port}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_POST  # noqa: N815  # the base class's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is the base class's
            """Quiet."""

    with HTTPServer((HOST, 0), Handler) as listening:
        port = listening.server_address[1]
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield port
        finally:
            listening.shutdown()
            thread.join()
