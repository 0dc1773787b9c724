"""Lists the saved questions by subject."""

from typing import Final

import click

from leadsman.cli.present.layout import columns, folded
from leadsman.cli.present.tables import bold, show
from sql.database.open import Result
from sql.questions.queries import SavedQuery, saved_queries

GROUPS: Final = (
    "What happened",
    "Evictions and pressure",
    "Pods",
    "Nodes",
    "Image GC",
    "NUMA",
    "Scheduling",
    "Unknown",
)
"""Subjects in the order in which people usually need them."""


def show_questions(form: str) -> None:
    """Print a line for each question; `wide` adds parameters and their defaults.

    A table has the headings of `GROUPS`.
    """
    queries = sorted(saved_queries(), key=lambda query: (*GROUPS, query.group).index(query.group))
    if form not in {"table", "wide"}:
        rows = [(each.name, each.group, each.description, _parameters(each)) for each in queries]
        show(Result(("name", "group", "description", "parameters"), ("String",) * 4, rows), form)
        return
    widest = max(len(each.name) for each in queries)
    group = ""
    for query in queries:
        if query.group != group:
            group = query.group
            click.echo(bold(f"{group}:"))
        text = query.description + (f" (--by {', '.join(query.forms)})" if query.forms else "")
        text += f"  [{_parameters(query)}]" if form == "wide" and query.parameters else ""
        lead = f"  {query.name:{widest}}  "
        for line in folded(text, None if form == "wide" else columns(), lead):
            click.echo(line)


def _parameters(query: SavedQuery) -> str:
    return "".join(f"--param {each.name}={each.default} " for each in query.parameters).strip()
