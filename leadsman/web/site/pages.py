"""The pages of the site, each from one address."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from common.clock import SYSTEM
from leadsman.web.reading.alerts import read_alerts
from leadsman.web.reading.detail import read_details
from leadsman.web.reading.evidence import read_evidence
from leadsman.web.reading.overview import read_image_gc, read_node, read_overview, read_spans
from leadsman.web.reading.scope import Asked, BadScope, choose
from leadsman.web.reading.timeline import read_timeline
from leadsman.web.reading.words import KINDS
from leadsman.web.rendering.links import Links
from leadsman.web.rendering.render import node_page, note_page, overview_page
from leadsman.web.rendering.report import EMPTY, empty_commands, empty_texts
from sql.database.open import Database

LINES: Final = 200
LONGEST: Final = 500
"""Characters of one value of an address."""


class NoSuchNode(LookupError):
    """The message names it."""


class Request(NamedTuple):
    """What an address asks for."""

    asked: Asked
    node: str
    kind: str
    shown: Mapping[str, str]
    """What the browser filters by: `q` and `show`."""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Request":
        """Raises BadScope where a value is too long or of no meaning."""
        values = {name: query.get(name, "") for name in (*Asked._fields, "node", "kind", "q", "show")}
        for name, value in values.items():
            if len(value) > LONGEST:
                raise BadScope(f"{name} is longer than {LONGEST} characters")
        if values["kind"] and values["kind"] not in KINDS:
            raise BadScope(f"kind cannot be {values['kind'][:40]!r}: it is one of {', '.join(KINDS)}")
        shown = {name: values[name] for name in ("q", "show")}
        return cls(Asked(*(values[name] for name in Asked._fields)), values["node"], values["kind"], shown)


def overview_of(db: Database, request: Request, now: Callable[[], datetime] = SYSTEM.now) -> str | None:
    """The page of a cluster; None of an empty database. Raises BadScope, DatabaseError."""
    spans = read_spans(db)
    if not spans:
        return None
    view = read_overview(db, choose(spans, request.asked, now()), spans)
    only = view.nodes[0].name if len(view.nodes) == 1 else ""
    story = read_timeline(db, view.scope, view.alerts or (), LINES, kind=request.kind, spans_of=only)
    return overview_page(Links(view.scope, kind=request.kind), view, story, request.shown)


def node_of(db: Database, request: Request, now: Callable[[], datetime] = SYSTEM.now) -> str | None:
    """The page of a node; None of an empty database. Raises NoSuchNode, BadScope, DatabaseError."""
    spans = read_spans(db)
    if not spans:
        return None
    scope = choose(spans, request.asked, now())
    node = read_node(db, scope, request.node) if request.node else None
    if node is None:
        raise NoSuchNode(f"Cluster {scope.cluster} has no node {request.node[:120]!r} in this range.")
    (detail,) = read_details(db, scope, [node])
    evidence = read_evidence(db, scope)
    alerts = read_alerts(db, evidence, request.node)
    story = read_timeline(db, scope, alerts or (), LINES, node=request.node, kind=request.kind, spans_of=request.node)
    gc = read_image_gc(db, scope, request.node)
    links = Links(scope, node=request.node, kind=request.kind)
    return node_page(links, evidence, detail, story, gc, alerts)


def empty_page(db: Database) -> str:
    """What an empty database shows, and what to do."""
    return note_page(Links(), EMPTY, empty_texts(db), empty_commands(db))
