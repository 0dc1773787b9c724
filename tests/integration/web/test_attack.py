"""Attacks on a real `leadsman serve`: readers who leave, who never finish asking, who guess, who are many."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import aiohttp
import pytest

from common.door import ASKED_WITHIN_SECONDS, MOST_CONNECTIONS
from components.command import start, succeeds
from leadsman.web.site.live import MOST_READERS
from paths import NODE_PRESSURE
from waiting import PATIENCE_SECONDS, unhurried

pytestmark = pytest.mark.asyncio

TOKEN: Final = "0123456789abcdef0123"  # noqa: S105 - of these tests only
OWN: Final = {"Authorization": f"Bearer {TOKEN}"}
HEALTHY_SECONDS: Final = 2.0
"""So long `/healthz` may take on two cores that others use too; it took 191 s once."""
READERS: Final = 500
MOST_GROWTH_KIB: Final = 150 * 1024
SLOW: Final = "/ask?sql=SELECT+count()+FROM+numbers(100000000000)+WHERE+cityHash64(number)%3D"


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("attacked") / "db"
    succeeds("replay", NODE_PRESSURE, "--quiet", db=folder)
    return folder


class Site:
    """The process that is attacked."""

    def __init__(self, port: int, pid: int) -> None:
        self.port, self.pid = port, pid
        self.address = f"http://127.0.0.1:{port}"

    def memory_kib(self, name: str = "VmRSS") -> int:
        found = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())
        assert found
        return int(found[1])

    async def seconds(self, session: aiohttp.ClientSession, path: str = "/healthz") -> float:
        began = time.monotonic()
        async with session.get(self.address + path) as answer:
            await answer.read()
            assert answer.status == 200, path
        return time.monotonic() - began

    async def connect(self, text: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(text.encode())
        await writer.drain()
        return reader, writer


@pytest.fixture(scope="module")
def site(db: Path) -> Iterator[Site]:
    token = db.parent / "token"
    token.touch(0o600)
    token.write_text(TOKEN)
    process = start("serve", "--port", "0", "--token-file", token, db=db)
    try:
        assert process.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:([0-9]+)", process.stderr.readline())
        assert found
        yield Site(int(found[1]), process.pid)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


@asynccontextmanager
async def session(**values: str) -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, headers={**OWN, **values}) as made:
        yield made


def figures(*found: object) -> None:
    print(*found, flush=True)  # noqa: T201 - for whoever runs this


async def metric(own: aiohttp.ClientSession, site: Site, name: str) -> float:
    async with own.get(site.address + "/metrics") as answer:
        found = re.search(rf"^leadsman_{name} (\S+)", await answer.text(), re.MULTILINE)
    assert found
    return float(found[1])


async def test_two_hundred_abandoned_requests_cost_nothing_afterwards(site: Site) -> None:
    async with session() as own:
        left = [
            await site.connect(f"GET {SLOW if nth % 2 else '/?q='}{nth} HTTP/1.1\r\nHost: localhost\r\n"
                               f"Authorization: Bearer {TOKEN}\r\n\r\n")
            for nth in range(200)
        ]  # fmt: skip
        during = await site.seconds(own)
        began, soon = time.monotonic(), unhurried(30)
        for _, writer in left:
            writer.transport.abort()
        after = await site.seconds(own)
        page = await site.seconds(own, "/")
        while await metric(own, site, "page_waiting"):
            assert time.monotonic() - began < soon
        over = time.monotonic() - began
        refused, abandoned = [await metric(own, site, f"page_{name}_total") for name in ("refused", "abandoned")]
    figures(f"200 abandoned: /healthz {during:.3f} s during, {after:.3f} s after, a page {page:.2f} s later")
    figures(f"    all over within {over:.2f} s; {abandoned:.0f} left waiting, {refused:.0f} refused")
    assert max(during, after) < unhurried(HEALTHY_SECONDS)
    assert page < unhurried(5)


async def test_more_than_wait_are_refused_and_asked_to_come_again(site: Site) -> None:
    """While a question runs without end, the pages wait; they are answered once its reader has left."""
    head = f"GET {SLOW}1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    _, endless = await site.connect(head)
    async with session() as own:
        asked = [asyncio.ensure_future(own.get(f"{site.address}/find?q=none-{nth}")) for nth in range(80)]
        await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        endless.transport.abort()
        answers = await asyncio.gather(*asked)
        for each in answers:
            await each.read()
    statuses = [each.status for each in answers]
    figures(f"80 at once: {80 - statuses.count(503)} answered, {statuses.count(503)} refused")
    assert set(statuses) == {200, 503}
    assert {each.headers["Retry-After"] for each in answers if each.status == 503} == {"3"}


async def test_heads_that_never_end_are_closed_and_keep_nobody_out(site: Site) -> None:
    slow = [await site.connect("GET / HTTP/1.1\r\nHost: ") for _ in range(MOST_CONNECTIONS + 50)]
    async with session() as own:
        healthy = await site.seconds(own)
    began = time.monotonic()
    ends = await asyncio.wait_for(
        asyncio.gather(*(reader.read() for reader, _ in slow), return_exceptions=True), ASKED_WITHIN_SECONDS + 10
    )
    figures(f"{len(slow)} slow heads: /healthz {healthy:.3f} s, all closed within {time.monotonic() - began:.1f} s")
    for _, writer in slow:
        writer.close()
    assert healthy < unhurried(HEALTHY_SECONDS)
    assert len(ends) == len(slow)


async def test_a_body_that_never_ends_is_not_waited_for(site: Site) -> None:
    reader, writer = await site.connect("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\na")
    answer = await asyncio.wait_for(reader.read(), PATIENCE_SECONDS)
    writer.close()
    assert answer.startswith(b"HTTP/1.1 405 ")


async def test_five_hundred_readers_are_held_in_bounded_memory(site: Site) -> None:
    async with session() as own:
        await site.seconds(own, "/")
        before = site.memory_kib()
        head = f"Host: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        live = [await site.connect(f"GET /events HTTP/1.1\r\n{head}") for _ in range(MOST_READERS)]
        slow = [await site.connect(f"GET / HTTP/1.1\r\n{head}") for _ in range(READERS - MOST_READERS)]
        healthy = await site.seconds(own)
        readers = await metric(own, site, "page_readers")
        grown = site.memory_kib("VmHWM") - before
    figures(f"{READERS} readers: {readers:.0f} live, /healthz {healthy:.3f} s, memory grew by {grown / 1024:.0f} MiB")
    for _, writer in (*live, *slow):
        writer.transport.abort()
    assert readers == MOST_READERS
    assert healthy < unhurried(HEALTHY_SECONDS)
    assert grown < MOST_GROWTH_KIB


async def test_guesses_of_the_token_are_slowed_down(site: Site) -> None:
    began, tried, refused = time.monotonic(), 0, 0
    connector = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0))
    async with aiohttp.ClientSession(connector=connector) as stranger:
        while time.monotonic() - began < 5:
            async with stranger.get(site.address, headers={"Authorization": f"Bearer {tried:020}"}) as answer:
                tried += answer.status == 401
                refused += answer.status == 429
        figures(f"guesses in 5 s: {tried} looked at, {refused} not")
        async with stranger.get(site.address + "/healthz") as answer:
            assert answer.status == 200
    assert tried <= 8, "5 freely, then after 1, 2 and 4 s"
    assert refused > tried
