"""The report of a database: hostile names are text, and the file allows itself nothing from outside."""

import ast
import base64
import hashlib
import json
import re
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text import plain
from components.database import EmptyDatabase
from components.hostile import GIB, everything
from components.rows import T0, row, store
from leadsman.web.reading.scope import BadScope, RequestedRange
from leadsman.web.rendering.links import ANSWERED, Links
from leadsman.web.rendering.render import STATIC, environment, json_block
from leadsman.web.rendering.report import write_report
from sql.database.open import Database, connect
from streams.fold.findings import DeadLetter, NodeRow

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"&{{7*7}}"
INVISIBLE = "innocent\u202etxt.exe\u200b\x1b[31m"


class Page(HTMLParser):
    """A page as a browser parses it: elements, attributes, and the text outside of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.blocks: list[tuple[dict[str, str | None], str]] = []
        self._within: tuple[str, dict[str, str | None]] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in {"script", "style"}:
            self._within = (tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        if self._within and self._within[0] == tag:
            self._within = None

    def handle_data(self, data: str) -> None:
        if self._within:
            self.blocks.append((self._within[1], data))
        else:
            self.text += data


def report(db: Database, asked: RequestedRange = RequestedRange()) -> str:  # noqa: B008 - it cannot be changed
    return write_report(db, asked, T0 + timedelta(days=1))


@pytest.fixture(scope="module")
def hostile(empty_database: EmptyDatabase) -> str:
    with empty_database() as database:
        everything(database, HOSTILE)
        return report(database)


def test_hostile_names_are_text_and_nowhere_markup(hostile: str) -> None:
    page = Page(hostile)
    assert HOSTILE in page.text
    assert not [tag for tag, _ in page.elements if tag in {"img", "iframe", "object", "embed", "base"}]
    assert [tag for tag, _ in page.elements].count("script") == 3  # theme, data, page
    assert "{{7*7}}" in page.text
    assert "49" not in re.findall(r"&\{\{7\*7\}\}|49", page.text)


def test_no_element_has_a_handler_a_style_or_a_script_address(hostile: str) -> None:
    for tag, attributes in Page(hostile).elements:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name != "style", tag
            if name in {"href", "src", "action"}:
                assert (value or "").startswith(("#", "data:image/svg+xml;base64,")), (tag, value)


def test_what_cannot_be_seen_is_shown_as_its_escape(database: Database) -> None:
    everything(database, INVISIBLE)
    written = report(database)
    page = Page(written)
    assert not set(written) & set("\u202e\u200b\x1b")
    assert r"innocent\u202etxt.exe\u200b\x1b[31m" in page.text
    for attributes, block in page.blocks:
        if attributes.get("type") == "application/json":
            assert not set(json.dumps(json.loads(block), ensure_ascii=False)) & set("\u202e\u200b\x1b")


@given(st.text())
def test_no_template_can_forget_to_show_what_cannot_be_seen(text: str) -> None:
    """In an attribute, an element, joined, in a block of its own or through a macro that knows nothing of it."""
    template = environment().from_string(
        "{% macro kept(it) %}{{ it }}{% endmacro %}"
        '<i title="{{ it }}" data-cluster="{{ it | urlencode }}">{{ it }}{{ it ~ it }}'
        "{{ kept(it) }}{{ [it] | join }}</i>"
    )
    written = template.render(it=text)
    assert all(plain(letter) == letter for letter in written if letter not in "\n\r\t")
    (attributes,) = (each for tag, each in Page(written).elements if tag == "i")
    assert unquote(attributes["data-cluster"] or "") == text


def test_a_live_page_names_its_cluster_to_the_script_alone() -> None:
    """`live.js` puts the attribute into the address as it is."""
    cluster = "a&b=c#/ " + INVISIBLE
    page = '{% extends "base.html.j2" %}{% import "macros.html.j2" as m with context %}'
    written = environment().from_string(page).render(links=Links(RequestedRange(cluster)), inline=None)
    assert all(plain(letter) == letter for letter in written if letter != "\n")
    (button,) = (each for tag, each in Page(written).elements if each.get("id") == "live")
    assert parse_qs(f"cluster={button['data-cluster']}") == {"cluster": [cluster]}
    script = (STATIC / "live.js").read_text("utf-8")
    assert "`/events?cluster=${button.dataset.cluster}`" in script


def test_the_policy_allows_exactly_the_scripts_and_styles_within(hostile: str) -> None:
    page = Page(hostile)
    (policy,) = [each["content"] or "" for tag, each in page.elements if each.get("http-equiv")]
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert allowed["default-src"] == "'none'"
    assert "unsafe" not in policy
    within = [text for attributes, text in page.blocks if attributes.get("type") != "application/json"]
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in within}
    assert hashes == set(allowed["script-src"].split()) | set(allowed["style-src"].split())


def test_the_policy_stands_before_everything_that_it_rules(hostile: str) -> None:
    tags = [(tag, attributes.get("http-equiv")) for tag, attributes in Page(hostile).elements]
    assert tags.index(("meta", "Content-Security-Policy")) < min(
        tags.index(("script", None)), tags.index(("style", None))
    )


def test_the_data_of_the_charts_is_json_that_ends_nothing(hostile: str) -> None:
    (data,) = [text for attributes, text in Page(hostile).blocks if attributes.get("type") == "application/json"]
    (chart,) = json.loads(data)
    # Ten minutes are drawn in steps of 5 s: the first two samples lie in one, of which the lower counts.
    assert chart["lowest"] == [GIB - 1, GIB - 2]
    assert [(kind, name, steps[0][1]) for kind, name, steps in chart["thresholds"]] == [("hard", "hard", GIB // 2)]


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_json_in_a_page_reads_back_and_holds_no_markup(value: Any) -> None:
    block = str(json_block(value))
    assert json.loads(block) == value
    assert not set(block) & set("<>&\u2028\u2029")


def test_the_next_step_in_a_report_needs_no_database(hostile: str) -> None:
    steps = re.findall(r'<p class="step">.*?</p>', hostile, flags=re.DOTALL)
    places = {str(attrs["id"]) for _, attrs in Page(hostile).elements if attrs.get("id")}
    assert len(steps) > 5
    assert [step for step in steps if "leadsman query" in step] == []
    assert {target for step in steps for target in re.findall(r'href="#([^"]*)"', step)} <= places


def test_every_question_of_a_step_has_its_place_in_a_report() -> None:
    folder = STATIC.parents[1] / "attention"
    calls = [node for file in folder.glob("*.py") for node in ast.walk(ast.parse(file.read_text("utf-8")))]
    steps = [each for each in calls if isinstance(each, ast.Call) and ast.unparse(each.func) == "Step"]
    second = [each.args[1] for each in steps if len(each.args) > 1]
    asked = {str(each.value).partition(" ")[0] for each in second if isinstance(each, ast.Constant)}
    assert len(asked) > 10
    assert asked <= ANSWERED.keys()


def test_every_part_of_the_report_reports_its_finding(hostile: str) -> None:
    text = re.sub(r"\s+", " ", Page(hostile).text)
    for reported in (
        "What needs attention",
        "1 of 1 node not Ready",
        "1 pod evicted, near a threshold on 1 node",
        "Image GC keeps failing",
        "The scheduler does not see a node",
        "Nodes that joined later stay emptier",
        "hard threshold in 1 min",
        "requests none",
        "1 free, 1 exclusive, 0 reserved of 2 CPUs",
        "fell silent",
        "could not be understood (bad)",
        "This file asks nothing of any server.",
    ):
        assert reported in text, reported


def test_a_finding_outside_the_range_is_not_reported(database: Database) -> None:
    everything(database, "n")
    late = (T0 + timedelta(hours=2)).isoformat()
    text = Page(report(database, RequestedRange(since=late, until=(T0 + timedelta(hours=3)).isoformat()))).text
    assert "Last sample 3 h before the end" in text
    assert "all clear" not in text
    assert "pod evicted for" not in text


def test_an_unknown_cluster_gets_the_known_ones(database: Database) -> None:
    store(database, row(NodeRow, node="n"))
    with pytest.raises(BadScope, match="There are: c"):
        report(database, RequestedRange(cluster="d"))


def test_an_empty_database_says_so_and_what_to_do(database: Database) -> None:
    page = Page(report(database))
    assert "has no observations of any cluster" in page.text
    assert f"leadsman replay PATH --db {database}" in page.text


def test_a_database_without_tables_is_empty_too(tmp_path: Path) -> None:
    with connect(f"chdb://{tmp_path / 'bare'}") as bare:
        assert "has no observations of any cluster" in Page(report(bare)).text


def test_an_empty_database_mentions_what_could_not_be_read(database: Database) -> None:
    store(database, row(DeadLetter, cluster="", error_type="bad_json"))
    assert "1 record could not be decoded" in report(database)


def test_a_database_without_alerts_is_reported_without_them(database: Database) -> None:
    store(database, row(NodeRow, node="n"))
    database.command("DROP TABLE alerts")
    text = Page(report(database)).text
    assert "This database has no alerts." in text
