"""Names that a cluster chose are text in every answer: they steer no terminal, page or spreadsheet."""

import asyncio
import csv
import io
import json
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from html.parser import HTMLParser
from typing import Any, Final, Literal

import msgspec
import pytest
import structlog
import yaml
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from common.logs import configure
from common.telemetry import Figure, Values, registered, served
from components.database import EmptyDatabase
from components.hostile import everything
from components.processes import HOST, free_port
from components.rows import T0
from components.telemetry import get
from leadsman.cli.options import FORMS
from leadsman.cli.present.findings import finding_rows
from leadsman.cli.present.story import EVERY_LINE, print_story
from leadsman.cli.present.tables import raw_rows, show, show_document
from leadsman.web.assistant.server import _seen
from leadsman.web.assistant.tools import Tools
from leadsman.web.reading.figures import read_figures
from leadsman.web.reading.scope import RequestedRange
from leadsman.web.rendering.report import write_report
from leadsman.web.site.pages import Request, find_of, node_of, numa_of, overview_of
from sql.database.open import Database, Result
from sql.questions.queries import run, with_forms
from streams.alerting.receivers.alert_states import Received
from streams.alerting.receivers.pagerduty import event, message
from streams.alerting.receivers.pushing import slack_message
from streams.kafka.messages.alerts import AlertMessage

pytestmark = pytest.mark.engine

MARK: Final = "INJECTED"
NAME: Final = (
    "=cmd|' /C calc'!A0 <img src=x onerror=alert(1)></script><script>alert(2)</script>'\"`; DROP TABLE nodes; -- "
    "[x](javascript:alert(3)) <!channel> {{7*7}} ${jndi:x} %(x)s %s %n ../../../etc/passwd \\ | "
    "\x1b]0;t\x07\x1b[31m\x9b31m\u202egpj\u200b\u2066\xad\ufeff\U000e0041\x00\t"
    f"\u2028{MARK}\r\n{MARK}: 1\n# {MARK}\n=1+1;=2"
)
FORMULA: Final = tuple("=+-@\t\r")
NOW: Final = T0 + timedelta(minutes=1)


@pytest.fixture(scope="module")
def db(empty_database: EmptyDatabase) -> Iterator[Database]:
    with empty_database() as database:
        everything(database, NAME)
        yield database


def check(text: str) -> None:
    """One has every character in view, and no line that a cluster began."""
    unseen = {letter for letter in text if unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} - {"\n"}
    assert not unseen, sorted(map(ascii, unseen))
    assert not [line for line in text.splitlines() if line.lstrip("# ").startswith(MARK)]


