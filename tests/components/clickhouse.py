"""The real engine (chDB) behind ClickHouse's HTTP protocol: a small server process for tests.

There is no server binary to be had here. clickhouse-connect's HTTP client runs unchanged against this, several
processes share one database, and faults can be injected: `PUT /fault` with one of FAULTS as its body, for the next
statement that changes something (with `?table=`: that inserts into it), or of REFUSALS, for all until an empty body.
Run as `python -m components.clickhouse FOLDER PASSWORD [PORT CERTIFICATE KEY]`, with TLS where it has a certificate;
prints its port when ready.
"""

import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final, NamedTuple, Self
from urllib.parse import parse_qsl, urlsplit

import chdb
from backports import zstd

from components import native
from components.processes import ends_with_parent
from paths import IMPORTS
from waiting import PATIENCE_SECONDS, NotReady

FAULTS: Final = frozenset({"drop_before", "drop_after", "error", "hang"})
"""Connection closed before or after the statement has run; answer 500 without running it; no answer for a minute."""
REFUSALS: Final = {
    "full": "Code: 243. DB::Exception: Cannot reserve 1.00 MiB, not enough space. (NOT_ENOUGH_SPACE)",
    "slow": "Code: 159. DB::Exception: Timeout exceeded: elapsed 30001 ms, maximum: 30000 ms. (TIMEOUT_EXCEEDED)",
    "small": "Code: 241. DB::Exception: (total) memory limit exceeded: would use 9.00 GiB. (MEMORY_LIMIT_EXCEEDED)",
    "read_only": "Code: 242. DB::Exception: Table is in readonly mode. (TABLE_IS_READ_ONLY)",
    "senseless": "<html>502 Bad Gateway</html>",
}
"""Answers of a server in trouble to statements that change something, without running them; the numbers are
ClickHouse's.
"""
TRANSPORT: Final = frozenset(
    {
        "buffer_size",
        "client_protocol_version",
        "compress",
        "database",
        "decompress",
        "default_format",
        "enable_http_compression",
        "http_headers_progress_interval_ms",
        "password",
        "query",
        "query_id",
        "quota_key",
        "role",
        "send_progress_in_http_headers",
        "session_check",
        "session_id",
        "session_timeout",
        "user",
        "wait_end_of_query",
    }
)
_FORMAT: Final = re.compile(rb"\bFORMAT\s+(\w+)\s*;?\s*$", re.IGNORECASE)
_INSERT: Final = re.compile(rb"\s*INSERT\s+INTO\b", re.IGNORECASE)
_CHANGES: Final = re.compile(rb"\s*(INSERT|CREATE|ALTER|DROP|OPTIMIZE)\b", re.IGNORECASE)
_TOKENS: Final = re.compile(
    rb"'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|\"(?:[^\"\\]|\\.)*\"|--[^\n]*|/\*.*?\*/|;", re.DOTALL
)
_CODE: Final = re.compile(r"Code: (\d+)")


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


