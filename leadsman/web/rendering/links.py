"""Targets of a page's links: addresses of the site, or places within the report."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from leadsman.web.reading.nodes import Match
from leadsman.web.reading.scope import RequestedRange, Scope, address_time
from leadsman.web.reading.words import KINDS
from sql.questions.queries import BY, SavedQuery, chosen
from streams.alerting.runbook import runbooks

HOME: Final = "/"
NODE: Final = "/node"
ASK: Final = "/ask"
EVENTS: Final = "/events"
RUNBOOKS: Final = "/runbooks/"
GIVEN: Final = "p."
"""Prefix of a question's parameters in an address."""
NUMA: Final = "/numa"
FIND: Final = "/find"
NOWHERE: Final = "/none"
"""Address of a page that does not exist; its text explains why."""
OF_CLUSTER: Final = frozenset({"scheduler", "unknown"})
WITHIN_PART: Final = frozenset({"margins", "order", "numa", "fit"})
"""Sections of a node's part of a report."""
ANSWERED: Final = {
    "disk_growth": "margins",
    "events": "timeline",
    "evicted_pods": "order",
    "fit": "fit",
    "image_gc": "image-gc",
    "next_eviction": "order",
    "node_volumes": "scheduler",
    "numa_map": "numa",
    "numa_whatif": "numa",
    "oom_storms": "timeline",
    "pending_pods": "scheduler",
    "pending_resizes": "attention",
    "pressure_history": "timeline",
    "refused_pods": "timeline",
    "requests": "order",
    "source_errors": "unknown",
    "unguarded_signals": "margins",
}
"""The section of a report that answers a saved question, for readers without the database."""
OF_NODE: Final = {"nodes": "margins"}
"""Sections of a cluster's page that have another name on a node's page."""


