"""Renders runbooks and saved questions as pages."""

from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Final, NamedTuple

from leadsman.web.attention.item import Item
from leadsman.web.reading.alerts import Alert
from leadsman.web.reading.ask import RowDict
from leadsman.web.reading.evidence import Evidence
from leadsman.web.reading.scope import Span
from leadsman.web.rendering.links import Links
from leadsman.web.rendering.markdown import runbook_html
from leadsman.web.rendering.render import environment
from sql.database.open import Result
from sql.questions.cells import as_columns
from sql.questions.limits import Limits
from sql.questions.queries import SavedQuery, chosen, saved_queries
from streams.alerting.runbook import Runbook, runbooks


class DataAge(NamedTuple):
    """The age of the data that questions are about."""

    evidence: Evidence | None
    """Evidence of one cluster; None if the database is empty."""
    others: Sequence[Span]
    """The other clusters, if the question is about all of them."""


class Answer(NamedTuple):
    result: Result | None
    """None if the query failed."""
    problem: str = ""
    """The failure as a sentence."""
    cut: bool = False
    """True if there are more rows than these."""
    why_empty: str = ""
    """A sentence about an answer without rows; empty for SQL."""


def runbooks_page(links: Links) -> str:
    return (
        environment().get_template("runbooks.html.j2").render(links=links, runbooks=runbooks().values(), inline=None)
    )


def runbook_page(
    links: Links,
    runbook: Runbook,
    alerts: Sequence[Alert] | None,
    evidence: Evidence | None,
    items: Sequence[Item] = (),
) -> str:
    """Render one runbook, with the alerts of its name in the range; None if alerts are unknown. `items` come
    first.
    """
    values = {
        "runbook": runbook,
        "text": runbook_html(runbook, links),
        "alerts": alerts,
        "evidence": evidence,
        "items": items,
    }
    return environment().get_template("runbook.html.j2").render(links=links, inline=None, **values)


def ask_page(
    links: Links,
    query: SavedQuery | None,
    sql: str,
    given: Mapping[str, str],
    answer: Answer | None,
    limits: Limits,
    tables: Sequence[RowDict] = (),
    known: DataAge = DataAge(None, ()),  # noqa: B008 - it cannot be changed
    *,
    wide: bool = False,
) -> str:
    """Render the input box, examples, the saved questions and the tables, with the answer if one was asked for.

    `known` has the age of the data.
    """
    result = answer.result if answer else None
    every = as_columns(result, UTC) if result else []
    form = chosen(query, given)[0] if query else None
    columns = [every[index] for index in _answering(result, form)] if result and form and not wide else every
    values = {
        "form": form,
        "query": query,
        "questions": saved_queries(),
        "sql": sql,
        "given": given,
        "answer": answer,
        "limits": limits,
        "tables": tables,
        "evidence": known.evidence,
        "others": known.others,
        "examples": EXAMPLES,
        "columns_of": columns_of,
        "columns": columns,
        "more_columns": len(every) if len(columns) < len(every) else 0,
        "rows": list(zip(*(each.cells for each in columns), strict=True)),
    }
    return environment().get_template("ask.html.j2").render(links=links, inline=None, **values)


def _answering(result: Result, query: SavedQuery) -> list[int]:
    """Return the positions of the columns that answer a question, and of the cluster if there are several."""
    names = list(result.column_names)
    if not query.shows:
        return list(range(len(names)))
    places = [names.index(name) for name in query.shows]
    several = "cluster" in names and len({row[names.index("cluster")] for row in result.rows}) > 1
    return [names.index("cluster"), *places] if several else places


EXAMPLES: Final = {
    "Nodes with the least room above a threshold": """\
SELECT node, signal, available, hard_threshold, seconds_to_hard
FROM eviction_signals
ORDER BY ts DESC, (available - hard_threshold) / capacity
LIMIT 1 BY cluster, node
LIMIT 20""",
    "What evicted or killed pods, by owner": """\
SELECT cause, namespace, owner_kind, owner_name, count() AS pods, max(ts) AS last
FROM pod_ends
GROUP BY ALL
ORDER BY pods DESC
LIMIT 20""",
    "Memory of the pods of each workload": """\
SELECT b.namespace, b.owner_name, uniq(p.uid) AS pods, formatReadableSize(max(p.memory_working_set_bytes)) AS largest
FROM pod_samples AS p INNER JOIN pod_bindings AS b ON b.uid = p.uid
GROUP BY ALL
ORDER BY max(p.memory_working_set_bytes) DESC
LIMIT 20""",
    "What happened in the last hour that was seen": """\
SELECT ts, node, kind, what
FROM story
WHERE ts > (SELECT max(last_at) FROM node_evidence) - INTERVAL 1 HOUR
ORDER BY ts DESC
LIMIT 50""",
}
"""Example SQL by the question that it answers."""


def columns_of(table: str) -> str:
    """Return SQL that lists the columns of a table with their units; the name is of a table of this database."""
    name = table.replace("\\", "\\\\").replace("'", "\\'")
    return f"SELECT name, type, comment FROM system.columns WHERE database = currentDatabase() AND table = '{name}'"