class Engine:
    """One chDB engine; each request gets a handle of its own, so that its settings die with it."""

    def __init__(self, folder: Path) -> None:
        self._path = str(folder.resolve())
        self._keeper = chdb.connect(self._path)
        self.lock = threading.Lock()

    def answer(self, query: Mapping[str, str], body: bytes) -> Answer:
        with self.lock:
            handle = chdb.connect(self._path)
            try:
                return self._run(handle, query, body)
            except RuntimeError as error:
                return _refusal(str(error))
            finally:
                handle.close()

    def _run(self, handle: Any, query: Mapping[str, str], body: bytes) -> Answer:
        handle.query(f"USE `{query.get('database', 'default')}`")
        settings = [each for each in query.items() if each[0] not in TRANSPORT and not each[0].startswith("param_")]
        if settings:
            handle.query("SET " + ", ".join(f"{name} = {_quoted(value)}" for name, value in settings))
        statement, data = _split(query.get("query", "").encode(), body)
        if _several(statement):
            return _refusal("Code: 62. DB::Exception: Multi-statements are not allowed. (SYNTAX_ERROR)")
        if data is not None:
            return _insert(handle, statement, data)
        parameters = {name[6:]: value for name, value in query.items() if name.startswith("param_")}
        default = query.get("default_format", "TabSeparated")
        found = _FORMAT.search(statement)
        if not found and default == "Native" and int(query.get("client_protocol_version", 0)) >= native.FLAGGED:
            answer = _success(handle.query(statement.decode(), "JSONCompact", params=parameters), default)
            return answer._replace(body=answer.body and native.block(answer.body))
        result = handle.query(statement.decode(), default, params=parameters)
        return _success(result, found.group(1).decode() if found else default)


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _split(query: bytes, body: bytes) -> tuple[bytes, bytes | None]:
    """The statement, and the rows that an INSERT brings."""
    if query:
        return (query, body) if body and _INSERT.match(query) else (query + b"\n" + body, None)
    line, newline, data = body.partition(b"\n")
    return (line, data) if newline and _INSERT.match(line) and _FORMAT.search(line) else (body, None)


def _concerns(statement: bytes, table: bytes) -> bool:
    return not table or (bool(_INSERT.match(statement)) and bool(re.search(rb"\b" + table + rb"\b", statement[:200])))


def _several(statement: bytes) -> bool:
    ends = [token for token in _TOKENS.finditer(statement) if token.group() == b";"]
    return bool(ends) and bool(statement[ends[0].end() :].strip())


def _insert(handle: Any, statement: bytes, data: bytes) -> Answer:
    with tempfile.NamedTemporaryFile(suffix=".insert") as rows:
        rows.write(data)
        rows.flush()
        kind = _FORMAT.search(statement)
        head, tail = (statement[: kind.start()], kind.group().strip().decode()) if kind else (statement, "")
        result = handle.query(f"{head.decode()} FROM INFILE '{rows.name}' {tail}")
        return _success(result, "", written=True)


def _success(result: Any, kind: str, *, written: bool = False) -> Answer:
    prefix = "written" if written else "read"
    summary = {f"{prefix}_rows": str(result.rows_read()), f"{prefix}_bytes": str(result.bytes_read())}
    headers = {"X-ClickHouse-Timezone": "UTC", "X-ClickHouse-Summary": json.dumps(summary)}
    body = result.bytes() or b""
    return Answer(HTTPStatus.OK, headers | ({"X-ClickHouse-Format": kind} if body else {}), body)