class Elements(HTMLParser):
    """The elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def check_page(text: str) -> None:
    check(text)
    assert MARK in text
    for tag, attributes in Elements(text).found:
        assert tag not in {"img", "iframe", "object", "embed", "base"}
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
        for name in {"href", "src", "action"} & attributes.keys():
            scheme, colon, _ = (attributes[name] or "").partition(":")
            assert not colon or "/" in scheme or "?" in scheme or scheme in {"data", "https"}, (tag, attributes[name])


def check_form(text: str, form: str) -> None:
    check(text)
    match form:
        case "json":
            json.loads(text)
        case "yaml":
            yaml.safe_load(text)
        case "csv":
            cells = [cell for line in csv.reader(io.StringIO(text)) for cell in line]
            assert not [cell for cell in cells if cell.startswith(FORMULA) and not _is_number(cell)]


def _is_number(cell: str) -> bool:
    try:
        return bool(float(cell) or True)
    except ValueError:
        return False


@pytest.fixture(scope="module")
def answers(db: Database) -> list[Result]:
    """The answer to each saved question, which each form shows."""
    return [run(db, question, {}) for question in with_forms()]


@pytest.mark.parametrize("form", FORMS)
def test_in_the_answer_to_each_saved_question(
    answers: list[Result], form: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "4000")
    answered = 0
    for answer in answers:
        show(answer, form)
        text = capsys.readouterr().out
        check_form(text, form)
        answered += MARK in text
    assert answered > 15


def test_in_what_look_prints(db: Database, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = print_story(db, ["c"], Console(width=100_000, highlight=False, markup=False), None, EVERY_LINE, "")
    rows = finding_rows(found)
    texts = {"table": capsys.readouterr().out}
    for form in ("json", "yaml"):
        show_document(rows, form)
        texts[form] = capsys.readouterr().out
    show(raw_rows(list(rows[0]), [list(each.values()) for each in rows]), "csv")
    texts["csv"] = capsys.readouterr().out
    for form, text in texts.items():
        assert MARK in text
        check_form(text, form)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(lambda db: write_report(db, RequestedRange(), NOW), id="report"),
        pytest.param(lambda db: overview_of(db, Request.of({})), id="overview"),
        pytest.param(lambda db: node_of(db, Request.of({"node": NAME})), id="node"),
        pytest.param(lambda db: numa_of(db, Request.of({})), id="NUMA"),
        pytest.param(lambda db: find_of(db, Request.of({"q": MARK})), id="find"),
    ],
)
def test_in_a_page(db: Database, page: Callable[[Database], str]) -> None:
    check_page(page(db))


@pytest.mark.parametrize("table", ["nodes", "alerts", "timeline"])
def test_in_a_file_of_a_page(db: Database, table: str) -> None:
    text = overview_of(db, Request.of({"csv": table})) or ""
    assert MARK in text
    check_form(text, "csv")


def test_in_answers_of_the_mcp_tools(db: Database) -> None:
    with closing(Tools(db)) as tools:
        for answer in (tools.clusters(), tools.story(last="all"), tools.ask_saved_question("nodes")):
            check("".join(_texts(_seen(answer))).replace("\r", "").replace("\t", ""))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value.replace("\n", "")  # JSON escapes it
        case dict():
            for name, each in value.items():
                yield from _texts([name, each])
        case list():
            for each in value:
                yield from _texts(each)


@pytest.mark.asyncio
async def test_in_metrics(db: Database) -> None:
    found, port = read_figures(db, None), free_port()

    def values(figure: Figure) -> Values:
        return found[figure]

    with registered({figure: partial(values, figure) for figure in found}, list):
        async with served(HOST, port, "page"):
            status, text = await asyncio.to_thread(get, port, "metrics")
    assert (status, MARK in text) == (200, True)
    check(text)
    names = {each.name for each in text_string_to_metric_families(text) if each.samples}
    assert {"leadsman_eviction_room", "leadsman_alerts_firing"} <= names


@pytest.mark.parametrize("status", ["firing", "resolved"])
@pytest.mark.parametrize(
    "reported", [slack_message, partial(event, "key"), message], ids=["Slack", "PagerDuty", "Teams"]
)
def test_in_messages_of_receivers(reported: Callable[[Received], Any], status: Literal["firing", "resolved"]) -> None:
    told_of = AlertMessage(
        status=status,
        fingerprint="f",
        labels={"alertname": "A", "severity": "critical"} | dict.fromkeys(("cluster", "node", "pod"), NAME),
        annotations={"summary": NAME, "description": NAME, "runbook_url": "https://x/A.md"},
        starts_at=T0,
        ends_at=T0,
        updated_at=T0,
    )
    document = reported(Received(told_of, "id", T0))
    for text in _texts(document):
        check(text)
        assert "<!channel>" not in text or reported is not slack_message
    assert msgspec.json.decode(msgspec.json.encode(document)) == document


@pytest.mark.usefixtures("logs_as_before")
@pytest.mark.parametrize("form", ["text", "json"])
def test_in_a_log(form: Literal["text", "json"], capsys: pytest.CaptureFixture[str]) -> None:
    configure(form)
    structlog.get_logger().warning("a stream is degraded", stream=NAME, error=ValueError(NAME), names=[NAME])
    text = capsys.readouterr().out
    assert (text.count("\n"), MARK in text) == (1, True)
    check(text)
