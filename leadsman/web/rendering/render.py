"""HTML of what was read. Everything is escaped; data for the browser is JSON in a block that is no script."""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from common.text import plain
from leadsman.web.attention.attention import attention, named
from leadsman.web.attention.badges import BROKEN_GC, Badge, Severity, badges, by_urgency, pins
from leadsman.web.attention.item import Item
from leadsman.web.attention.unknown import unknowns
from leadsman.web.reading import words
from leadsman.web.reading.alerts import Alert
from leadsman.web.reading.asked import RowDict
from leadsman.web.reading.charts import Chart, ChartData
from leadsman.web.reading.detail import Detail
from leadsman.web.reading.evidence import Evidence, freshness, nothing_found
from leadsman.web.reading.fleet import GROUPS, ORDERS, ROOMS, Choice, fleet
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.overview import Overview
from leadsman.web.reading.scope import ALL, QUICK, Scope, address_time
from leadsman.web.reading.soon import soonest
from leadsman.web.reading.timeline import Timeline
from leadsman.web.rendering.links import Links, ReportLinks
from leadsman.web.rendering.markdown import runbook_html
from leadsman.web.rendering.node_table import Line, Narrowing, node_table
from streams.alerting.runbook import runbooks

FOLDER: Final = Path(__file__).parent
STATIC: Final = FOLDER / "static"
NAME: Final = 300
MAIN_CHARTS: Final = 4
GC_SHOWN: Final = 20
ALERTS_SHOWN: Final = 200
QUICK_TEXTS: Final = (*((name, f"Last {name}") for name in QUICK), (ALL, "All"))


class Inline(NamedTuple):
    """What a page that asks no server has within it; `policy` allows exactly these."""

    policy: str
    icon: str
    theme: Markup
    style: Markup
    uplot: Markup
    page: Markup


class Numbers:
    """Gives each chart that is drawn its number, and keeps their data in that order."""

    def __init__(self) -> None:
        self.data: list[ChartData] = []

    def next(self, chart: Chart) -> int:
        self.data.append(chart.data)
        return len(self.data) - 1


def overview_page(links: Links, view: Overview, story: Timeline, choice: Choice, narrowing: Narrowing) -> str:
    """The page of a cluster."""
    return render("overview.html.j2", links, {**_cluster(view, story, choice, narrowing), "inline": None})


def node_page(
    links: Links,
    evidence: Evidence,
    detail: Detail,
    story: Timeline,
    gc: Sequence[RowDict],
    alerts: Sequence[Alert] | None,
) -> str:
    """The page of a node."""
    values = {
        "scope": evidence.scope,
        "evidence": evidence,
        "detail": detail,
        "badges": badges(detail.node),
        "story": story,
        "gc": gc,
        "alerts": alerts,
        "inline": None,
        **_charts(evidence.scope),
    }
    return render("node.html.j2", links, values)


def report_file(
    links: ReportLinks, view: Overview, story: Timeline, details: Sequence[Detail], written: datetime
) -> str:
    """One file that needs no server."""
    values = {
        **_cluster(view, story),
        "details": [{"detail": each, "badges": badges(each.node)} for each in details],
        "written": written.astimezone(UTC),
        "runbooks": [(each, runbook_html(runbooks()[each], links, 2)) for each in links.runbooks_within],
        "inline": inline(),
        **_charts(view.scope),
    }
    return render("report.html.j2", links, values)


def note_page(
    links: Links, heading: str, texts: Iterable[str], commands: Iterable[tuple[str, str]] = (), *, alone: bool = False
) -> str:
    """A page of a few sentences and commands; `alone` makes it one file."""
    values = {
        "heading": heading,
        "texts": list(texts),
        "commands": list(commands),
        "inline": inline() if alone else None,
    }
    return render("note.html.j2", links, values)


@cache
def inline() -> Inline:
    """Styles and scripts within a file, and the policy that allows no others."""
    theme, uplot, page = (_static(name) for name in ("theme.js", "uplot.min.js", "page.js"))
    page += _static("fleet.js")
    style = "\n".join(_static(name) for name in ("uplot.min.css", "page.css", "fleet.css", "help.css", "print.css"))
    scripts = " ".join(_hash(each) for each in (theme, uplot, page))
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    icon = "data:image/svg+xml;base64," + base64.b64encode((STATIC / "icon.svg").read_bytes()).decode()
    return Inline(policy, icon, *(Markup(each) for each in (theme, style, uplot, page)))  # noqa: S704 - our own files


