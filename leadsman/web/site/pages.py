"""Builds the pages of the site, each for one address."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import urlencode

from common.clock import SYSTEM
from common.text import match
from leadsman.web.attention.attention import attention
from leadsman.web.attention.episodes import Timeline, kinds_of, timeline
from leadsman.web.reading.alerts import held, read_alerts
from leadsman.web.reading.charts import read_strip
from leadsman.web.reading.detail import read_details
from leadsman.web.reading.evidence import read_last_seen
from leadsman.web.reading.fleet import CHOSEN, Choice
from leadsman.web.reading.nodes import MOST_SIMILAR, find
from leadsman.web.reading.numa_fleet import ORDERS, read_numa_fleet, read_numa_waiting
from leadsman.web.reading.overview import read_node_times, read_overview, read_spans
from leadsman.web.reading.scope import SHORTEST, BadScope, RequestedRange, Scope, choose
from leadsman.web.reading.settings import STEPS, Steps
from leadsman.web.reading.timeline import Filter, read_timeline
from leadsman.web.reading.words import timestamp
from leadsman.web.rendering import csvs
from leadsman.web.rendering.help import runbook_page, runbooks_page
from leadsman.web.rendering.links import ASK, FIND, NODE, NOWHERE, NUMA, RUNBOOKS, Links
from leadsman.web.rendering.node_table import Narrowing, narrowed
from leadsman.web.rendering.render import lines_of, node_page, note_page, numa_page, overview_page, render
from leadsman.web.rendering.report import EMPTY, empty_commands, empty_texts
from sql.database.errors import DatabaseError
from sql.database.open import Database
from streams.alerting.runbook import runbooks

_PAGES: Final = {page.strip("/"): page for page in (ASK, FIND, NODE, NUMA, RUNBOOKS)}
_NAMED: Final = {
    "node": (NODE, "node"),
    "nodes": (NODE, "node"),
    "pod": (FIND, "q"),
    "pods": (FIND, "q"),
    "find": (FIND, "q"),
}
"""Page and parameter of a path that ends in a name."""


def suggested_address(path: str, query: str) -> str:
    """Return the address that a path without a page probably means, with its query, still quoted; empty if there is
    none. Trailing slashes and letter case are ignored: `/runbooks`, `/NUMA/`, `/node/NAME/`.
    """
    head, _, name = path.strip("/").partition("/")
    page = _PAGES.get(head.lower(), "")
    if name:
        page, query = _of_name(head.lower(), name, query)
    return f"{page}?{query}" if page and query else page


def _of_name(head: str, name: str, query: str) -> tuple[str, str]:
    if head == RUNBOOKS.strip("/"):
        known = {each.lower(): each for each in runbooks()}
        found = known.get(name.lower().removesuffix(".md"))
        return (RUNBOOKS + found if found else ""), query
    page, key = _NAMED.get(head, ("", ""))
    return page, "&".join(filter(None, (query, urlencode({key: name}))))


EPISODES: Final = 200
LONGEST: Final = 500
"""Maximum number of characters of one value of an address."""
_SHOWN: Final = tuple(dict.fromkeys((*CHOSEN, *Narrowing._fields, *Filter._fields, "numa")))


class NoSuchNode(LookupError):
    """The node is not in the range.

    The texts have what is known of it; `alternatives` are names and addresses of ranges that contain it.
    """

    def __init__(self, links: Links, texts: Sequence[str], alternatives: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(" ".join(texts))
        self.links, self.texts, self.alternatives = links, texts, alternatives


class Redirect(Exception):
    """Another page of this site answers the request; the message is its address."""


class NoSuchRunbook(LookupError):
    """There is no such runbook.

    The message names it; `alternatives` has the name and address of the most similar one.
    """

    def __init__(self, message: str, alternatives: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__(message)
        self.alternatives = alternatives


class Request(NamedTuple):
    range: RequestedRange
    node: str
    shown: Mapping[str, str]
    """Choices of the page's map, timeline and table of nodes."""
    filters: Filter
    """Filter of the timeline."""
    choice: Choice
    narrowing: Narrowing
    numa: str = ""
    """Order of the NUMA nodes."""
    live: bool = False
    csv: str = ""
    """The table to return as a file; empty for the page."""

    @classmethod
    def of(cls, query: Mapping[str, str], steps: Steps = STEPS) -> "Request":
        """Raises BadScope if a value is too long or unknown."""
        values = {name: query.get(name, "") for name in (*RequestedRange._fields, "node", "live", "csv", *_SHOWN)}
        for name, value in values.items():
            if len(value) > LONGEST:
                raise BadScope(f"{name} is longer than {LONGEST} characters")
        if values["numa"] not in ORDERS:
            raise BadScope(f"numa cannot be {values['numa'][:40]!r}: it is one of {', '.join(filter(None, ORDERS))}")
        requested = RequestedRange(*(values[name] for name in RequestedRange._fields))
        return cls(
            requested,
            values["node"],
            {name: values[name] for name in _SHOWN},
            Filter.of(values),
            Choice.of(values, steps),
            Narrowing.of(values),
            values["numa"],
            values["live"] == "1" and not requested.until,
            values["csv"],
        )

    def table(self, tables: Mapping[str, Callable[[], str]]) -> str:
        """Return the requested table. Raises BadScope if the page has no such table."""
        if self.csv not in tables:
            raise BadScope(f"csv cannot be {self.csv[:40]!r}: it is one of {', '.join(tables)}")
        return tables[self.csv]()


