"""The report and the page in a real Chromium, of a capture with hostile names.

The names of a real capture are replaced by markup; what the browser does with them is what a reader's would.
"""

import gzip
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from components.command import succeeds
from components.page.browser import browse, browser_modules, chromium_program
from components.page.site import serving
from components.programs.cache import require
from paths import NODE_PRESSURE
from profiles import NIGHT

pytestmark = pytest.mark.components("browser")

NODE: Final = "<img src=x onerror=alert(1)>node"
POD: Final = "</script><script>alert(2)</script>hog"
SERIOUS: Final = {"serious", "critical"}
DRAWN: Final = "[...document.querySelectorAll('.plot .field')].filter((each) => each.clientHeight > 200).length"
LIT: Final = "document.querySelectorAll('.mark.on, .episodes > .on').length"
DARK: Final = """(() => {
    const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g).map(Number);
    return red + green + blue < 200;
})()"""


@pytest.fixture(scope="module", autouse=True)
def components() -> None:
    require(chromium_program, browser_modules)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of the real capture, with hostile names."""
    folder = tmp_path_factory.mktemp("hostile")
    capture = folder / "capture.jsonl"
    text = gzip.decompress(NODE_PRESSURE.read_bytes()).decode()
    capture.write_text(text.replace("real-node-1", NODE).replace("hog-", f"{POD}-"))
    succeeds("replay", capture, db=folder / "db")
    return folder / "db"


@pytest.fixture(scope="module")
def report(db: Path) -> str:
    """The address of the report."""
    file = db.with_name("report.html")
    succeeds("report", "-o", file, db=db)
    return file.as_uri()


@pytest.fixture(scope="module")
def site(db: Path, report: str) -> Iterator[str]:
    """The address of the page, after the report was written: the database belongs to one process."""
    assert report
    with serving(db) as address:
        yield address


@pytest.fixture(scope="module")
def seen(report: str, site: str) -> dict[str, dict[str, Any]]:
    """Every page on a desk in light, and on a phone in dark; by night in the other scheme of each, too.

    Axe looks at both schemes on the desk, and at what a phone lays out in one.
    """
    pages = {"report": report, "overview": f"{site}/", "node": f"{site}/node?node={quote(NODE)}"}
    axes = {(1440, "light"): ["light", "dark"], (390, "dark"): ["dark"]}
    if NIGHT:
        axes |= {(1440, "dark"): [], (390, "light"): ["light"]}
    names, steps = [], []
    for (page, url), ((width, scheme), axe) in product(pages.items(), axes.items()):
        names.append(f"{page} {scheme} {width}")
        actions = [["wait", 300], ["read", "drawn", DRAWN], ["read", "dark", DARK]]
        screen = {"scheme": scheme, "width": width}
        steps.append({"url": url, "kept": True, **screen, "axe": axe, "actions": actions})
    return dict(zip(names, browse(steps), strict=True))


def test_hostile_names_are_text(seen: dict[str, dict[str, Any]]) -> None:
    for name, page in seen.items():
        assert NODE in page["text"], name
        assert page["dialogs"] == [], name
    for name in ("report light 1440", "node light 1440"):
        assert f"{POD}-775668d95b-wcnzb" in seen[name]["text"], name


def test_nothing_complains(seen: dict[str, dict[str, Any]]) -> None:
    """Neither a script's error nor what the Content-Security-Policy refused."""
    for name, page in seen.items():
        assert (page["console"], page["errors"]) == ([], []), name


def test_nothing_is_asked_of_anyone_else(seen: dict[str, dict[str, Any]], site: str) -> None:
    for name, page in seen.items():
        others = [url for url in page["requests"] if not url.startswith((f"{site}/", "file://", "data:"))]
        assert others == [], name
        if name.startswith("report"):
            assert len([url for url in page["requests"] if url.startswith("file://")]) == 1, name


def test_nothing_is_wider_than_the_screen(seen: dict[str, dict[str, Any]]) -> None:
    for name, page in seen.items():
        content, screen = page["width"]
        assert content <= screen, name


def test_axe_finds_nothing_serious(seen: dict[str, dict[str, Any]]) -> None:
    for name, page in seen.items():
        assert [each for each in page["violations"] if each["impact"] in SERIOUS] == [], name


def test_light_and_dark_follow_the_system(seen: dict[str, dict[str, Any]]) -> None:
    for name, page in seen.items():
        assert page["read"]["dark"] == (" dark " in name), name


def test_charts_are_drawn(seen: dict[str, dict[str, Any]]) -> None:
    for name, page in seen.items():
        assert page["read"]["drawn"] >= (0 if name.startswith("overview") else 2), name


