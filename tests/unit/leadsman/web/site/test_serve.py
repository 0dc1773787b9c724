"""The site: what it answers, to whom, with which headers, and that it writes nothing."""

import base64
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import quote

import aiohttp
import pytest
import pytest_asyncio
from aiohttp.test_utils import TestClient, TestServer
from click.testing import CliRunner

from components.rows import T0, row, store
from leadsman.cli.main import app
from leadsman.web.site.serve import HEADERS, Site
from sql.database.errors import QueryFailed
from sql.database.open import Database, connect
from sql.questions.digest import digest
from streams.fold.findings import EvictionSignal, NodeRow

TOKEN = "0123456789abcdef0123"  # noqa: S105 - of these tests only
NODE = "node <b>&1"
Client = TestClient[aiohttp.web.Request, aiohttp.web.Application]


def filled(db: Database) -> None:
    store(
        db,
        row(NodeRow, node=NODE, ready=True),
        row(EvictionSignal, node=NODE, signal="memory.available", available=5, capacity=10, hard_threshold=1),
    )


@pytest.fixture(scope="module")
def folder(migrated_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a filled database, which no test opens to write."""
    folder = tmp_path_factory.mktemp("filled") / "db"
    shutil.copytree(migrated_folder, folder, symlinks=True)
    with connect(f"chdb://{folder}") as db:
        filled(db)
    return folder


@pytest.fixture
def read_only(folder: Path) -> Iterator[Database]:
    with connect(f"chdb://{folder}", make=False, read_only=True) as db:
        yield db


async def client_of(db: Database, token: str = "") -> Client:
    client = TestClient(TestServer(Site(db, token, guard_host=True).application()))
    await client.start_server()
    return client


@pytest_asyncio.fixture
async def client(read_only: Database) -> AsyncIterator[Client]:
    made = await client_of(read_only)
    yield made
    await made.close()


@pytest_asyncio.fixture
async def guarded(read_only: Database) -> AsyncIterator[Client]:
    made = await client_of(read_only, TOKEN)
    yield made
    await made.close()


PATHS = ("/", "/node?node=" + quote(NODE), "/static/page.css", "/static/page.js", "/healthz", "/none", "/?since=x")


@pytest.mark.asyncio
@pytest.mark.parametrize("path", PATHS)
async def test_every_answer_has_the_headers(client: Client, path: str) -> None:
    answer = await client.get(path)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value, (path, name)


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere() -> None:
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy.pop("default-src") == "'none'"
    assert set(policy.values()) <= {"'self'", "'none'"}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/", 200, "node &lt;b&gt;&amp;1"),
        ("/?cluster=c&q=%3Cscript%3E&show=attention", 200, "&lt;script&gt;"),
        ("/node?node=" + quote(NODE), 200, "<title>node &lt;b&gt;&amp;1"),
        ("/node?node=%3Cimg%3E", 404, "has no node &#39;&lt;img&gt;&#39;"),
        ("/node", 404, "has no node"),
        ("/none", 404, "There is no such page"),
        ("/static/README.md", 404, "There is no such page"),
        ("/static/..%2frender.py", 404, "There is no such page"),
        ("/?cluster=other", 400, "There are: c"),
        ("/?since=%3Cb%3E", 400, "since cannot be &#39;&lt;b&gt;&#39;"),
        ("/?kind=none", 400, "kind cannot be"),
        ("/?q=" + "x" * 501, 400, "longer than 500"),
        ("/healthz", 200, "ok"),
    ],
)
async def test_an_address_gets_its_answer(client: Client, path: str, status: int, says: str) -> None:
    answer = await client.get(path)
    assert (answer.status, says in await answer.text()) == (status, True)


@pytest.mark.asyncio
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"])
async def test_only_reading_is_answered(client: Client, method: str) -> None:
    answer = await client.request(method, "/")
    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.asyncio
async def test_head_is_answered_without_a_body(client: Client) -> None:
    answer = await client.head("/")
    assert (answer.status, await answer.read()) == (200, b"")


@pytest.mark.asyncio
async def test_links_carry_cluster_range_and_node(client: Client) -> None:
    text = await (await client.get("/?last=6h")).text()
    assert '<a href="/node?cluster=c&amp;last=6h&amp;node=node+%3Cb%3E%261">' in text


@pytest.mark.asyncio
async def test_a_name_that_someone_pointed_here_is_refused(client: Client) -> None:
    answer = await client.get("/", headers={"Host": "evil.example"})
    assert answer.status == 421


@pytest.mark.asyncio
async def test_without_the_token_nothing_is_told(guarded: Client) -> None:
    for path in PATHS:
        if path != "/healthz":
            answer = await guarded.get(path)
            assert (answer.status, answer.headers["WWW-Authenticate"][:5]) == (401, "Basic")
            assert "node" not in await answer.text()
    wrong = await guarded.get("/", headers={"Authorization": f"Bearer {TOKEN}x"})
    assert wrong.status == 401


@pytest.mark.asyncio
async def test_the_token_opens_the_page_under_any_name(guarded: Client) -> None:
    basic = "Basic " + base64.b64encode(f"me:{TOKEN}".encode()).decode()
    for header in (f"Bearer {TOKEN}", basic):
        answer = await guarded.get("/", headers={"Authorization": header, "Host": "leadsman.example"})
        assert answer.status == 200


@pytest.mark.asyncio
async def test_health_tells_nothing_and_needs_no_token(guarded: Client) -> None:
    answer = await guarded.get("/healthz")
    assert (answer.status, await answer.text()) == (200, "ok\n")


@pytest.mark.asyncio
async def test_an_empty_database_gets_a_page_that_says_so(database: Database) -> None:
    client = await client_of(database)
    for path in ("/", "/node?node=n"):
        answer = await client.get(path)
        assert (answer.status, "Nothing observed yet" in await answer.text()) == (200, True)
    await client.close()


def test_a_database_that_is_opened_to_read_takes_no_write(read_only: Database) -> None:
    before = digest(read_only)
    for statement in ("INSERT INTO nodes (cluster) VALUES ('x')", "DROP TABLE nodes", "SET readonly = 0"):
        with pytest.raises(QueryFailed, match=r"READONLY|ACCESS_DENIED"):
            read_only.command(statement)
    assert digest(read_only) == before
    assert [each.rows for each in before if each.table == "nodes"] == [1]
    assert T0.year == 2026


def test_a_report_and_a_database_are_their_owner_s_alone(folder: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        done = CliRunner().invoke(app, ["report", "--db", f"chdb://{folder}", "-o", str(tmp_path / "report.html")])
        connect(f"chdb://{tmp_path}/deep/db").close()
    finally:
        os.umask(before)
    assert done.exit_code == 0
    assert (tmp_path / "report.html").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "deep" / "db").stat().st_mode & 0o777 == 0o700