Now: TypeAlias = Callable[[], datetime | None]
"""The time of a request for a live page; None if the data is not live: it is then judged at its own end."""


def overview_of(db: Database, request: Request, now: Now = SYSTEM.now) -> str | None:
    """Return the page of a cluster; None for an empty database. Raises BadScope and DatabaseError."""
    db = db.noting_empty_tables()
    spans = read_spans(db)
    if not spans:
        return None
    view = read_overview(db, choose(spans, request.range, now()), spans)
    filters = request.filters

    def story(episodes: int) -> Timeline:
        kinds = kinds_of(filters)
        happened = read_timeline(db, view.scope, view.alerts or (), view.image_gc, filters=filters, kinds=kinds)
        return timeline(happened, view.scope, episodes, filters)

    if request.csv:
        lines = narrowed(lines_of(view, attention(view)), request.narrowing, request.choice)
        return request.table(
            {
                "nodes": partial(csvs.nodes, lines),
                "alerts": partial(csvs.alerts, view.alerts or ()),
                "timeline": lambda: csvs.timeline(story(csvs.EPISODES)),
            }
        )
    links = Links(view.scope, live=request.live, shown=request.shown)
    return overview_page(links, view, story(EPISODES), request.choice, request.narrowing)


def find_of(db: Database, request: Request, now: Now = SYSTEM.now) -> str | None:
    """List nodes and pods with a name; None without a name.

    Raises Redirect for a single match, BadScope and DatabaseError.
    """
    db = db.noting_empty_tables()
    spans = read_spans(db)
    if not spans:
        return None
    scope = choose(spans, request.range, now())
    links = Links(scope, path=FIND, live=request.live)
    result = find(db, scope, request.narrowing.q)
    if result.only is not None:
        raise Redirect(links.match(result.only))
    values = {"scope": scope, "result": result, "evidence": read_last_seen(db, scope), "inline": None}
    return render("find.html.j2", links, values)


def numa_of(db: Database, request: Request, now: Now = SYSTEM.now) -> str | None:
    """Return the page of NUMA nodes; None for an empty database. Raises BadScope and DatabaseError."""
    db = db.noting_empty_tables()
    spans = read_spans(db)
    if not spans:
        return None
    view = read_overview(db, choose(spans, request.range, now()), spans)
    numa = read_numa_fleet(db, view, request.numa)
    if request.csv:
        return request.table({"numa": partial(csvs.numa_nodes, numa)})
    links = Links(view.scope, path=NUMA, live=request.live, shown=request.shown)
    waiting = read_numa_waiting(db, view, numa)
    return numa_page(links, view, numa, waiting, request.numa, int(request.narrowing.page or 1))


