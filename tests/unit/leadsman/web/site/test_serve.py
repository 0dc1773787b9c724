"""The site: what it answers, to whom, with which headers, and that it writes nothing."""

import asyncio
import base64
import os
import re
import shutil
import threading
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import aiohttp
import pytest
import pytest_asyncio
from aiohttp.test_utils import TestClient, TestServer
from click.testing import CliRunner

from common.clock import SYSTEM
from components.rows import T0, row, store, store_samples, summary
from leadsman.cli.main import app
from leadsman.web.site.access import FREE_GUESSES
from leadsman.web.site.answers import HEADERS
from leadsman.web.site.serve import MOST_QUESTIONS, Site
from sql.database.errors import DatabaseUnreachable, QueryFailed
from sql.database.open import Database, Result, connect
from sql.questions.digest import digest
from sql.questions.query_process import QueryProcess
from streams.fold.findings import EvictionSignal, NodeRow
from waiting import PATIENCE_SECONDS

TOKEN = "0123456789abcdef0123"  # noqa: S105 - of these tests only
NODE = "node <b>&1"
ROOM = f'leadsman_eviction_room{{cluster="c",node="{NODE}",signal="memory.available",threshold="hard"}} 4.0'
Client = TestClient[aiohttp.web.Request, aiohttp.web.Application]


def filled(db: Database) -> None:
    store(
        db,
        row(NodeRow, node=NODE, ready=True),
        row(EvictionSignal, node=NODE, signal="memory.available", available=5, capacity=10, hard_threshold=1),
    )


