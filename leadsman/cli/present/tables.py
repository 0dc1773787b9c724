"""Answers of queries as text: a table for people, JSON for programs."""

import msgspec
from rich.table import Table
from rich.text import Text

from common.text import plain, plain_json
from sql.database.open import Result
from sql.questions.answers import cell
from sql.questions.queries import saved_queries


def query_list() -> Table:
    """The saved queries, a line each, with their parameters' defaults."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for each in saved_queries():
        parameters = " ".join(f"{p.name}={p.default}" for p in each.parameters)
        table.add_row(each.name, each.description + (f"  [--param {parameters}]" if parameters else ""))
    return table


def as_table(result: Result) -> Table:
    """What a cluster named is plain text in it: no markup, no control characters."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in result.column_names:
        table.add_column(Text(plain(column)), overflow="fold")
    for row in result.rows:
        table.add_row(*(Text(cell(value)) for value in row))
    return table


def as_json(result: Result) -> str:
    """A list of objects, a row each, in the query's order."""
    rows = [dict(zip(result.column_names, row, strict=True)) for row in result.rows]
    return plain_json(msgspec.json.format(msgspec.json.encode(rows), indent=2))