def node_of(db: Database, request: Request, now: Now = SYSTEM.now) -> str | None:
    """Return the page of a node; None for an empty database. Raises NoSuchNode, BadScope and DatabaseError."""
    db = db.noting_empty_tables()
    spans = read_spans(db)
    if not spans:
        return None
    scope = choose(spans, request.range, now())
    view = read_overview(db, scope, spans, request.node) if request.node else None
    if view is None or not view.nodes:
        raise _missing(db, request, scope)
    scope = view.scope
    (detail,) = read_details(db, scope, view.nodes)
    filters = request.filters._replace(on="")
    happened = read_timeline(
        db, scope, view.alerts or (), view.image_gc, node=request.node, filters=filters, kinds=kinds_of(filters)
    )
    story = timeline(happened, scope, csvs.EPISODES if request.csv else EPISODES, filters)
    if request.csv:
        return request.table(
            {
                "alerts": partial(csvs.alerts, view.alerts or ()),
                "timeline": partial(csvs.timeline, story),
                "pods": partial(csvs.pods, detail),
                "evicted": partial(csvs.evicted, detail),
            }
        )
    links = Links(scope, node=request.node, live=request.live, shown=request.shown)
    strip = read_strip(db, scope, next(span for span in spans if span.cluster == scope.cluster), detail.node)
    return node_page(links, view, detail, strip, happened, story)


def _missing(db: Database, request: Request, scope: Scope) -> NoSuchNode:
    """Raise NoSuchNode, with ranges of the same length, before and after, that contain the node."""
    links = Links(scope, path=NOWHERE, live=request.live)
    if not request.node:
        return NoSuchNode(links, ["The address names no node."])
    name = f"{request.node[:120]!r}"
    span = f"{timestamp(scope.since)} to {timestamp(scope.until)} UTC"
    texts = [f"Cluster {scope.cluster} has no node {name} from {span}."]
    alternatives = []
    length = max(scope.until - scope.since, SHORTEST)
    seen = read_node_times(db, scope, request.node)
    if seen.before is not None:
        texts.append(f"It was last seen at {timestamp(seen.before)} UTC.")
        end = seen.before.replace(microsecond=0) + timedelta(seconds=1)
        alternatives.append((f"Node {name} until then", links.node_then(request.node, end - length, end)))
    if seen.deleted_at is not None:
        texts.append(f"At {timestamp(seen.deleted_at)} UTC its Node object was found deleted.")
    if seen.after is not None:
        texts.append(f"After this range it was first seen at {timestamp(seen.after)} UTC.")
        start = seen.after.replace(microsecond=0)
        alternatives.append((f"Node {name} from then on", links.node_then(request.node, start, start + length)))
    if seen == (None, None, None):
        texts.append("No stored data names it. Check the spelling and the cluster.")
        found = find(db, scope, request.node).matches[:MOST_SIMILAR]
        alternatives += [(each.titled, links.match(each)) for each in found]
    return NoSuchNode(links, texts, alternatives)


_HELD: Final = "One process at a time can write to it: first end the one that serves this page."


def empty_page(db: Database) -> str:
    """Render the page of an empty database, with the commands that fill it."""
    return note_page(Links(), EMPTY, [*empty_texts(db), *([_HELD] if db.embedded else [])], empty_commands(db))


def runbook_of(db: Database, request: Request, name: str, now: Now = SYSTEM.now) -> str:
    """Return a runbook with its alerts in the range, and the next steps for the requested node.

    It works without a database. Raises NoSuchRunbook and BadScope.
    """
    runbook = runbooks().get(name)
    if runbook is None:
        similar = match(name, runbooks())
        alternatives = (
            [(f"Runbook of {similar}", Links(request.range, node=request.node, live=request.live).runbook(similar))]
            if similar
            else []
        )
        raise NoSuchRunbook(f"There is no runbook of an alert {name[:80]!r}.", alternatives)
    path = RUNBOOKS + name
    try:
        db = db.noting_empty_tables()
        spans = read_spans(db)
        scope = choose(spans, request.range, now()) if spans else None
        evidence = None if scope is None else read_last_seen(db, scope)
        alerts = None if evidence is None else read_alerts(db, evidence, request.node)
        found = None if alerts is None else [alert for alert in alerts if alert.name == name]
        fires = evidence and request.node and held(found or (), evidence)
        view = read_overview(db, scope, spans, request.node) if scope and fires else None
        items = [item for item in attention(view) if name in item.alerts] if view else []
    except DatabaseError:
        return runbook_page(Links(request.range, node=request.node, path=path), runbook, None, None)
    links = Links(scope or request.range, node=request.node, path=path, live=request.live)
    return runbook_page(links, runbook, found, evidence, items)


def runbooks_of(request: Request) -> str:
    return runbooks_page(Links(request.range, path=RUNBOOKS, live=request.live))