@pytest.fixture(scope="module")
def folder(migrated_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a filled database, which no test opens to write."""
    folder = tmp_path_factory.mktemp("filled") / "db"
    shutil.copytree(migrated_folder, folder, symlinks=True)
    with connect(f"chdb://{folder}") as db:
        filled(db)
    return folder


@pytest.fixture
def read_only(folder: Path) -> Iterator[Database]:
    with connect(f"chdb://{folder}", make=False, read_only=True) as db:
        yield db


async def client_of(db: Database, token: str = "", **headers: str) -> Client:
    client = TestClient(TestServer(Site(db, token, guard_host=True).application()), headers=headers)
    await client.start_server()
    return client


@pytest_asyncio.fixture
async def client(read_only: Database) -> AsyncIterator[Client]:
    made = await client_of(read_only, **{"Sec-Fetch-Site": "none"})
    yield made
    await made.close()


@pytest_asyncio.fixture
async def guarded(read_only: Database) -> AsyncIterator[Client]:
    made = await client_of(read_only, TOKEN)
    yield made
    await made.close()


PATHS = (
    "/",
    "/node?node=" + quote(NODE),
    "/ask",
    "/ask?name=nodes",
    "/ask?name=nodes&format=csv",
    "/runbooks/",
    "/runbooks/PodsEvicted",
    "/static/page.css",
    "/static/page.js",
    "/healthz",
    "/readyz",
    "/metrics",
    "/none",
    "/?since=x",
)


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere() -> None:
    policy = dict(part.strip().split(" ", 1) for part in HEADERS["Content-Security-Policy"].split(";"))
    assert policy.pop("default-src") == "'none'"
    assert set(policy.values()) <= {"'self'", "'none'"}


ANSWERS = (
    ("/", 200, "node &lt;b&gt;&amp;1"),
    ("/?cluster=c&q=%3Cscript%3E&show=attention", 200, "&lt;script&gt;"),
    ("/node?node=" + quote(NODE), 200, ") node &lt;b&gt;&amp;1 "),
    ("/node?node=%3Cimg%3E", 404, "has no node &#39;&lt;img&gt;&#39;"),
    ("/node", 404, "names no node"),
    ("/none", 404, "There is no such page"),
    ("/static/README.md", 404, "There is no such page"),
    ("/static/..%2frender.py", 404, "There is no such page"),
    ("/?cluster=other", 400, "There are: c"),
    ("/?cluster=other", 400, ">There is no cluster &#39;other&#39;"),
    ("/?since=%3Cb%3E", 400, ">Since cannot be &#39;&lt;b&gt;&#39;"),
    ("/?kind=none", 400, "Kind cannot be"),
    ("/?severity=bad", 400, "Severity cannot be"),
    ("/?q=" + "x" * 501, 400, "longer than 500"),
    ("/healthz", 200, '"alive": true'),
    ("/runbooks/", 200, "The kubelet evicted running pods"),
    ("/runbooks/", 200, 'aria-current="page">Runbooks<'),
    ("/runbooks/PodsEvicted", 200, '<a href="/ask?cluster=c&amp;name=evicted_pods&amp;p.cluster=c">'),
    ("/runbooks/PodsEvicted.md?node=" + quote(NODE), 200, "node &lt;b&gt;&amp;1"),
    ("/runbooks", 200, "The kubelet evicted running pods"),
    ("/Runbooks/podsevicted/?cluster=c", 200, '<a href="/ask?cluster=c&amp;name=evicted_pods&amp;p.cluster=c">'),
    ("/runbooks/PodEvicted", 404, '<a href="/runbooks/PodsEvicted">'),
    ("/NUMA/", 200, "NUMA"),
    ("/node/" + quote(NODE) + "/?cluster=c", 200, ") node &lt;b&gt;&amp;1 "),
    ("/node/" + quote(NODE) + "?cluster=c&x=%0D%0AX:%201%26cluster=d", 200, ") node &lt;b&gt;&amp;1 "),
    ("/node/%FF?x=%FF", 404, "has no node"),
    ("/nodes/%3Cimg%3E", 404, "has no node &#39;&lt;img&gt;&#39;"),
    ("/runbooks//node.example/", 404, "There is no"),
    ("/runbooks/%3Cimg%3E", 404, "no runbook of an alert &#39;&lt;img&gt;&#39;"),
    ("/runbooks/..%2fdefaults.yaml", 404, "There is no"),
    ("/ask", 200, "How close each node is to its next eviction"),
    ("/ask?name=nodes", 200, "node &lt;b&gt;&amp;1"),
    ("/ask?name=next_eviction&p.depth=%3Cb%3E", 200, "parameter depth cannot be &#39;&lt;b&gt;&#39;"),
    ("/ask?name=%3Cb%3E", 400, "no saved question &#39;&lt;b&gt;&#39;"),
    ("/ask?sql=SELECT+%27%3Cimg%3E%27+AS+%22%3Cb%3E%22", 200, "<td>&lt;img&gt;</td>"),
    ("/ask?sql=SELECT+90.0+AS+seconds_to_threshold", 200, ">1 min 30 s</td>"),
    ("/ask?sql=SELECT+toUInt8%281%29+AS+ready", 200, "<td>yes</td>"),
    ("/ask?sql=DROP+TABLE+nodes", 200, "only SELECT, SHOW, DESCRIBE and EXPLAIN are answered here"),
    ("/ask?sql=SELECT+file%28%27%2Fetc%2Fpasswd%27%29", 200, "the function file is not allowed"),
    ("/ask?sql=" + "x" * 4001, 400, "longer than 4,000"),
    ("/ask?sql=SELECT+1&name=nodes", 400, "not both"),
    ("/ask?sql=SELECT+1+FROM&format=csv", 400, "Syntax error at line 1, column 14"),
    ("/ask?format=csv", 404, "There is no such page"),
)


@pytest.mark.asyncio
async def test_an_address_gets_its_answer(client: Client) -> None:
    for path, status, says in ANSWERS:
        answer = await client.get(path)
        assert (path, answer.status, says in await answer.text(), _lacks(answer)) == (path, status, True, {})


@pytest.mark.asyncio
async def test_every_other_answer_has_the_headers_too(client: Client) -> None:
    for path in set(PATHS) - {path for path, *_ in ANSWERS}:
        assert (path, _lacks(await client.get(path))) == (path, {})


def _lacks(answer: aiohttp.ClientResponse) -> dict[str, str]:
    """Headers that every answer has."""
    return {name: value for name, value in HEADERS.items() if answer.headers.get(name) != value}


@pytest.mark.asyncio
async def test_only_reading_is_answered(client: Client) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"):
        answer = await client.request(method, "/")
        assert (method, answer.status, answer.headers["Allow"]) == (method, 405, "GET, HEAD")


@pytest.mark.asyncio
async def test_head_is_answered_without_a_body(client: Client) -> None:
    answer = await client.head("/")
    assert (answer.status, await answer.read()) == (200, b"")


@pytest.mark.asyncio
async def test_links_carry_cluster_range_and_node(client: Client) -> None:
    text = await (await client.get("/?last=6h")).text()
    assert '<a href="/node?cluster=c&amp;last=6h&amp;node=node+%3Cb%3E%261">' in text


@pytest.mark.asyncio
async def test_a_range_that_moves_moves_in_every_link_and_live_stays(client: Client) -> None:
    for asked, carried in (("", ""), ("last=6h&", "&amp;last=6h")):
        text = await (await client.get(f"/?{asked}live=1")).text()
        addresses = re.findall(r'href="(/[^"]*)"', text)
        followed = [each for each in addresses if not each.startswith("/static/")]
        assert len(followed) > 5
        assert [each for each in followed if "live=1" not in each] == []
        assert [each for each in followed if "until=" in each or "since=" in each] == []
        assert f'"/node?cluster=c{carried}&amp;live=1&amp;node=' in text


@pytest.mark.asyncio
async def test_a_range_that_has_an_end_is_not_live(client: Client) -> None:
    text = await (await client.get("/?until=2026-11-22T00:00:00Z&live=1")).text()
    assert 'id="live"' not in text
    assert "live=1" not in text


FOREIGN: tuple[dict[str, str], ...] = (
    {},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Referer": "http://{host}/ask"},
    {"Sec-Fetch-Site": "something-new"},
    {"Referer": "http://kittens.example/"},
    {"Referer": "http://kittens.example/http://{host}/"},
    {"Referer": "http://{host}.kittens.example/"},
    {"Referer": "http://{host}@kittens.example/"},
    {"Referer": "http://["},
    {"Referer": "null"},
    {"Referer": ""},
    {"Authorization": "Basic " + base64.b64encode(f"me:{TOKEN}".encode()).decode()},
)
"""Headers that a browser sends for a link or an image on another site; over plain HTTP it sends none."""
OWN: tuple[dict[str, str], ...] = (
    {"Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"},
    {"Referer": "http://{host}/ask?sql=SELECT+1"},
    {"Authorization": f"Bearer {TOKEN}"},
)


@pytest.mark.asyncio
async def test_sql_that_another_site_may_have_linked_to_is_shown_and_not_run(guarded: Client) -> None:
    """Not even where its answer is known, because the page itself has just asked it."""
    path = "/ask?sql=SELECT+%27ran%27%7C%7C%27!%27"
    token = {"Authorization": "Basic " + base64.b64encode(f"me:{TOKEN}".encode()).decode()}
    for headers, own in (*((each, True) for each in OWN), *((each, False) for each in FOREIGN)):
        sent = token | {name: value.format(host=f"127.0.0.1:{guarded.port}") for name, value in headers.items()}
        answer = await guarded.get(path, headers=sent)
        text = await answer.text()
        assert (headers, answer.status, "ran!" in text, "not run" in text) == (headers, 200, own, not own)
        assert (headers, (await guarded.get(f"{path}&format=csv", headers=sent)).status) == (
            headers,
            200 if own else 400,
        )


@pytest.mark.asyncio
async def test_the_page_s_own_form_is_known_over_plain_http(guarded: Client) -> None:
    """A browser sends it no Sec-Fetch-Site, and a Referer by the policy of the page alone."""
    answer = await guarded.get("/ask", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.headers["Referrer-Policy"] == "same-origin"
    assert '<meta name="referrer" content="same-origin">' in await answer.text()


@pytest.mark.asyncio
async def test_a_csv_answer_is_a_file_that_a_spreadsheet_does_not_run(client: Client) -> None:
    answer = await client.get("/ask?sql=SELECT+%27%3D1%2B1%27+AS+a&format=csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="answer.csv"'
    assert await answer.text() == "a\n'=1+1\n"


TABLES = (
    ("/?", "nodes", "node,zone,pool,", True),
    ("/?q=none&", "nodes", "node,zone,pool,", False),
    ("/?", "alerts", "state,alertname,severity,node,starts_at,", False),
    ("/?", "timeline", "since,until,kind,severity,times,nodes,what", False),
    (f"/node?node={quote(NODE)}&", "pods", "signal,rank,namespace,pod,", False),
    (f"/node?node={quote(NODE)}&", "evicted", "ts,namespace,pod,cause,", False),
    ("/numa?", "numa", "node,zone,pool,joined_at,late,numa_node,cpus,", False),
)
"""Addresses of tables, their names, the beginning of each, and whether it names the node."""


@pytest.mark.asyncio
async def test_a_table_of_a_page_is_a_file(client: Client) -> None:
    for path, name, first, names in TABLES:
        answer = await client.get(f"{path}csv={name}")
        text = await answer.text()
        assert (answer.status, answer.headers["Content-Disposition"]) == (200, f'attachment; filename="{name}.csv"')
        assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
        assert (path, name, text.startswith(first), NODE in text) == (path, name, True, names)


@pytest.mark.asyncio
async def test_a_page_links_to_the_files_of_its_tables_with_what_narrows_them(client: Client) -> None:
    text = await (await client.get("/?q=node&last=6h")).text()
    assert 'href="/?cluster=c&amp;last=6h&amp;q=node&amp;csv=nodes" download' in text
    assert (await client.get("/?csv=pods")).status == 400


@pytest.mark.asyncio
async def test_questions_that_wait_are_few_and_the_others_are_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None is answered before the others are refused."""
    refused = threading.Event()

    def ask(*_: object) -> Result:
        refused.wait()
        return Result(("a",), ("UInt8",), [(1,)])

    monkeypatch.setattr(QueryProcess, "ask", ask)
    asked = [asyncio.create_task(client.get(f"/ask?sql=SELECT+{nth}")) for nth in range(MOST_QUESTIONS + 2)]
    try:
        first = [await each for each in islice(asyncio.as_completed(asked, timeout=PATIENCE_SECONDS), 2)]
    finally:
        refused.set()
    answers = await asyncio.gather(*asked)
    assert sorted(each.status for each in answers) == [200] * MOST_QUESTIONS + [503] * 2
    assert [(each.status, each.headers["Retry-After"]) for each in first] == [(503, "3")] * 2


@pytest.mark.asyncio
async def test_the_same_question_of_many_is_asked_once(client: Client) -> None:
    slow = "/ask?sql=SELECT+count(),now64(9)+FROM+numbers(1e8)+WHERE+cityHash64(number)%3D1"
    answers = await asyncio.gather(*(client.get(slow) for _ in range(20)))
    assert {each.status for each in answers} == {200}
    assert len({await each.text() for each in answers}) == 1


@pytest.mark.asyncio
async def test_a_runbook_is_read_where_the_database_does_not_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise DatabaseUnreachable("gone")

    monkeypatch.setattr(Database, "query", gone)
    answer = await client.get("/runbooks/StreamStalled?cluster=c")
    text = await answer.text()
    assert (answer.status, "the database does not answer" in text, "source_errors" in text) == (200, True, True)


@pytest.mark.asyncio
async def test_a_name_that_someone_pointed_here_is_refused(client: Client) -> None:
    answer = await client.get("/", headers={"Host": "evil.example"})
    assert answer.status == 421


@pytest.mark.asyncio
async def test_without_the_token_nothing_is_revealed(guarded: Client) -> None:
    for path in PATHS:
        if path not in {"/healthz", "/readyz"}:
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
async def test_health_reveals_nothing_and_needs_no_token(guarded: Client) -> None:
    alive = await guarded.get("/healthz")
    assert (alive.status, await alive.json()) == (200, {"part": "page", "alive": True})
    ready = await guarded.get("/readyz")
    assert (ready.status, await ready.text()) == (200, "ready\n")


@pytest.mark.asyncio
async def test_metrics_have_what_waits_and_what_was_refused(client: Client) -> None:
    text = await (await client.get("/metrics")).text()
    for name in ("page_readers", "page_refused_total", "page_abandoned_total", "page_wrong_tokens_total"):
        assert f"leadsman_{name} 0.0" in text
    assert "leadsman_ready 1.0" in text


@pytest.mark.asyncio
async def test_a_database_that_is_gone_makes_it_unready_and_not_dead(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise DatabaseUnreachable("http://user@secret: gone")

    with monkeypatch.context() as broken:
        broken.setattr(Database, "query", gone)
        page = await client.get("/")
        assert (page.status, ">http://user@secret: gone" in await page.text()) == (503, True)
        assert (await client.get("/healthz")).status == 200
        answer = await client.get("/readyz")
        assert (answer.status, (await answer.json())["reasons"]) == (503, ["the database does not answer"])
    assert (await client.get("/")).status == 200
    assert (await client.get("/readyz")).status == 200


@pytest.mark.asyncio
async def test_wrong_tokens_make_their_address_wait_and_a_missing_one_does_not(guarded: Client) -> None:
    wrong, right = ({"Authorization": f"Bearer {token}"} for token in (TOKEN + "x", TOKEN))
    for _ in range(2 * FREE_GUESSES):
        assert (await guarded.get("/")).status == 401
    assert (await guarded.get("/runbooks/", headers=right)).status == 200
    statuses = [(await guarded.get("/", headers=wrong)).status for _ in range(FREE_GUESSES + 5)]
    assert statuses == [401] * FREE_GUESSES + [429] * 5
    waits = await guarded.get("/", headers=right)
    assert (waits.status, waits.headers["Retry-After"]) == (429, "1")
    assert (await guarded.get("/healthz")).status == 200


@pytest.mark.asyncio
async def test_an_empty_database_gets_a_page_that_says_so(database: Database) -> None:
    client = await client_of(database)
    for path in ("/", "/node?node=n"):
        answer = await client.get(path)
        assert (answer.status, "Nothing observed yet" in await answer.text()) == (200, True)
    await client.close()


@pytest.mark.asyncio
async def test_a_node_shows_what_fills_its_disk(database: Database) -> None:
    filled(database)
    growing = [
        summary(
            T0 + timedelta(minutes=minute),
            NODE,
            [{"namespace": "ns", "pod": "<b>p", "uid": "u", "logs_used_bytes": minute * 60 << 20}],
            nodefs_used_bytes=(1 << 33) + (minute * 60 << 20),
        )
        for minute in range(5)
    ]
    store_samples(database, *growing)
    client = await client_of(database)
    text = await (await client.get("/node?node=" + quote(NODE))).text()
    await client.close()
    found = re.search('<section id="disk".*?</section>', text, re.DOTALL)
    assert found is not None
    # 1 MiB a second; and nothing of images, so nothing of everything else
    assert re.findall(r"<td[^>]*>([^<]+)</td>", found[0]) == ["ns/&lt;b&gt;p", "240 MiB", "3.52 GiB"]


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


@pytest.mark.asyncio
async def test_metrics_have_the_room_of_each_node_as_it_is_stored(read_only: Database) -> None:
    """The state at a capture's end; of a live cluster that is silent for so long it is unknown."""
    for now, known in ((lambda: None, True), (SYSTEM.now, False)):
        client = TestClient(TestServer(Site(read_only, "", guard_host=True, now=now).application()))
        await client.start_server()
        async with client.get("/metrics") as answer:
            text = await answer.text()
        await client.close()
        assert (ROOM in text) is known