def test_the_page_is_used_by_keys_alone(site: str) -> None:
    focus = ["read", "focused", "document.activeElement.id"]
    keys = [
        ["press", "/"],
        ["read", "find", "document.activeElement.id"],
        ["press", "Escape"],
        ["press", "f"],
        focus,
        ["type", "nothing has this name"],
        ["read", "hidden", "[...document.querySelectorAll('#node-table tbody tr')].every((row) => row.hidden)"],
        ["read", "address", "location.search"],
        ["press", "Escape"],
        ["press", "?"],
        ["read", "help", "document.querySelector('#keys').open"],
        ["press", "Escape"],
        ["press", "t"],
        ["read", "theme", "document.documentElement.dataset.theme"],
        ["press", "t"],
        ["reload"],
        ["read", "kept", "document.documentElement.dataset.theme"],
        ["read", "filter", "document.querySelector('#filter').value"],
        ["read", "still", "[...document.querySelectorAll('#node-table tbody tr')].every((row) => row.hidden)"],
        ["press", "f"],
        ["press", "Control+a"],
        ["press", "Delete"],
        ["press", "Escape"],
        ["press", "j"],
        ["go", "Enter", "**/node?**"],
        ["read", "title", "document.querySelector('h1').textContent"],
    ]
    (page,) = browse([{"url": f"{site}/", "actions": keys}])
    read = page["read"]
    assert read["find"] == "find"
    assert (read["focused"], read["hidden"], read["help"]) == ("filter", True, True)
    assert read["address"] == "?q=nothing+has+this+name"
    assert (read["theme"], read["kept"]) == ("light", "dark")
    assert (read["filter"], read["still"]) == ("nothing has this name", True)
    assert read["title"] == NODE
    assert urlsplit(page["url"]).path == "/node"
    assert (page["console"], page["errors"]) == ([], [])


def test_the_report_filters_its_nodes_and_jumps_to_them(report: str) -> None:
    actions = [
        ["click", "#urgent"],
        ["read", "urgent", "document.querySelector('#counted').textContent"],
        ["click", "#urgent"],
        ["read", "counted", "document.querySelector('#counted').textContent"],
        ["click", "#node-table tbody a"],
        ["read", "place", "location.hash"],
    ]
    (page,) = browse([{"url": report, "actions": actions}])
    assert page["read"] == {"urgent": "0 of 1 node", "counted": "1 node", "place": "#node-1"}


def test_a_chart_is_read_and_zoomed_by_keys(site: str) -> None:
    readout = "document.querySelector('.readout').innerText"
    actions = [
        ["read", "focus", "document.querySelector('.scrub').focus()"],
        ["press", "Home"],
        ["read", "first", readout],
        ["press", "Enter"],
        *[["press", "ArrowRight"]] * 60,
        ["read", "later", readout],
        ["read", "brushed", "document.querySelectorAll('.brush').length"],
        ["go", "Enter", "**/node?**since=**"],
        ["read", "title", "document.querySelector('h1').textContent"],
    ]
    (page,) = browse([{"url": f"{site}/node?node={quote(NODE)}&kind=eviction", "actions": actions}])
    read = page["read"]
    assert re.match(r"04:17:0\d UTC\s+20\.\d\d GiB available", read["first"]), read["first"]
    assert "soft 17.00 GiB" in read["later"]
    assert (read["brushed"], read["title"]) == (1, NODE)
    assert "kind=eviction" in page["url"]
    assert (page["console"], page["errors"]) == ([], [])


def test_a_range_is_brushed_with_the_mouse(site: str) -> None:
    actions = [
        ["drag", "#memory-available .field", 0.5, 0.7],
        [
            "read",
            "hours",
            "new URL(location).searchParams.get('since') + new URL(location).searchParams.get('until')",
        ],
    ]
    (page,) = browse([{"url": f"{site}/node?node={quote(NODE)}", "kept": True, "actions": actions}])
    assert re.fullmatch(r"2026-11-21T04:2\d:.*Z2026-11-21T04:2\d:.*Z", page["read"]["hours"])


