"""A live page in Chromium, over a server that others write to: what is landed arrives without a reload."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from components.clickhouse import ClickHouseHttp
from components.page.browser import browse, browser_modules, chromium_program
from components.page.site import serving
from components.programs.cache import require
from components.rows import row, store
from sql.database.open import connect
from sql.schema.migrate import migrate
from streams.fold.findings import NodeRow
from waiting import eventually

pytestmark = pytest.mark.components("browser")

LIVE: Final = "document.documentElement.dataset.live"
SHOWN: Final = "document.querySelector('#main').innerText"
STATE: Final = "document.querySelector('#live-state').textContent"
FOLLOWED: Final[list[object]] = ["follow", "main a[href*='/node?']", "**/node?**live=1**"]


@pytest.fixture(scope="module", autouse=True)
def components() -> None:
    require(chromium_program, browser_modules)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A reader that turns the page live, sees a node arrive, follows a link to it, and loses the site."""
    folder = tmp_path_factory.mktemp("live")
    waits, left = folder / "waits", folder / "left"
    actions: list[list[object]] = [
        ["follow", "#live", "**live=1**"],
        ["until", f"{LIVE} === 'yes' && {STATE}.startsWith('updated')"],
        ["read", "before", f"{SHOWN}.includes('late-node')"],
        ["read", "title", "document.title"],
        ["read", "mark", "window.kept = 'the same document'"],
        ["reached", str(waits)],
        ["until", f"{SHOWN}.includes('late-node')"],
        ["read", "kept", "window.kept"],
        ["read", "after", "document.title"],
        FOLLOWED,
        ["until", f"{LIVE} === 'yes' && {STATE}.startsWith('updated')"],
        ["reached", str(left)],
        ["until", f"{LIVE} === 'lost'"],
        ["read", "lost", STATE],
        ["read", "button", "document.querySelector('#live').textContent"],
        ["read", "pressed", "document.querySelector('#live').getAttribute('aria-pressed')"],
    ]
    with ClickHouseHttp(folder / "server") as http:
        dsn = http.dsn("live")
        with connect(dsn) as database:
            migrate(database)
            store(database, row(NodeRow, node="first-node", ready=True))
        with ThreadPoolExecutor(1) as pool:
            with serving(dsn) as address:
                browsing = pool.submit(browse, [{"url": f"{address}/?last=6h", "actions": actions}])
                eventually("the page waits", lambda: waits.exists() or browsing.done())
                with connect(dsn) as database:
                    store(database, row(NodeRow, node="late-node", ready=False))
                eventually("the reader is on a node's page", lambda: left.exists() or browsing.done())
            (found,) = browsing.result()
    return found


def test_what_is_landed_arrives_without_a_reload(seen: dict[str, Any]) -> None:
    assert (seen["read"]["before"], seen["read"]["kept"]) == (False, "the same document")


def test_the_title_counts_what_needs_attention(seen: dict[str, Any]) -> None:
    counts = [re.match(r"\((\d+)\) ", seen["read"][name]) for name in ("title", "after")]
    before, after = (int(found[1]) if found else 0 for found in counts)
    assert after > before


def test_a_page_that_lost_its_site_is_not_live_and_names_its_age(seen: dict[str, Any]) -> None:
    assert (seen["read"]["button"], seen["read"]["pressed"]) == ("Not live", "false")
    assert re.search(r"This is of \d\d:\d\d:\d\d UTC\. Trying again\.", seen["read"]["lost"])


def test_live_and_the_range_stay_through_links(seen: dict[str, Any]) -> None:
    assert "last=6h" in seen["url"]
    assert "live=1" in seen["url"]


def test_an_unchanged_live_page_is_fetched_again_and_shows_its_age(tmp_path: Path) -> None:
    """No event says that data gets older: the page's own clock goes on by the minute after which it is fetched."""
    made = "Number(document.querySelector('#main').dataset.made)"
    actions: list[list[object]] = [
        ["read", "before", f"window.before = {made}"],
        ["read", "later", "(now => { Date.now = () => now() + 61000; })(Date.now)"],
        ["until", f"{made} > window.before"],
    ]
    with ClickHouseHttp(tmp_path / "server") as http:
        dsn = http.dsn("live")
        with connect(dsn) as database:
            migrate(database)
            store(database, row(NodeRow, node="first-node", ready=True))
        with serving(dsn) as address:
            browse([{"url": f"{address}/?live=1", "actions": actions}])
