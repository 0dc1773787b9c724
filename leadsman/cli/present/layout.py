"""Columns on a terminal: no line is wider than it, and no heading is folded."""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import chain
from textwrap import wrap
from typing import Final, NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size

from sql.questions.cells import Column

GAP: Final = "  "
NARROW: Final = 20
"""A text is not cut below this: what names a thing is still known by it."""
OF_SENTENCES: Final = 3
"""What is longer than a line is not cut below this part of it: less of a sentence says nothing."""
INDENT: Final = 12
"""The least that is left to values of a record."""


class _Set(NamedTuple):
    column: Column
    width: int


def columns() -> int | None:
    """How wide a line may be: as COLUMNS sets it, else the terminal; None for a pipe or a file."""
    if os.environ.get("COLUMNS", "").isdecimal() or sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return None


def lines(shown: Sequence[Column], width: int | None) -> Iterator[str]:
    """A table with its heading, or a record a row where that is too wide; any width where it is None.

    What is the same in all rows of a table that is too wide stands once beneath it.
    """
    rows = len(shown[0].cells) if shown else 0
    chosen = _fitted(shown, width)
    same: Sequence[Column] = ()
    if chosen is None and rows > 1:
        same = [each for each in shown if len(set(each.cells)) == 1]
        chosen = _fitted([each for each in shown if each not in same], width)
    if chosen is None:
        yield from _records(shown, rows, width or 0)
        return
    for cells in (
        [each.column.heading for each in chosen],
        *zip(*(each.column.cells for each in chosen), strict=True),
    ):
        yield GAP.join(_put(cell, each) for cell, each in zip(cells, chosen, strict=True)).rstrip()
    if same:
        text = ", ".join(f"{each.heading} {each.cells[0]}" for each in same)
        yield from _wrapped("in all rows: ", text, width or 0)


def folded(text: str, width: int | None) -> Iterator[str]:
    """A sentence in lines of that width; in one where it is None."""
    yield from (text,) if width is None else _wrapped("", text, width)


def _fitted(columns: Sequence[Column], width: int | None) -> list[_Set] | None:
    """How wide each column is, the widest texts cut; None where a line does not hold them."""
    if not columns:
        return None
    widths = [max(map(cell_len, (each.heading, *each.cells))) for each in columns]
    if width is None:
        return list(map(_Set, columns, widths))
    room = width - len(GAP) * (len(columns) - 1)
    least = [
        wide
        if each.whole or each.right
        else min(wide, max(cell_len(each.heading), NARROW, width // OF_SENTENCES if wide > width else 0))
        for each, wide in zip(columns, widths, strict=True)
    ]
    if sum(least) > room:
        return None
    most = min(max(widths), room)
    while sum(kept := [min(wide, max(low, most)) for wide, low in zip(widths, least, strict=True)]) > room:
        most -= 1
    return list(map(_Set, columns, kept))


def _put(cell: str, into: _Set) -> str:
    if cell_len(cell) > into.width:
        return set_cell_size(cell, into.width - 1) + "…"
    space = " " * (into.width - cell_len(cell))
    return space + cell if into.column.right else cell + space


def _records(columns: Sequence[Column], rows: int, width: int) -> Iterator[str]:
    """Each row as lines of name and value."""
    widest = max((cell_len(each.heading) for each in columns), default=0)
    names = min(widest, max(1, width - INDENT - len(GAP)))
    for row in range(rows):
        yield f"[{row + 1}]"
        for each in columns:
            yield from _wrapped(set_cell_size(each.heading, names) + GAP, each.cells[row], width)


def _wrapped(lead: str, text: str, width: int) -> Iterator[str]:
    """Text behind its lead, the next lines below its beginning."""
    room = max(1, width - cell_len(lead))
    parts = chain.from_iterable(chop_cells(each, room) for each in wrap(text, room, break_on_hyphens=False) or [""])
    for number, part in enumerate(parts):
        yield (lead if not number else " " * cell_len(lead)) + part