def _refusal(text: str) -> Answer:
    code = _CODE.search(text)
    headers = {"X-ClickHouse-Exception-Code": code.group(1)} if code else {}
    return Answer(HTTPStatus.INTERNAL_SERVER_ERROR, headers, text.encode())


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    """Head and body are two writes, the second of which would wait 40 ms for the client to acknowledge the first."""
    engine: Engine
    password: str
    fault = ""
    table = b""
    """Empty if any statement meets the fault that changes something."""

    def do_GET(self) -> None:
        if self.path == "/ping":
            self._send(Answer(HTTPStatus.OK, {}, b"Ok.\n"))
        else:
            self.do_POST()

    def do_PUT(self) -> None:
        Handler.table = dict(parse_qsl(urlsplit(self.path).query)).get("table", "").encode()
        Handler.fault = self._body().decode()
        self._send(Answer(HTTPStatus.OK, {}, b""))

    def do_POST(self) -> None:
        query = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        body = self._body()
        if self.password and self._given_password() != self.password:
            self._send(_refusal("Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)"))
            return
        fault = self._take_fault(query, body)
        if fault == "hang":
            time.sleep(60)  # the fault itself
        if fault in {"hang", "drop_before"}:
            self.close_connection = True
        elif fault == "error":
            self._send(_refusal("Code: 210. DB::Exception: Injected. (NETWORK_ERROR)"))
        elif fault in REFUSALS:
            self._send(_refusal(REFUSALS[fault]))
        else:
            answer = self.engine.answer(query, body)
            if fault == "drop_after":
                self.close_connection = True
            else:
                self._send(answer)

    def _take_fault(self, query: Mapping[str, str], body: bytes) -> str:
        statement = query.get("query", "").encode() or body
        if not Handler.fault or not _CHANGES.match(statement) or not _concerns(statement, Handler.table):
            return ""
        fault = Handler.fault
        if fault not in REFUSALS:
            Handler.fault = ""
        return fault

    def _given_password(self) -> str:
        basic = self.headers.get("Authorization", "").removeprefix("Basic ")
        return b64decode(basic).decode().partition(":")[2]

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            body = b"".join(self._chunks())
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        encoding = self.headers.get("Content-Encoding", "")
        if encoding == "zstd":
            return zstd.decompress(body)
        if encoding == "lz4":
            import lz4.frame  # type: ignore[import-untyped]  # noqa: PLC0415 - the client alone asks for it

            return bytes(lz4.frame.decompress(body))
        return body

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Quiet."""


class ClickHouseHttp:
    """The server as a test's own process. `with ClickHouseHttp(folder) as server: connect(server.dsn())`."""

    def __init__(
        self, folder: Path, password: str = "", port: int = 0, certificate: tuple[Path, Path] | None = None
    ) -> None:
        """If `certificate` and its key are given it uses TLS; port 0 is a free one."""
        self._folder = folder
        self._password = password
        self._process: subprocess.Popen[str] | None = None
        self._certificate = certificate or ()
        self.port = port

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [
                *ends_with_parent(),
                sys.executable,
                "-m",
                __name__,
                str(self._folder),
                self._password,
                str(self.port),
                *map(str, self._certificate),
            ],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": IMPORTS},
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.__exit__()
            raise NotReady(f"the HTTP engine over {self._folder} did not start")
        self.port = int(line)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def dsn(self, database: str = "leadsman") -> str:
        user = f"default:{self._password}@" if self._password else ""
        return f"http://{user}127.0.0.1:{self.port}/{database}"

    def drop(self, *databases: str) -> None:
        """Remove databases: their tables take time of the processor although nobody asks them."""
        for database in databases:
            address = f"{self.dsn('')}?query=DROP+DATABASE+IF+EXISTS+`{database}`+SYNC"
            urllib.request.urlopen(address, b"", timeout=PATIENCE_SECONDS).close()  # noqa: S310 - loopback

    def inject(self, fault: str, table: str = "") -> None:
        """The next statement that changes something, or inserts into `table`, meets this fault.

        One of REFUSALS is met by all statements until `heal`.
        """
        assert fault in FAULTS or fault in REFUSALS
        self._put(fault, table)

    def heal(self) -> None:
        """No statement meets a fault from now on."""
        self._put("")

    def _put(self, fault: str, table: str = "") -> None:
        address = f"http://127.0.0.1:{self.port}/fault?table={table}"
        request = urllib.request.Request(address, fault.encode(), method="PUT")
        urllib.request.urlopen(request, timeout=PATIENCE_SECONDS).close()  # noqa: S310 - loopback


@contextmanager
def serving(folder: Path, password: str, port: str = "0", *certificate: str) -> Iterator[ThreadingHTTPServer]:
    Handler.engine = Engine(folder)
    Handler.password = password
    with ThreadingHTTPServer(("127.0.0.1", int(port)), Handler) as server:
        server.daemon_threads = True
        if certificate:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(*certificate)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        yield server


if __name__ == "__main__":
    with serving(Path(sys.argv[1]), *sys.argv[2:]) as listening:
        print(listening.server_address[1], flush=True)  # noqa: T201 - how the port is told
        listening.serve_forever()
