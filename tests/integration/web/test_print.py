"""The report on paper: as Chromium prints it, page by page."""

from typing import Final, NamedTuple

import pypdfium2
import pytest

from components.command import succeeds
from components.page.browser import browse, browser_modules, chromium_program
from components.programs.cache import require
from paths import NODE_PRESSURE

pytestmark = pytest.mark.components("browser")

HEADINGS: Final = (
    "[...document.querySelectorAll('h2:not(.mono), h3, h4, h5, .when, .day')].map((each) => each.innerText.trim())"
)
MOST_PAGES: Final = 4
"""Pages of an incident for any fleet: 2 for the story, 2 for nodes in detail. Runbooks are on the screen."""


class Printed(NamedTuple):
    pages: list[list[str]]
    """The lines of each, from top to bottom."""
    headings: set[str]


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Printed:
    require(chromium_program, browser_modules)
    folder = tmp_path_factory.mktemp("print")
    succeeds("replay", NODE_PRESSURE, "--quiet", db=folder / "db")
    succeeds("report", "-o", folder / "report.html", db=folder / "db")
    actions = [["read", "headings", HEADINGS], ["pdf", str(folder / "report.pdf")]]
    # in dark as well: paper is light
    step = {"url": (folder / "report.html").as_uri(), "scheme": "dark", "actions": actions}
    (seen,) = browse([step])
    with pypdfium2.PdfDocument(folder / "report.pdf") as pdf:
        return Printed([_lines(page) for page in pdf], set(seen["read"]["headings"]))


def _lines(page: pypdfium2.PdfPage) -> list[str]:
    text = page.get_textpage()
    whole, found, place = text.get_text_range(), [], 0
    for line in whole.split("\r\n"):
        if line.strip():
            _, bottom, _, _ = text.get_charbox(place + len(line) - len(line.lstrip()))
            found.append((-bottom, line.strip()))
        place += len(line) + 2
    return [line for _, line in sorted(found)]


def test_a_report_has_no_more_pages_than_it_needs(printed: Printed) -> None:
    assert 2 <= len(printed.pages) <= MOST_PAGES


def test_no_page_ends_with_a_heading(printed: Printed) -> None:
    assert printed.headings
    for number, lines in enumerate(printed.pages, start=1):
        assert lines, number
        ends = [heading for heading in printed.headings if heading and lines[-1].startswith(heading)]
        assert ends == [], (number, lines[-1])


def test_the_nodes_in_detail_have_two_pages(printed: Printed) -> None:
    begins = next(number for number, lines in enumerate(printed.pages, start=1) if any(map(_begins_details, lines)))
    assert len(printed.pages) - begins < 2


def _begins_details(line: str) -> bool:
    return line.startswith("Nodes in detail")


def test_what_only_a_screen_can_do_is_not_printed(printed: Printed) -> None:
    everything = "\n".join(line for lines in printed.pages for line in lines)
    for control in ("Theme:", "Keys", "Needing attention", "Show all", "Skip to content", "Each of them"):
        assert control not in everything
