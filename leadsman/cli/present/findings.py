"""Lists what is wrong with a cluster: the page's cards, for a terminal and for programs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from leadsman.web.attention.attention import attention
from leadsman.web.attention.badges import Severity
from leadsman.web.attention.item import Item
from leadsman.web.reading.overview import Overview, read_overview, with_contradictions
from leadsman.web.reading.scope import ALL, RequestedRange, Span, choose
from sql.database.open import Database


class Findings(NamedTuple):
    """Problems of a cluster, worst first, and the overview from which they were read."""

    view: Overview
    items: Sequence[Item]

    @property
    def wrong(self) -> bool:
        return any(item.severity <= Severity.WARNING for item in self.items)


def findings_in(database: Database, span: Span, namespace: str = "") -> Findings:
    """Return the page's cards for all data of a cluster, whose rows cover the given time span."""
    scope = choose([span], RequestedRange(last=ALL))._replace(namespace=namespace)
    view = with_contradictions(database, read_overview(database, scope, [span]))
    return Findings(view, attention(view))


def finding_rows(found: Findings) -> list[dict[str, Any]]:
    """Return the cards for programs: severity, kind, since, nodes, and the next step with the question that shows
    more.

    With `or_earlier`, it started by `since`. With `is_bounded`, it happened between `since` and `until`.
    With both, it happened by `until`.
    """
    return [
        {
            "cluster": found.view.scope.cluster,
            "severity": item.severity.word,
            "kind": item.alert_keys[0][0] if item.alert_keys else item.anchor,
            "title": item.title,
            "now": item.now,
            "since": item.since,
            "until": item.until,
            "or_earlier": item.or_earlier,
            "is_bounded": item.is_bounded,
            "nodes": list(item.nodes),
            "who": item.who,
            "text": item.text,
            "next": item.step.words,
            "query": item.step.query,
            "alerts": list(item.alerts),
        }
        for item in found.items
    ]