class Links:
    """Links of a page of the site. Every address has the range, and whether the page is live."""

    site = True

    def __init__(
        self,
        scope: Scope | RequestedRange | None = None,
        *,
        node: str = "",
        path: str = "",
        live: bool = False,
        shown: Mapping[str, str] = {},
    ) -> None:
        self._scope = ({} if scope is None else scope.address()) | ({"live": "1"} if live else {})
        self._moves = scope.now is not None if isinstance(scope, Scope) else "until" not in self._scope
        self._range = (scope.since, scope.until) if isinstance(scope, Scope) else None
        self._wider = _around(scope) if isinstance(scope, Scope) else None
        self._shown = {name: value for name, value in shown.items() if value}
        self.live = live
        self.at_node = node
        self.at_cluster = self._scope.get("cluster", "")
        self.kind = self._shown.get("kind", "")
        self.path = path or (NODE if node else HOME)

    @property
    def live_cluster(self) -> str:
        """Return the cluster if this page can be live; empty if its data is not, or if the range has a fixed end."""
        return self._scope.get("cluster", "") if self._moves and self.path in {HOME, NODE, NUMA} else ""

    def home(self) -> str:
        return _address(HOME, self._scope)

    def node(self, name: str) -> str:
        return _address(NODE, {**self._scope, "node": name})

    def node_then(self, name: str, since: datetime, until: datetime) -> str:
        kept = {**_only(self._scope, "cluster"), "node": name}
        return _address(NODE, {**kept, "since": address_time(since), "until": address_time(until)})

    def match(self, match: Match) -> str:
        """Return the page for a match: of a node, or for a pod its node's eviction order, pending pods or the
        story.
        """
        if not match.node:
            return f"{self.home()}#{'timeline' if match.gone else 'scheduler'}"
        return self.node(match.node) + ("#order" if match.kind == "pod" else "")

    def numa(self) -> str:
        return _address(NUMA, self._scope)

    def here(self, changed: Mapping[str, object]) -> str:
        """Link to this page with some choices changed; an empty value removes one. Paging restarts."""
        kept = {**self._scope, **self._here(), **self._shown, "page": "", **changed}
        return _address(self.path, {name: str(value) for name, value in kept.items() if value})

    def shown(self, name: str) -> str:
        """Return the choice of that name in the address; empty if not chosen."""
        return self._shown.get(name, "")

    def hidden(self, *fields: str) -> list[tuple[str, str]]:
        """Return the parameters that a form with these fields carries along."""
        kept = {**self._scope, **self._here(), **self._shown}
        return [(name, value) for name, value in kept.items() if name not in fields]

    def cluster(self, name: str) -> str:
        """Return the address of this page for another cluster; for a node's page, of that cluster's fleet."""
        path = self.path if self.path in {HOME, NUMA} else HOME
        return _address(path, {**_only(self._scope, "last", "live"), "cluster": name})

    def csv(self, table: str) -> str:
        """Return the address of a table of this page as CSV, with its filters; empty without a server."""
        return self.here({"csv": table}) if self.site and self.path in {HOME, NODE, NUMA} else ""

    def range(self, last: str) -> str:
        kept = {**_only(self._scope, "cluster", "live"), **self._here(), **self._shown}
        return _address(self.path, {**kept, "last": last})

    def wider(self) -> str:
        """Return the address of this page with three times the range, around the current one."""
        if self._wider is None:
            return self.range("all")
        kept = {**_only(self._scope, "cluster"), **self._here(), **self._shown}
        return _address(self.path, {**kept, **self._wider})

    def earlier(self) -> str:
        """Return the address of this page with the preceding range of the same length; empty if the range is
        fixed.
        """
        return self._moved(-1)

    def later(self) -> str:
        """Link to the range after this one."""
        return self._moved(1)

    def _moved(self, by: int) -> str:
        if self._range is None:
            return ""
        since, until = self._range
        length = (until - since) * by
        kept = {**_only(self._scope, "cluster"), **self._here(), **self._shown}
        return _address(
            self.path, {**kept, "since": address_time(since + length), "until": address_time(until + length)}
        )

    def kinds(self) -> list[tuple[str, tuple[str, str]]]:
        """Return each kind of finding with its name, and the address of this page with only that kind."""
        return [
            (kind, (name, self.here({"kind": kind}) + "#timeline")) for kind, name in {"": "All", **KINDS}.items()
        ]

    def runbooks(self) -> str:
        return _address(RUNBOOKS, self._scope)

    def runbook(self, name: str, node: str = "") -> str:
        """Return the address of an alert's runbook; empty if it has none."""
        return (
            _address(RUNBOOKS + name, {**self._scope, **({"node": node} if node else {})})
            if name in runbooks()
            else ""
        )

    def ask(
        self,
        query: SavedQuery | None = None,
        given: Mapping[str, str] | None = None,
        *,
        node: str = "",
        sql: str = "",
        csv: bool = False,
        wide: bool = False,
    ) -> str:
        """Link to a saved question or SQL with its answer, or to the empty box, about the cluster and node of this
        page. Empty without a server.
        """
        if not self.site:
            return ""
        subject = {"cluster": self._scope.get("cluster", ""), "node": node or self.at_node}
        of_page = {name: value for name, value in subject.items() if value}
        known = set(given or ())
        if query:
            known = {BY, *(each.name for each in chosen(query, given or {})[0].parameters)}
        bound = {GIVEN + name: value for name, value in {**of_page, **(given or {})}.items() if name in known}
        what = {"name": query.name} if query else {"sql": sql} if sql else {}
        form = {"format": "csv"} if csv else {"wide": "1"} if wide else {}
        return _address(ASK, {**self._scope, **what, **bound, **form})

    def answer(self, query: str, nodes: Sequence[str]) -> str:  # noqa: ARG002 - the site asks
        """Return the section that answers a saved question; empty if a server can be asked."""
        return ""

    def section(self, anchor: str) -> str:
        """Link to the section with more about an item.

        If a node's page lacks it, the link leads to the cluster's page.
        """
        if self.path != NODE:
            return f"#{anchor}"
        return f"{self.home()}#{anchor}" if anchor in OF_CLUSTER else f"#{OF_NODE.get(anchor, anchor)}"

    def about(self, anchor: str, nodes: Sequence[str]) -> str:
        """Link to the section about an item, on the page of its node if it is about one."""
        if len(nodes) != 1 or self.path == NODE or anchor in OF_CLUSTER or not self.node(nodes[0]):
            return self.section(anchor)
        return self._at(nodes[0], OF_NODE.get(anchor, anchor))

    def _at(self, node: str, anchor: str) -> str:
        return f"{self.node(node)}#{anchor}"

    def fields(self) -> Mapping[str, str]:
        """Return the parameters that a form of this page must keep."""
        return self._scope

    def _here(self) -> dict[str, str]:
        return {"node": self.at_node} if self.at_node else {}


class ReportLinks(Links):
    """Links within one file: to nodes shown in detail, and to runbooks of its alerts."""

    site = False

    def __init__(self, nodes: Sequence[str] = (), alerts: Iterable[str] = ()) -> None:
        super().__init__()
        self.runbooks_within = sorted(set(alerts) & set(runbooks()))
        self._keys = {name: f"node-{number}" for number, name in enumerate(nodes, start=1)}

    def key(self, name: str) -> str:
        """Return the anchor of a node in the file."""
        return self._keys[name]

    def node(self, name: str) -> str:
        return f"#{self._keys[name]}" if name in self._keys else ""

    def answer(self, query: str, nodes: Sequence[str]) -> str:
        anchor = ANSWERED.get(query, "attention")
        if anchor not in WITHIN_PART:
            return f"#{anchor}"
        shown = next((name for name in nodes if name in self._keys), "")
        return self._at(shown, anchor) if shown else "#numa" if anchor == "numa" else "#nodes"

    def _at(self, node: str, anchor: str) -> str:
        """Return the address of a section in a node's part of the file."""
        return f"#{self._keys[node]}-{anchor}" if anchor in WITHIN_PART else self.node(node)

    def runbook(self, name: str, node: str = "") -> str:  # noqa: ARG002 - the file has each runbook once
        return f"#runbook-{name}" if name in self.runbooks_within else ""


def _around(scope: Scope) -> dict[str, str]:
    length = timedelta(seconds=max(1, round(scope.seconds)))
    return {"since": address_time(scope.since - length), "until": address_time(scope.until + length)}


def _address(path: str, values: Mapping[str, str]) -> str:
    return f"{path}?{urlencode(values)}" if values else path


def _only(values: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: values[name] for name in names if name in values}
