"""Formats answers as text: a table for people; JSON, YAML and CSV with raw values for programs."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

import click
import msgspec

from common.amounts import counted
from common.text import plain_json
from leadsman.cli.present.layout import columns, folded, lines
from sql.database.open import Result
from sql.questions.cells import Column, as_columns, as_csv


def show(result: Result, form: str, why_empty: str = "", total: int = 0, *, fewer: bool = False) -> None:
    """Print rows in one of `options.FORMS`; below a table without rows print `why_empty`.

    `total` is the number of rows before the answer was cut. With `fewer`, a narrow terminal shows fewer columns.
    """
    match form:
        case "json" | "yaml":
            show_document(as_objects(result), form)
        case "csv":
            click.echo(as_csv(result), nl=False)
        case _:
            show_columns(as_columns(result), form, fewer=fewer)
            rows = len(result.rows)
            ends = counted(rows, "row") if rows else f"0 rows. {why_empty}".rstrip(" .")
            if total > rows:
                ends = f"{rows} of {counted(total, 'row')}; --limit 0 shows all"
            for line in folded(ends, _width(form)):
                click.echo(line)


def show_raw(form: str, document: Callable[[], Any], rows: Callable[[], Result]) -> bool:
    """Print an answer if its form is for programs, and tell whether it was."""
    if form in {"json", "yaml"}:
        show_document(document(), form)
    elif form == "csv":
        show(rows(), form)
    return form in {"json", "yaml", "csv"}


def show_lines(sentences: Iterable[str], form: str) -> None:
    """Print the sentences of an answer, wrapped if a terminal sets a width."""
    from leadsman.cli.console import out  # imports rich, which only these sentences need

    for line in sentences:
        out.print(line, soft_wrap=_width(form) is None)


def part(result: Result, most: int, *, newest: bool) -> Result:
    """Return at most `most` rows of an answer; 0 means all.

    With `newest`, return the last ones: rows are in order of time.
    """
    if not most or len(result.rows) <= most:
        return result
    return result._replace(rows=result.rows[-most:] if newest else result.rows[:most])


def only(result: Result, names: Sequence[str]) -> Result:
    """Return the answer with these columns, in this order; with all if no names are given.

    Rows of several clusters keep `cluster`. If the time of a row is only a bound, all keep `time_known`.
    """
    if not names:
        return result
    index_of = {name: index for index, name in enumerate(result.column_names)}
    if "cluster" in index_of and len({row[index_of["cluster"]] for row in result.rows}) > 1:
        names = ["cluster", *names]
    if "time_known" in index_of and not all(row[index_of["time_known"]] for row in result.rows):
        at = [*names].index("ts") + 1 if "ts" in names else len(names)
        names = [*names[:at], "time_known", *names[at:]]
    indexes = [index_of[name] for name in dict.fromkeys(names)]
    return Result(
        tuple(result.column_names[index] for index in indexes),
        tuple(result.column_types[index] for index in indexes),
        [tuple(row[index] for index in indexes) for row in result.rows],
    )


def show_columns(shown: Sequence[Column], form: str = "table", *, fewer: bool = False) -> None:
    """Print a table; nothing without rows. `wide` shows every cell whole, even beyond the terminal's width."""
    if not shown or not shown[0].cells:
        return
    for number, line in enumerate(lines(shown, _width(form), fewer=fewer)):
        click.echo(bold(line) if not number else line)


def _width(form: str) -> int | None:
    return None if form == "wide" else columns()


def bold(line: str) -> str:
    """Return the line in bold, unless NO_COLOR is set; click removes the style if the output is not a terminal."""
    return line if os.environ.get("NO_COLOR") else click.style(line, bold=True)


def show_document(document: Any, form: str) -> None:
    """Print builtins, times and structs as JSON or YAML; both escape terminal control characters."""
    encoded = msgspec.json.encode(document)
    if form == "json":
        click.echo(plain_json(msgspec.json.format(encoded, indent=2)))
        return
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    click.echo(yaml.dump(json.loads(encoded), Dumper=dumper, sort_keys=False), nl=False)


def as_objects(result: Result) -> list[dict[str, Any]]:
    return [dict(zip(result.column_names, row, strict=True)) for row in result.rows]


def of_text(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[Column]:
    """Return columns of cells that are already escaped for a terminal."""
    turned = list(zip(*rows, strict=True)) or [()] * len(headings)
    return [Column(heading, cells) for heading, cells in zip(headings, turned, strict=True)]


def raw_rows(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Result:
    """Return a Result of rows that Leadsman made itself. Nested values become JSON."""
    return Result(tuple(names), ("String",) * len(names), [tuple(map(_flat, row)) for row in rows])


def _flat(value: Any) -> Any:
    return value if isinstance(value, str | int | float | datetime | None) else msgspec.json.encode(value).decode()
