"""Formats columns for a terminal: no line exceeds its width, and no heading is folded."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size

from sql.questions.cells import NOTHING, Column

GAP: Final = "  "
NARROW: Final = 16
"""Minimum width to which a name is folded."""
OF_SENTENCES: Final = 4
"""Share of a line that a sentence gets before names are folded or columns left out."""
INDENT: Final = 12
"""Minimum width for the values of a record."""
LEAST: Final = 3
"""Number of first columns that a narrow terminal always shows."""
_SEPARATORS: Final = "-./_"
_SUFFIX: Final = re.compile(r"\.[^.]*[A-Za-z].*")


class _Set(NamedTuple):
    column: Column
    width: int
    """Wider cells are folded."""


def columns() -> int | None:
    """Return the width of a line: from COLUMNS, else the terminal's; None for a pipe or a file."""
    if os.environ.get("COLUMNS", "").isdecimal() or sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return None


def lines(shown: Sequence[Column], width: int | None, *, fewer: bool = False) -> Iterator[str]:
    """Format a table with its heading, or one record for each row if the table is too wide.

    A width of None means unlimited. If a table is too wide, a value that is the same in all rows moves below the
    table, and so does the common suffix of all node names. With `fewer`, the last columns are then left out and named
    below; sentences and the first columns stay.
    """
    rows = len(shown[0].cells) if shown else 0
    beneath = ""
    chosen = _fit_widths(shown, width)
    if chosen is None or any(any(cell_len(cell) > each.width for cell in each.column.cells) for each in chosen):
        shown, beneath = _without_suffix(shown)
        chosen = _fit_widths(shown, width)
    same: Sequence[Column] = ()
    if chosen is None and rows > 1:
        same = [each for each in shown if len(set(each.cells)) == 1]
        chosen = _fit_widths([each for each in shown if each not in same], width)
    left: Sequence[Column] = ()
    if chosen is None:
        chosen = _fit_widths([each for each in shown if each not in same], width, NARROW)
    if chosen is None and fewer:
        left = _left_out([each for each in shown if each not in same], width)
        chosen = _fit_widths([each for each in shown if each not in (*same, *left)], width, NARROW)
    if chosen is None:
        yield from _records(shown, rows, width or 0)
    else:
        for cells in (
            [each.column.heading for each in chosen],
            *zip(*(each.column.cells for each in chosen), strict=True),
        ):
            yield from _row(cells, chosen)
    if same:
        text = ", ".join(f"{each.heading} {each.cells[0]}" for each in same)
        yield from _wrap_text("in all rows: ", text, width or 0)
    if left and chosen is not None:
        yield from _wrap_text("", f"more with -o wide: {', '.join(each.heading for each in left)}", width or 0)
    if beneath:
        yield from _wrap_text("", f"names of nodes end in {beneath}", width or 0)


def folded(text: str, width: int | None, lead: str = "") -> Iterator[str]:
    """Fold a sentence into lines of that width, after a prefix; into one line if the width is None."""
    yield from (lead + text,) if width is None else _wrap_text(lead, text, width)


def _without_suffix(shown: Sequence[Column]) -> tuple[Sequence[Column], str]:
    """Return the names of nodes without the domain that all of them share, and that domain."""
    names = [name for each in shown if each.heading == "node" for name in each.cells if name != NOTHING]
    suffix = shared_domain(names)
    if not suffix:
        return shown, ""
    return [
        each._replace(cells=[cell.removesuffix(suffix) for cell in each.cells]) if each.heading == "node" else each
        for each in shown
    ], suffix


def shared_domain(names: Sequence[str]) -> str:
    """Return the domain, with its dot, in which all node names of several rows end; empty if they share none."""
    ends = {name[name.find(".") :] if _SUFFIX.search(name) else "" for name in names}
    return ends.pop() if len(ends) == 1 and len(names) > 1 else ""


