"""Formats values of columns for people: sizes, durations, CPUs, percentages, yes and no, times in the reader's zone.

A column's unit is in its name (`_bytes`, `_seconds`), or follows from the signal or resource of its row.
"""

import csv
import io
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, tzinfo
from math import isnan
from typing import Any, Final, NamedTuple

from common.amounts import count, cpus, size
from common.durations import in_words
from common.text import plain
from sql.database.open import Result

CELL: Final = 2000
"""Number of characters of a value in a table; JSON and CSV have all."""
_FORMULA: Final = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
"""Characters that make a cell a formula in a spreadsheet; the last four are fullwidth."""
_PART: Final = re.compile(r";(?=[\s\"']*[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Matches the beginning of a cell, in spreadsheets of many locales, if what follows would be a formula."""
_FORMULA_NUMBER: Final = re.compile(r"[+-]?\d+(\.\d+)?(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def as_csv(result: Result) -> str:
    """Return a line of names, then a line for each row; times in ISO 8601. No cell is a formula for a spreadsheet.

    Text that could be one gets an apostrophe before it, also after a semicolon, which separates cells in many
    locales. Control characters become escapes, as in a table.
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
            text = _PART.sub(";'", plain(value, sys.maxsize))
            return f"'{text}" if _FORMULA.match(str(value)) and not _FORMULA_NUMBER.fullmatch(text) else text


NOTHING: Final = "-"
_SHORT_SECONDS: Final = 10
_PRECISE: Final = 1000
_WHOLE: Final = 0.095
"""Share at or above which a percentage has no decimals: 10 %."""
_UNIT: Final = re.compile(r"_(bytes|millicores|seconds|microseconds|percent|ratio)$|^seconds_")
_SHARE: Final = re.compile(r"_(percent|ratio)$")
_NUMBER: Final = re.compile(r"(U?Int|Float|Decimal)\d+")
_FLAG: Final = re.compile(r"(?:Nullable\()?(UInt8|Bool)\)?")
FLAGS: Final = frozenset(
    {
        *("aligned", "bound", "by_event", "can_fire", "could_be_next", "cpu_quota_enforced", "critical", "deleted"),
        *("exceeds_request", "fits", "found_late", "gc_first", "hard_met", "holds", "in_object", "is_contradicted"),
        *(
            "images_known",
            "is_recent",
            "kubelet_restart",
            "logged",
            "lower_bound",
            "occurrences_lower_bound",
            "or_earlier",
            "over_high",
        ),
        *("over_limit", "ready", "required", "restarted", "settings_assumed", "soft_met", "status"),
        *("thresholds_assumed", "time_known", "truncated", "uneven", "unschedulable"),
        *("was_next",),
    }
)
"""Columns of type UInt8 that are yes or no; others are numbers."""
_OF_ROW: Final = frozenset(
    {
        *(
            "available",
            "capacity",
            "threshold",
            "hard_threshold",
            "soft_threshold",
            "minimum_reclaim",
            "ends_above",
            "room",
            "slope_per_second",
            "growth_per_hour",
        ),
        *("usage", "pod_usage", "request", "largest", "stranded"),
        *("allocatable", "requested", "limits", "used", "free", "highest", "unused", "api_allocatable", "api_free"),
        *("reserved", "advised_reserved", "advised_threshold", "outside_pods", "fastest_fall"),
    }
)
"""Columns whose unit depends on the row's signal or resource."""
_LIMITS: Final = frozenset({"cpu_quota_microseconds", "memory_limit_bytes"})
"""Columns in which -1 means unlimited, and null unknown."""
_SHORT_NAMES: Final = {"growth_per_hour": "growth", "bytes_per_second": "growth", "occurrences": "times"}
_RATES: Final = {"slope_per_second": "/s", "growth_per_hour": "/h"}
_BYTES: Final = re.compile(r"(?!pid\.).*\.available|memory|ephemeral-storage|storage|hugepages-.*")
_COUNTED: Final = re.compile(r".*\.inodesFree|pid\.available|inodes")


class Column(NamedTuple):
    """A column of text; numbers are right-aligned."""

    heading: str
    cells: Sequence[str]
    right: bool = False
    whole: bool = False
    """True if it is never shortened, because half a time or amount would be wrong."""


def as_columns(result: Result, zone: tzinfo | None = None) -> list[Column]:
    """Return the columns of a result as text: names from a cluster escaped, times in the given zone or the
    reader's.
    """
    subjects = [_subject(result.column_names, row) for row in result.rows]
    shown = headings(result.column_names)
    columns = []
    for at, (name, kind) in enumerate(zip(result.column_names, result.column_types, strict=True)):
        of_flag = _FLAG.fullmatch(kind)
        flag = of_flag is not None and (of_flag[1] == "Bool" or name in FLAGS)
        number = not flag and bool(_NUMBER.search(kind)) and not kind.startswith(("Map", "Array"))
        cells = [
            _cell(name, row[at], about, zone, flag=flag) for row, about in zip(result.rows, subjects, strict=True)
        ]
        columns.append(Column(shown[at], cells, number, number or flag or "DateTime" in kind))
    return columns


def headings(names: Sequence[str]) -> list[str]:
    """Return short names without the unit that the cells show; a percentage next to its amount keeps its %."""
    bare = [_SHORT_NAMES.get(name) or _UNIT.sub("", name) or name for name in names]
    return [
        plain(_SHARE.sub("_%", name) if bare.count(short) > 1 else short)
        for name, short in zip(names, bare, strict=True)
    ]


def timestamp(at: datetime, zone: tzinfo | None = None) -> str:
    """Format a time in the given zone or the reader's, with the offset from UTC; `--since` accepts it."""
    there = at.astimezone(zone)
    text = there.isoformat(sep=" ", timespec="seconds")
    return f"{text[:-6]}Z" if not there.utcoffset() else text


def _subject(names: Sequence[str], row: Sequence[Any]) -> str:
    known = dict(zip(names, row, strict=True))
    return str(known.get("signal") or known.get("resource") or "")


def _cell(name: str, value: Any, subject: str, zone: tzinfo | None, *, flag: bool) -> str:
    if value is None or value in ("", [], {}, ()):
        return NOTHING
    if flag:
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _amount(name, value, subject)
    return timestamp(value, zone) if isinstance(value, datetime) else plain(_several(name, value), CELL)


def _several(name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        shown = {key: duration if name.endswith("_seconds") else _of(key) for key in value}
        return ", ".join(
            f"{key}={shown[key](each) if isinstance(each, int | float) else each}" for key, each in value.items()
        )
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _amount(name: str, value: float, subject: str) -> str:
    if isnan(value):
        return "nan"
    if value == -1 and name in _LIMITS:
        return "no limit"
    for suffix, shown in _BY_SUFFIX:
        if name.endswith(suffix):
            return shown(value)
    if name.startswith("seconds_"):
        return duration(value)
    if name in _OF_ROW:
        return _of(subject)(value) + _RATES.get(name, "")
    return _number(value)


def _of(subject: str) -> Callable[[float], str]:
    if _BYTES.fullmatch(subject):
        return size
    if subject == "cpu":
        return cpus
    return count if _COUNTED.fullmatch(subject) else _number


def duration(seconds: float) -> str:
    """Format a length of time; below ten seconds with one decimal."""
    if 0 < abs(seconds) < _SHORT_SECONDS:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    return in_words(seconds) if seconds >= 0 else f"-{in_words(-seconds)}"


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    return f"{value:.3g}" if abs(value) < _PRECISE else f"{value:.0f}"


_BY_SUFFIX: Final[Sequence[tuple[str, Callable[[float], str]]]] = (
    ("_bytes", size),
    ("bytes_per_second", lambda value: f"{size(value)}/s"),
    ("_millicores", cpus),
    ("_microseconds", lambda value: f"{value / 1000:g} ms"),
    ("_seconds", duration),
    ("_percent", lambda value: f"{_number(value)} %"),
    ("_ratio", lambda value: f"{value * 100:.0f} %" if abs(value) >= _WHOLE else f"{value * 100:.2g} %"),
)
