"""Runbooks and saved questions, as pages for a reader."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from leadsman.web.reading import words
from leadsman.web.reading.alerts import Alert
from leadsman.web.reading.evidence import Evidence
from leadsman.web.rendering.links import Links
from leadsman.web.rendering.markdown import runbook_html
from leadsman.web.rendering.render import environment
from sql.database.open import Result
from sql.questions.answers import cell
from sql.questions.limits import Limits
from sql.questions.queries import SavedQuery, saved_queries
from streams.alerting.runbook import Runbook, runbooks


class Answer(NamedTuple):
    """The answer to a question."""

    result: Result | None
    """None where it failed."""
    problem: str = ""
    """In a sentence, where it failed."""
    cut: bool = False
    """There are more rows than these."""


class Value(NamedTuple):
    """A cell of a table, for people."""

    text: str
    number: bool


OF_SIGNAL: Final = frozenset(
    {
        "available",
        "capacity",
        "threshold",
        "hard_threshold",
        "soft_threshold",
        "room",
        "usage",
        "pod_usage",
        "request",
    }
)
"""Columns in the unit of the row's signal."""


def runbooks_page(links: Links) -> str:
    """Every runbook with its first sentence."""
    return (
        environment().get_template("runbooks.html.j2").render(links=links, runbooks=runbooks().values(), inline=None)
    )


def runbook_page(links: Links, runbook: Runbook, alerts: Sequence[Alert] | None, evidence: Evidence | None) -> str:
    """One runbook, with the alerts of its name in the range; None where they are not known."""
    values = {"runbook": runbook, "text": runbook_html(runbook, links), "alerts": alerts, "evidence": evidence}
    return environment().get_template("runbook.html.j2").render(links=links, inline=None, **values)


def ask_page(
    links: Links, query: SavedQuery | None, sql: str, given: Mapping[str, str], answer: Answer | None, limits: Limits
) -> str:
    """The box and the saved questions, with the answer where one was asked."""
    result = answer.result if answer else None
    values = {
        "query": query,
        "questions": saved_queries(),
        "sql": sql,
        "given": given,
        "answer": answer,
        "limits": limits,
        "rows": list(_rows(result)) if result else [],
    }
    return environment().get_template("ask.html.j2").render(links=links, inline=None, **values)


def _rows(result: Result) -> Iterator[list[Value]]:
    names = result.column_names
    signal = names.index("signal") if "signal" in names else None
    for row in result.rows:
        of = str(row[signal]) if signal is not None else ""
        yield [
            Value(_shown(name, value, of), isinstance(value, int | float))
            for name, value in zip(names, row, strict=True)
        ]


def _shown(name: str, value: Any, signal: str) -> str:
    """In the units of its column's name, where it is a number; CSV has it as it is."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        if name.endswith("_bytes"):
            return words.size(value)
        if name in OF_SIGNAL and signal:
            return words.amount(value, signal)
        if name.endswith("_seconds"):
            return words.duration(value)
        if name.endswith("_ratio"):
            return words.percent(value)
    return cell(value)
