"""Renders HTML. Everything is escaped; data for the browser is JSON in a block that is not a script."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from common.amounts import counted
from common.text import plain, visible
from leadsman.web.attention.attention import attention, named
from leadsman.web.attention.badges import Badge, Severity, badges, by_urgency
from leadsman.web.attention.episodes import Episode, Timeline, fold
from leadsman.web.attention.item import Item
from leadsman.web.attention.unknown import unknowns
from leadsman.web.reading import words
from leadsman.web.reading.alerts import group_alerts, held
from leadsman.web.reading.ask import RowDict
from leadsman.web.reading.charts import Chart, Strip
from leadsman.web.reading.detail import Detail
from leadsman.web.reading.evidence import absent, age, freshness, gaps, looked_at, nothing_found
from leadsman.web.reading.fleet import GROUPS, ORDERS, ROOMS, Choice, fleet, soonest
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.numa_fleet import ORDERS as NUMA_ORDERS
from leadsman.web.reading.numa_fleet import NumaFleet, Waiting
from leadsman.web.reading.overview import Overview, narrowed
from leadsman.web.reading.scope import ALL, QUICK, Scope, address_time
from leadsman.web.reading.timeline import Happened
from leadsman.web.rendering.lanes import lanes_of, pressure_of
from leadsman.web.rendering.links import FIND, Links, ReportLinks
from leadsman.web.rendering.markdown import runbook_html, step_html
from leadsman.web.rendering.node_table import PAGE, Line, Narrowing, common_suffix, node_table
from leadsman.web.rendering.plot import ChartData, Plot, axis_of, plot_of, spark, strip_of
from streams.alerting.runbook import runbooks
from streams.fold.findings import BLIND_VERDICTS, BROKEN_GC, image_gc_head
from streams.rules.eviction.signals import describe_signal

FOLDER: Final = Path(__file__).parent
STATIC: Final = FOLDER / "static"
STYLES: Final = ("page.css", "charts.css", "fleet.css", "help.css", "print.css")
SCRIPTS: Final = ("page.js", "times.js", "charts.js", "fleet.js")
NAME: Final = 300
FORMS: Final = {"clock": words.clock, "timestamp": words.timestamp, "short": words.short}
ZONE: Final = Markup('<span class="zone">UTC</span>')
"""The time zone, shown after times."""
GC_SHOWN: Final = 20
ALERTS_SHOWN: Final = 200
NUMA_DRAWN: Final = 300
"""Maximum number of nodes with a column on the page of NUMA nodes."""
QUICK_TEXTS: Final = (*((name, f"Last {name}") for name in QUICK), (ALL, "All"))


class Inline(NamedTuple):
    """Inline styles and scripts of a page without a server; `policy` allows exactly these."""

    policy: str
    icon: str
    theme: Markup
    style: Markup
    page: Markup


def overview_page(links: Links, view: Overview, story: Timeline, choice: Choice, narrowing: Narrowing) -> str:
    return render("overview.html.j2", links, {**_cluster(view, story, choice, narrowing), "inline": None})


def node_page(links: Links, view: Overview, detail: Detail, strip: Strip, happened: Happened, story: Timeline) -> str:
    plots = plots_of(detail.charts, view.scope, fold(happened.happenings, view.scope))
    values = {
        **_cards(view),
        "scope": view.scope,
        "detail": detail,
        "story": story,
        "gc": view.image_gc,
        "alerts": view.alerts,
        "inline": None,
        "plots": plots,
        "strip": strip_of(strip, view.scope),
        "charts": [plot.data for plot in plots],
    }
    return render("node.html.j2", links, values)


def numa_page(
    links: Links, view: Overview, numa: NumaFleet, waiting: Sequence[Waiting], order: str, page: int
) -> str:
    """Render the page of a fleet's NUMA nodes: one page of rows, and a column for each of the first nodes."""
    items = attention(view)
    pages = max(1, -(-len(numa.lines) // PAGE))
    page = min(max(1, page), pages)
    shown = numa.lines[(page - 1) * PAGE : page * PAGE]
    drawn = numa.lines[:NUMA_DRAWN]
    values = {
        "view": view,
        "evidence": view.evidence,
        "numa": numa,
        "waiting": waiting,
        "shown": shown,
        "drawn": drawn,
        "numbers": sorted({band.number for line in drawn for band in line.bands}),
        "badges_of": {line.node.name: badges_of(line.node, items) for line in shown},
        "table": {"suffix": common_suffix([line.node.name for line in numa.lines])},
        "page": page,
        "pages": pages,
        "order": order,
        "numa_orders": NUMA_ORDERS,
        "inline": None,
    }
    return render("numa.html.j2", links, values)


def report_file(
    links: ReportLinks,
    view: Overview,
    happened: Happened,
    story: Timeline,
    details: Sequence[Detail],
    warnings: Mapping[str, Sequence[RowDict]],
    written: datetime,
    choice: Choice,
) -> str:
    """Render one file that needs no server; `warnings` are those of each node in detail."""
    parts: list[dict[str, Any]] = []
    data: list[ChartData] = []
    for each in details:
        on_node = [one for one in happened.happenings if one.node == each.node.name]
        plots = plots_of(each.charts, view.scope, fold(on_node, view.scope), len(data))
        on_it = narrowed(view, each.node, warnings.get(each.node.name, ()))
        parts.append({**_cards(on_it), "detail": each, "plots": plots})
        data += [plot.data for plot in plots]
    values = {
        **_cluster(view, story, choice),
        "details": parts,
        "written": written.astimezone(UTC),
        "runbooks": [(each, runbook_html(runbooks()[each], links, 2)) for each in links.runbooks_within],
        "inline": inline(),
        "charts": data,
    }
    return render("report.html.j2", links, values)


def note_page(
    links: Links,
    heading: str,
    texts: Iterable[str],
    commands: Iterable[tuple[str, str]] = (),
    *,
    alternatives: Iterable[tuple[str, str]] = (),
    alone: bool = False,
) -> str:
    """Render a page of a few sentences, commands and `alternatives` (names and addresses). `alone` makes it one
    file.
    """
    values = {
        "heading": heading,
        "texts": list(texts),
        "commands": list(commands),
        "alternatives": list(alternatives),
        "inline": inline() if alone else None,
    }
    return render("note.html.j2", links, values)


@cache
def inline() -> Inline:
    """Return styles and scripts within a file, and the policy that allows no others."""
    theme = _static("theme.js")
    page = "\n".join(_static(name) for name in SCRIPTS)
    style = "\n".join(_static(name) for name in STYLES)
    scripts = " ".join(_hash(each) for each in (theme, page))
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src {_hash(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    icon = "data:image/svg+xml;base64," + base64.b64encode((STATIC / "icon.svg").read_bytes()).decode()
    return Inline(policy, icon, *(Markup(each) for each in (theme, style, page)))  # noqa: S704 - our own files


def json_block(value: object) -> Markup:
    """Return JSON for a block of type application/json: no text in it can end the block or be markup."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - escaped in the lines above


def is_web(address: str) -> bool:
    """Tell whether an address in an alert may become a link."""
    try:
        return urlsplit(address).scheme in {"http", "https"}
    except ValueError:
        return False


def shown(text: object, limit: int = NAME) -> str:
    """Return text of a cluster without invisible characters; the template escapes markup."""
    return plain(text, limit)


def timed(at: datetime, form: str = "clock") -> Markup:
    """Render a time in UTC that a script of the page converts to the reader's zone; `form` is a name of FORMS."""
    return Markup('<time datetime="{}" data-form="{}">{}</time>').format(at.isoformat(), form, FORMS[form](at))


def _make_visible(value: object) -> object:
    """Make a text safe for a page, even if a template omitted `plain`; markup stays unchanged."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_FILTERS: Final[tuple[Callable[..., object], ...]] = (
    *(words.amount, words.clock, words.count, words.duration, words.timestamp, words.percent, words.resource),
    *(words.sentence, words.size, group_alerts, describe_signal, counted, address_time, json_block),
    *(absent, age, freshness, gaps, looked_at, nothing_found, timed, spark),
)


@cache
def environment() -> Environment:
    jinja = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_make_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    jinja.filters |= {each.__name__: each for each in _FILTERS} | {"plain": shown, "step": step_html}
    jinja.tests |= {"is_web": is_web}
    jinja.globals |= {
        "find_at": FIND,
        "now_utc": lambda: datetime.now(UTC),
        "quick": QUICK_TEXTS,
        "kinds": words.KINDS,
        "rooms": ROOMS,
        "groups": GROUPS,
        "orders": ORDERS,
        "image_gc_head": image_gc_head,
        "blind_verdicts": BLIND_VERDICTS,
        "strategies": words.STRATEGIES,
        "BROKEN_GC": BROKEN_GC,
        "styles": STYLES,
        "scripts": SCRIPTS,
        "zone": ZONE,
        "GC_SHOWN": GC_SHOWN,
        "UNKNOWN": Severity.UNKNOWN.value,
        "ALERTS_SHOWN": ALERTS_SHOWN,
        "version": _version(),
    }
    return jinja


def render(template: str, links: Links, values: Mapping[str, Any]) -> str:
    return environment().get_template(template).render(links=links, **values)


def plots_of(charts: Sequence[Chart], scope: Scope, episodes: Sequence[Episode], first: int = 0) -> list[Plot]:
    """Return the drawn charts of a node, numbered from `first`, with its episodes in their lanes."""
    axis = axis_of(charts, scope)
    return [
        plot_of(chart, number, axis, lanes_of(chart, episodes, scope), pressure_of(chart, episodes, scope))
        for number, chart in enumerate(charts, start=first)
    ]


def _cluster(
    view: Overview,
    story: Timeline,
    choice: Choice = Choice(),  # noqa: B008 - it cannot be changed
    narrowing: Narrowing = Narrowing(),  # noqa: B008 - it cannot be changed
) -> dict[str, Any]:
    cards = _cards(view)
    lines = lines_of(view, cards["items"])
    table = node_table(lines, narrowing, choice)
    evidence = view.evidence
    as_of = age(evidence.last_at, view.scope) if evidence.aged and evidence.last_at else ""
    return {
        **cards,
        "view": view,
        "story": story,
        "fleet": fleet(view.nodes, choice, as_of) if len(view.nodes) > 1 else None,
        "as_of": as_of,
        "soon": soonest(view.nodes, view.scope, table.suffix),
        "table": table,
        "unknowns": unknowns(view),
        "asked_q": narrowing.q,
        "asked_show": narrowing.show,
        "asked_level": choice.level,
        "figures": {
            "not_ready": sum(node.not_ready for node in view.nodes),
            "urgent": sum(line.urgent for line in lines),
            "unknown": sum(node.stale and node.deleted_at is None for node in view.nodes),
            "pending": sum(row["pods"] for row in view.waiting),
            "evicted": sum(node.evicted.ended for node in view.nodes),
            "rejected": sum(node.evicted.admission for node in view.nodes),
            "firing": len(held(view.alerts or (), evidence)),
        },
    }


def _cards(view: Overview) -> dict[str, Any]:
    items = attention(view)
    return {
        "evidence": view.evidence,
        "items": items,
        "now": [item for item in items if item.now],
        "earlier": [item for item in items if not item.now],
        "badges": badges_of(view.nodes[0], items) if view.node else [],
    }


def lines_of(view: Overview, items: Sequence[Item]) -> list[Line]:
    """Return every node with its badges, most urgent first."""
    urgent = {name for item in items if item.now and item.severity < Severity.UNKNOWN for name in item.nodes}
    lines = [Line(node, badges_of(node, items), node.name in urgent) for node in by_urgency(view.nodes)]

    def turn(line: Line) -> tuple[bool, int]:
        return not line.urgent, line.badges[0].severity if line.badges else len(Severity)

    return sorted(lines, key=turn)


def badges_of(node: NodeLine, items: Sequence[Item]) -> list[Badge]:
    """Return a node's badges; if none is serious, also that of the card that names the node."""
    own = badges(node)
    if own and own[0].severity < Severity.UNKNOWN:
        return own
    found = named(node, items)
    return [*found, *(badge for badge in own if badge.text not in {each.text for each in found})]


def _static(name: str) -> str:
    return (STATIC / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _version() -> str:
    try:
        return version("leadsman")
    except PackageNotFoundError:
        return "of a checkout"