def json_block(value: object) -> Markup:
    """JSON for a block of type application/json: no text in it can end the block or be markup."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - escaped in the lines above


def is_web(address: str) -> bool:
    """Whether an address that an alert carries may be a link."""
    try:
        return urlsplit(address).scheme in {"http", "https"}
    except ValueError:
        return False


def shown(text: object, limit: int = NAME) -> str:
    """Text of a cluster without what cannot be seen; markup in it is escaped where it is put."""
    return plain(text, limit)


@cache
def environment() -> Environment:
    """The templates and their filters."""
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters = (words.amount, words.clock, words.count, words.duration, words.moment, words.percent, words.resource)
    made.filters |= {
        each.__name__: each
        for each in (
            *filters,
            words.sentence,
            words.size,
            words.some,
            address_time,
            json_block,
            freshness,
            nothing_found,
        )
    }
    made.filters |= {"plain": shown, "freshness": freshness, "nothing_found": nothing_found}
    made.tests |= {"is_web": is_web, "pinning": pins}
    made.globals |= {
        "now_utc": lambda: datetime.now(UTC),
        "quick": QUICK_TEXTS,
        "kinds": words.KINDS,
        "rooms": ROOMS,
        "groups": GROUPS,
        "orders": ORDERS,
        "gc_verdicts": words.GC_VERDICTS,
        "blind_verdicts": words.BLIND_VERDICTS,
        "strategies": words.STRATEGIES,
        "BROKEN_GC": BROKEN_GC,
        "MAIN_CHARTS": MAIN_CHARTS,
        "GC_SHOWN": GC_SHOWN,
        "UNKNOWN": Severity.UNKNOWN.value,
        "ALERTS_SHOWN": ALERTS_SHOWN,
        "version": _version(),
    }
    return made


def render(template: str, links: Links, values: Mapping[str, Any]) -> str:
    return environment().get_template(template).render(links=links, **values)


def _charts(scope: Scope) -> dict[str, Any]:
    numbers = Numbers()

    def charts() -> dict[str, object]:
        return {"since": int(scope.since.timestamp()), "until": int(scope.until.timestamp()), "charts": numbers.data}

    return {"numbers": numbers, "charts": charts}


def _cluster(
    view: Overview,
    story: Timeline,
    choice: Choice = Choice(),  # noqa: B008 - it cannot be changed
    narrowing: Narrowing = Narrowing(),  # noqa: B008 - it cannot be changed
) -> dict[str, Any]:
    items = attention(view)
    lines = [Line(node, badges_of(node, items)) for node in by_urgency(view.nodes)]
    lines.sort(key=lambda line: line.badges[0].severity if line.badges else len(Severity))
    table = node_table(lines, narrowing)
    return {
        "view": view,
        "evidence": view.evidence,
        "story": story,
        "now": [item for item in items if item.now],
        "earlier": [item for item in items if not item.now],
        "fleet": fleet(view.nodes, choice) if len(view.nodes) > 1 else None,
        "soon": soonest(view.nodes, view.scope, table.suffix),
        "table": table,
        "unknowns": unknowns(view),
        "asked_q": narrowing.q,
        "asked_show": narrowing.show,
        "asked_level": narrowing.level,
        "figures": {
            "not_ready": sum(node.known and not node.ready for node in view.nodes),
            "urgent": sum(line.urgent for line in lines),
            "unknown": sum(node.stale for node in view.nodes),
            "pending": sum(row["pods"] for row in view.waiting),
            "evicted": sum(node.evicted.pressure + node.evicted.own_limit for node in view.nodes),
            "rejected": sum(node.evicted.admission for node in view.nodes),
            "firing": sum(alert.firing for alert in view.alerts or ()),
        },
    }


def badges_of(node: NodeLine, items: Sequence[Item]) -> list[Badge]:
    """Its own; where none is serious, also that of the card that names it."""
    own = badges(node)
    return own if own and own[0].severity < Severity.UNKNOWN else [*named(node, items), *own]


def _static(name: str) -> str:
    return (STATIC / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _version() -> str:
    try:
        return version("leadsman")
    except PackageNotFoundError:
        return "of a checkout"