def test_a_range_is_chosen_in_the_strip_by_mouse_or_keys(site: str) -> None:
    """The window is drawn anew or moved; of its two ends the one that is not moved stays as it was."""
    whole = f"{site}/node?node={quote(NODE)}"
    half = f"{whole}&since=2026-11-21T04:15:00Z&until=2026-11-21T04:20:00Z&kind=eviction"
    focus = ["read", "focus", "document.querySelectorAll('.overview input')[1].focus()"]
    there = ["read", "window", "document.querySelector('.overview .window').getAttribute('width')"]
    keys = [focus, *[["press", "ArrowRight"]] * 20, there, ["go", "Enter", "**until=2026-11-21T04%3A21%3A**"]]
    drawn, moved, typed = browse(
        [
            {"url": whole, "kept": True, "actions": [["drag", ".overview .field", 0.5, 0.7, 20]]},
            {"url": half, "actions": [["drag", ".overview .field", 0.3, 0.35, 20]]},
            {"url": half, "kept": True, "actions": [there, *keys]},
        ],
    )
    # of 17 min 49 s from 04:11:12 on
    assert _range(drawn["url"]) == pytest.approx((1069 * 0.5, 1069 * 0.7), abs=3)
    assert _range(moved["url"]) == pytest.approx((228 + 1069 * 0.05, 528 + 1069 * 0.05), abs=3)
    since, until = _range(typed["url"])
    assert since == 228
    assert until == pytest.approx(528 + 20 * 4, abs=4)
    assert "kind=eviction" in typed["url"]
    assert [page["errors"] for page in (drawn, moved, typed)] == [[], [], []]


def _range(url: str) -> tuple[float, ...]:
    """Beginning and end, in seconds after the first observation."""
    query = parse_qs(urlsplit(url).query)
    first = datetime(2026, 11, 21, 4, 11, 12, tzinfo=UTC)
    return tuple((datetime.fromisoformat(query[name][0]) - first).total_seconds() for name in ("since", "until"))


def test_an_episode_and_its_marks_light_up_together(site: str) -> None:
    actions = [
        ["read", "before", LIT],
        ["read", "mark", "document.querySelector('#memory-available .mark').focus()"],
        ["read", "from_chart", LIT],
        ["read", "row", "document.querySelector('.episodes .over a.time').focus()"],
        ["read", "from_row", LIT],
    ]
    (page,) = browse([{"url": f"{site}/node?node={quote(NODE)}", "kept": True, "actions": actions}])
    read = page["read"]
    assert (read["before"], read["from_chart"] >= 2, read["from_row"] >= 2) == (0, True, True)


def test_times_are_in_the_zone_of_the_reader_and_utc_without_scripts(site: str) -> None:
    url = f"{site}/node?node={quote(NODE)}"
    zone = "Asia/Kolkata"
    text = "document.querySelector('main').textContent"
    paper = (
        "dispatchEvent(new Event('beforeprint'))",
        f"window.paper = {text}",
        "dispatchEvent(new Event('afterprint'))",
    )
    printed = ["read", "printed", f"({', '.join(paper)}, window.paper)"]
    titles = "[...document.querySelectorAll('svg title, [title]')].map((each) => each.title || each.textContent)"
    actions = [["read", "titles", f"{titles}.filter((each) => each.includes('09:4')).length"], printed]
    here, without, fleet = browse(
        [{"url": url, "zone": zone, "actions": actions}, {"url": url, "scripts": False}, {"url": site, "zone": zone}],
    )
    for page in (here, fleet):
        assert "UTC" not in page["text"], "in a sentence, a card or a table"
    assert here["read"]["titles"] > 0, "marks of a chart"
    assert "2026-11-21 04:11:12 to 2026-11-21 04:29:01 UTC" in " ".join(here["read"]["printed"].split())
    assert "GMT+5:30" not in here["read"]["printed"]
    assert "2026-11-21 09:41:12 to 2026-11-21 09:59:01 GMT+5:30" in here["text"]
    assert "2026-11-21 04:11:12 to 2026-11-21 04:29:01 UTC" in without["text"]
    assert "nearest to a threshold" in without["text"]


def test_of_a_range_without_the_node_a_link_leads_to_one_that_has_it(site: str) -> None:
    before = f"{site}/node?node={quote(NODE)}&since=2026-11-20T00:00:00Z&until=2026-11-20T01:00:00Z"
    home = ["read", "home", "document.querySelector('main p:last-child a').search"]
    there = ["follow", "main a[href^='/node?']", "**/node?**since=2026-11-21**"]
    missing, found = browse(
        [{"url": before, "axe": ["light"], "actions": [home]}, {"url": before, "actions": [there]}]
    )
    assert "No such node in this range" in missing["text"]
    assert f"Cluster lab has no node '{NODE}'" in missing["text"]
    assert missing["read"]["home"].startswith("?cluster=lab&since=2026-11-20")
    assert [each for each in missing["violations"] if each["impact"] in SERIOUS] == []
    assert found["text"].count(NODE) > 0
    assert "Room left" in found["text"]
    assert (missing["dialogs"], missing["errors"], found["dialogs"], found["errors"]) == ([], [], [], [])
