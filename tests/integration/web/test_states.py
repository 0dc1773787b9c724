"""Every page in every state, in a real Chromium: quiet, in trouble, stale, without samples, empty, of 5,000 nodes."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import pypdfium2
import pytest

from bench.page_fill import CLUSTER as FLEET
from components.command import succeeds
from components.page.browser import browse, browser_modules, chromium_program
from components.page.states import FLEET_NODES, STATES, fill_states, served
from components.programs.cache import require
from profiles import NIGHT

pytestmark = pytest.mark.components("browser")

CELLS: Final = "document.querySelectorAll('.fleetcells > *').length"
GREEN: Final = "document.querySelectorAll('.allclear').length"
AGED: Final = "document.querySelectorAll('main.aged').length"
ROWS: Final = "document.querySelectorAll('#node-table tbody tr').length"


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require(chromium_program, browser_modules)
    folder = tmp_path_factory.mktemp("states")
    fill_states(folder)
    until = ("--since", "2026-11-20T20:00:00Z", "--until", "2026-11-20T23:46:00Z")
    succeeds("report", "--cluster", FLEET, *until, "-o", folder / "report.html", db=folder / "states")
    return folder


@pytest.fixture(scope="module")
def sites(filled: Path) -> Iterator[dict[str, str]]:
    with served(filled) as addresses:
        yield addresses


DESK, PHONE = 1440, 390
SIZES: Final = {DESK: 900, PHONE: 844}
CARD: Final = "document.querySelector('.item')?.getBoundingClientRect().top"
HIGH: Final = "document.documentElement.scrollHeight"
MAP_HIGH: Final = "Math.round(document.querySelector('#map')?.getBoundingClientRect().height ?? 0)"
CLIPPED: Final = """[...document.querySelectorAll('.scroll')]
    .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.textContent.trim().slice(0, 60))"""
READ: Final = {
    "green": GREEN, "aged": AGED, "card": CARD, "high": HIGH, "cut": CLIPPED, "cells": CELLS, "rows": ROWS,
    "map high": MAP_HIGH,
}  # fmt: skip
AXED_ON_A_PHONE: Final = frozenset(STATES if NIGHT else {"trouble", "stale", "numa", "node-trouble", "ask"})
"""A page of each kind: what differs from a desk is how it is laid out."""


@pytest.fixture(scope="module")
def pages(sites: dict[str, str]) -> dict[tuple[str, int], dict[str, Any]]:
    """Opens the page of each state on a desk and, the same document, on a phone, and keeps the visible text."""
    actions = [["read", name, script] for name, script in READ.items()]
    names, steps = [*product(STATES, SIZES)], []
    for state, width in names:
        on_phone = width == PHONE
        axe = [] if on_phone and state not in AXED_ON_A_PHONE else ["light"] if on_phone else ["light", "dark"]
        screen = {"width": width, "height": SIZES[width]}
        steps.append({"url": sites[state], "kept": on_phone, **screen, "axe": axe, "actions": actions})
    return dict(zip(names, browse(steps), strict=True))


@pytest.mark.parametrize("width", [DESK, PHONE])
@pytest.mark.parametrize("state", STATES)
def test_a_page_has_no_finding_of_axe_and_is_no_wider_than_its_screen(
    pages: dict[tuple[str, int], dict[str, Any]], state: str, width: int
) -> None:
    page = pages[state, width]
    content, screen = page["width"]
    assert page["violations"] == []
    assert (page["console"], page["errors"]) == ([], [])
    assert content <= screen


def test_only_the_quiet_cluster_is_all_clear(pages: dict[tuple[str, int], dict[str, Any]]) -> None:
    names = ("quiet", "trouble", "stale", "no-samples", "fleet")
    found = {name: pages[name, DESK]["read"]["green"] for name in names}
    assert found == {"quiet": 1, "trouble": 0, "stale": 0, "no-samples": 0, "fleet": 0}


def test_only_a_silent_live_cluster_is_grey(pages: dict[tuple[str, int], dict[str, Any]]) -> None:
    grey = {state for state in STATES if pages[state, DESK]["read"]["aged"]}
    assert grey == {state for state in STATES if state.startswith("stale")}


@pytest.mark.parametrize("state", ["trouble", "stale", "stale-node", "fleet", "node-trouble"])
def test_on_a_phone_the_first_card_is_seen_and_no_page_is_endless(
    pages: dict[tuple[str, int], dict[str, Any]], state: str
) -> None:
    read = pages[state, PHONE]["read"]
    assert read["card"] < 844 - 200  # its title, since when, and what
    assert read["high"] < 15_000


@pytest.mark.parametrize("state", STATES)
def test_on_a_desk_no_column_is_cut_off(pages: dict[tuple[str, int], dict[str, Any]], state: str) -> None:
    assert pages[state, DESK]["read"]["cut"] == []


def test_every_node_of_a_large_fleet_is_a_cell_and_the_table_has_the_most_urgent(
    pages: dict[tuple[str, int], dict[str, Any]],
) -> None:
    read = pages["fleet", DESK]["read"]
    assert (read["cells"], read["rows"]) == (FLEET_NODES, 12)
    assert read["map high"] < 900  # of a screen


def test_a_report_of_a_large_fleet_is_printed_on_four_pages(tmp_path: Path, filled: Path) -> None:
    browse([{"url": (filled / "report.html").as_uri(), "actions": [["pdf", str(tmp_path / "r.pdf")]]}])
    with pypdfium2.PdfDocument(tmp_path / "r.pdf") as pdf:
        assert 2 <= len(pdf) <= 4


def test_the_map_is_walked_by_arrows_and_entered(sites: dict[str, str]) -> None:
    name = "document.activeElement.title.split(':')[0]"
    actions = [
        ["read", "first", "document.querySelector('.fleetcells a').focus()"],
        ["read", "start", name],
        ["press", "ArrowRight"],
        ["press", "ArrowLeft"],
        ["read", "back", name],
        ["press", "ArrowDown"],
        ["press", "ArrowRight"],
        ["read", "there", name],
        ["read", "readout", "document.querySelector('#map-readout').textContent"],
        ["read", "stops", "document.querySelectorAll('.fleetcells a[tabindex=\"0\"]').length"],
        ["go", "Enter", "**/node?**"],
        ["read", "title", "document.querySelector('h1').textContent"],
    ]
    (page,) = browse([{"url": sites["fleet"], "kept": True, "actions": actions}])
    read = page["read"]
    assert read["start"] == read["back"] != read["there"]
    assert read["readout"].startswith(f"{read['there']}: ")
    assert read["stops"] == 1
    assert read["title"] == read["there"]


def test_the_legend_narrows_the_map_and_the_table(sites: dict[str, str]) -> None:
    actions = [
        ["read", "wanted", "Number(document.querySelectorAll('.share b')[2].textContent.replace(',', ''))"],
        ["click", ".share li:nth-child(3) a"],
        ["read", "lit", "document.querySelectorAll('.fleetcells > :not(.dim)').length"],
        ["read", "rows", ROWS],
    ]
    (page,) = browse([{"url": sites["fleet"], "kept": True, "actions": actions}])
    read = page["read"]
    assert read["wanted"] == read["lit"] == read["rows"] > 0