def _fit_widths(columns: Sequence[Column], width: int | None, narrowest: int = 0) -> list[_Set] | None:
    """Return the width of each column: sentences are folded first, then names; None if a line is too narrow.

    `narrowest` is the least width of a sentence, if not its usual share of the line.
    """
    if not columns:
        return None
    widths = [max(map(cell_len, (each.heading, *each.cells))) for each in columns]
    if width is None:
        return list(map(_Set, columns, widths))
    room = width - len(GAP) * (len(columns) - 1)
    sentences = [_is_sentence(each) for each in columns]
    least = [
        wide
        if each.whole or each.right
        else min(wide, max(cell_len(each.heading), NARROW, narrowest or width // OF_SENTENCES * prose))
        for each, wide, prose in zip(columns, widths, sentences, strict=True)
    ]
    if sum(least) > room:
        return None
    for folding in (True, False):
        least_widths = [
            low if prose is folding else wide for low, wide, prose in zip(least, widths, sentences, strict=True)
        ]
        most = max(widths)
        while sum(widths) > room and most:
            most -= 1
            widths = [min(wide, max(low, most)) for wide, low in zip(widths, least_widths, strict=True)]
    return _widen_folded(list(map(_Set, columns, widths)), room)


def _widen_folded(chosen: Sequence[_Set], room: int) -> list[_Set]:
    """Give the width that folded names leave unused to the first folded name that then fits on one line."""
    tight = list(chosen)
    for index, each in enumerate(chosen):
        if any(cell_len(cell) > each.width for cell in each.column.cells) and not _is_sentence(each.column):
            parts = [part for cell in each.column.cells for part in _parts(cell, each)]
            tight[index] = each._replace(width=max(map(cell_len, (each.column.heading, *parts))))
    spare = room - sum(each.width for each in tight)
    for index, each in enumerate(tight):
        whole = max(map(cell_len, (each.column.heading, *each.column.cells)))
        if each.width < whole <= each.width + spare:
            spare -= whole - each.width
            tight[index] = each._replace(width=whole)
    return tight


def _left_out(columns: Sequence[Column], width: int | None) -> Sequence[Column]:
    """Return the last columns that must be left out so that the others fit."""
    left: list[Column] = []
    for each in reversed(columns[LEAST:]):
        if not _is_sentence(each):
            left.insert(0, each)
            if _fit_widths([one for one in columns if one not in left], width, NARROW) is not None:
                break
    return left


def _is_sentence(column: Column) -> bool:
    return not column.whole and not column.right and any(" " in cell for cell in column.cells)


def _row(cells: Sequence[str], into: Sequence[_Set]) -> Iterator[str]:
    """Yield the lines of a row; a folded cell continues below its beginning."""
    parts = [_parts(cell, each) for cell, each in zip(cells, into, strict=True)]
    for line in zip_longest(*parts, fillvalue=""):
        yield GAP.join(_put(part, each) for part, each in zip(line, into, strict=True)).rstrip()


def _parts(cell: str, into: _Set) -> list[str]:
    if cell_len(cell) <= into.width:
        return [cell]
    if _is_sentence(into.column):
        return list(_wrap_text("", cell, into.width))
    return list(_name_parts(cell, into.width))


def _name_parts(name: str, width: int) -> Iterator[str]:
    """Fold a name after one of its separators, else where the line ends."""
    while cell_len(name) > width:
        head = chop_cells(name, width)[0] or name[0]
        part = head[: max(map(head.rfind, _SEPARATORS)) + 1] or head
        yield part
        name = name[len(part) :]
    yield name


def _put(cell: str, into: _Set) -> str:
    space = " " * (into.width - cell_len(cell))
    return space + cell if into.column.right else cell + space


def _records(columns: Sequence[Column], rows: int, width: int) -> Iterator[str]:
    widest = max((cell_len(each.heading) for each in columns), default=0)
    names = min(widest, max(1, width - INDENT - len(GAP)))
    for row in range(rows):
        yield f"[{row + 1}]"
        for each in columns:
            yield from _wrap_text(set_cell_size(each.heading, names) + GAP, each.cells[row], width)


def _wrap_text(lead: str, text: str, width: int) -> Iterator[str]:
    """Wrap text after its lead; further lines are aligned with its beginning."""
    room = max(1, width - cell_len(lead))
    for number, part in enumerate(_filled(text, room)):
        yield (lead if not number else " " * cell_len(lead)) + part


def _filled(text: str, room: int) -> Iterator[str]:
    """Fill lines with words; a word that is wider than a line is folded like a name."""
    line = ""
    for word in re.split(r"\s", text):
        left = room - cell_len(line) - 1
        if line and cell_len(word) <= left:
            line = f"{line} {word}"
            continue
        rest = word
        if line and cell_len(word) > room and left >= NARROW:
            head = next(_name_parts(word, left))
            line, rest = f"{line} {head}", word[len(head) :]
        if line:
            yield line.rstrip()
        *parts, line = _name_parts(rest, room)
        yield from parts
    yield line.rstrip()
