"""Answers of queries as text: a table for people, JSON and CSV for programs."""

import csv
import io
import re
import sys
from datetime import datetime
from typing import Final

import msgspec
from rich.table import Table
from rich.text import Text

from common.text import plain, plain_json
from sql.database.open import Result
from sql.questions.queries import saved_queries

CELL: Final = 2000
"""Characters of a value in a table; JSON and CSV have all."""
_FORMULA: Final = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""With what a spreadsheet takes a cell for a formula; the last four are fullwidth."""
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


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
        table.add_row(*(Text(plain(_cell(value), CELL)) for value in row))
    return table


def as_json(result: Result) -> str:
    """A list of objects, a row each, in the query's order."""
    rows = [dict(zip(result.column_names, row, strict=True)) for row in result.rows]
    return plain_json(msgspec.json.format(msgspec.json.encode(rows), indent=2))


def as_csv(result: Result) -> str:
    """A line of names, then a line a row; times in ISO 8601. A spreadsheet runs no cell of it.

    Text that it would take for a formula has an apostrophe before it; control characters are escapes, as in a table.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_csv_cell, result.column_names))
    writer.writerows(map(_csv_cell, row) for row in result.rows)
    return text.getvalue()


def _csv_cell(value: object) -> object:
    match value:
        case None | int() | float():
            return value
        case datetime():
            return value.isoformat()
        case _:
            text = plain(value, sys.maxsize)
            return f"'{text}" if _FORMULA.match(str(value)) and not _NUMBER.fullmatch(text) else text


def _cell(value: object) -> str:
    match value:
        case None:
            return "-"
        case datetime():
            return value.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
        case float():
            return f"{value:.6g}"
        case _:
            return str(value)
