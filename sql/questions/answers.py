"""Answers of queries as text that neither a terminal, a page nor a spreadsheet takes for anything else."""

import csv
import io
import re
import sys
from datetime import datetime
from typing import Final

from common.text import plain
from sql.database.open import Result

CELL: Final = 2000
"""Characters of a value in a table; JSON and CSV have all."""
_FORMULA: Final = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""Characters with which a cell becomes a formula in a spreadsheet; the last four are fullwidth."""
_PART: Final = re.compile(r";(?=[\s\"']*[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Matches what begins a cell for spreadsheets of many locales, where that would be a formula."""
_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def as_csv(result: Result) -> str:
    """A line of names, then a line a row; times in ISO 8601. A spreadsheet runs no cell of it.

    Text that it would take for a formula has an apostrophe before it, also behind a semicolon, which parts cells in
    many locales. Control characters are escapes, as in a table.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_csv_cell, result.column_names))
    writer.writerows(map(_csv_cell, row) for row in result.rows)
    return text.getvalue()


def cell(value: object) -> str:
    """A value in a table, for people, on one line."""
    match value:
        case None:
            return "-"
        case datetime():
            return value.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
        case float():
            return f"{value:.6g}"
        case _:
            return plain(value, CELL)


def _csv_cell(value: object) -> object:
    match value:
        case None | int() | float():
            return value
        case datetime():
            return value.isoformat()
        case _:
            text = _PART.sub(";'", plain(value, sys.maxsize))
            return f"'{text}" if _FORMULA.match(str(value)) and not _NUMBER.fullmatch(text) else text
