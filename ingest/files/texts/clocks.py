"""Finds the year and zone of a kubelet's log from other times in its file, because klog writes neither
(rules: kubelet-log).
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from datetime import timedelta
from itertools import chain
from typing import Final

_CREATED: Final = re.compile(
    rb"^Log file created at: (?P<year>(?:19[7-9]|2[01]\d)\d)/(?P<month>0[1-9]|1[0-2])/\d\d ", re.MULTILINE
)
_MONOTONIC: Final = re.compile(
    rb"[IWEF](?P<month>0[1-9]|1[0-2])\d\d \d\d:\d\d:\d\d\.\d{6} [^\n]{0,2000}?"
    rb"(?P<year>(?:19[7-9]|2[01]\d)\d)-(?P<of>0[1-9]|1[0-2])-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?"
    rb" (?P<zone>[+-]\d{4}) \w{1,6} (?:m=\+|LastTransitionTime:)"
)
"""A time that the kubelet itself printed with year and zone, in Go's form, or the time of a condition."""
_LOGRUS: Final = re.compile(
    rb'\btime="(?P<year>(?:19[7-9]|2[01]\d)\d)-(?P<month>0[1-9]|1[0-2])-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?'
    rb'(?:Z|(?P<zone>[+-]\d\d:\d\d))" level='
)
"""The time of a line that K3s or RKE2 writes itself, between the lines of its kubelet."""
_JOURNAL: Final = re.compile(
    rb"^-- (?:Logs begin|Journal begins) at (?:\w{3} (?P<begun>\d{4})-)?[^\n]{5,60}, ends? at \w{3} "
    rb"(?P<year>(?:19[7-9]|2[01]\d)\d)-(?P<month>0[1-9]|1[0-2])-\d\d \d\d:\d\d:\d\d (?P<zone>[+-]\d{4}|UTC)?",
    re.MULTILINE,
)
"""The head of journalctl, whose end is the time of the last lines."""
_WATCHED: Final = re.compile(
    rb"^[ \t>|]*Every \d{1,6}[.,]\ds: [^\n]{1,500} \w{3} (?P<month>[A-Z][a-z]{2}) {1,2}\d{1,2} \d\d:\d\d:\d\d"
    rb"(?: [AP]M)?(?: [A-Z]{2,5})? (?P<year>(?:19[7-9]|2[01]\d)\d)[ \t\r]*$",
    re.MULTILINE,
)
"""The head that `watch` prints above a command's output."""
_ISO: Final = re.compile(
    rb"^(?P<year>(?:19[7-9]|2[01]\d)\d)-(?P<month>0[1-9]|1[0-2])-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?"
    rb" \S{1,253} [\w.-]{1,64}(?:\[\d{1,10}\])?: ",
    re.MULTILINE,
)
"""A syslog time without a zone."""
_MONTHS: Final = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec")
_MONTH: Final = re.compile(
    rb'(?:^|(?<=[ :="]))[IWEF](?P<month>0[1-9]|1[0-2])\d\d \d\d:\d\d:\d\d\.\d{6} ', re.MULTILINE
)
_HALF: Final = 6
"""Months of half a year."""
_MIDDLE: Final = 7
"""A month that is at most half a year from every other month of its year."""
WEST: Final = timedelta(hours=12)
"""The world's range of zones: UTC-12 to UTC+14."""
EAST: Final = timedelta(hours=14)


def clock_of(data: bytes) -> tuple[list[tuple[int, int]], timedelta | None]:
    """Return the years of the file with the place where each begins, and the zone, as far as the file shows them."""
    marks: dict[int, tuple[int, int | None]] = {}
    offset = None
    for found in chain(_CREATED.finditer(data), _ISO.finditer(data)):
        marks[found.start()] = int(found["month"]), int(found["year"])
    for found in _JOURNAL.finditer(data):
        marks[found.start()] = int(found["month"]), int(found["year"])
        if found["begun"] == found["year"]:  # it dates all lines below it, even those of more than half a year before
            marks[found.end()] = _MIDDLE, int(found["year"])
        zone = _zone((found["zone"] or b"").replace(b"UTC", b"+0000") or b"+9999")
        offset = zone if -WEST <= zone <= EAST else offset
    for found in _WATCHED.finditer(data):
        if found["month"] in _MONTHS:
            marks[found.start()] = _MONTHS.index(found["month"]) + 1, int(found["year"])
    for found in _LOGRUS.finditer(data):
        zone = _zone(found["zone"] or b"+0000")
        if -WEST <= zone <= EAST:
            marks[found.start()], offset = (int(found["month"]), int(found["year"])), zone
    for found in _MONOTONIC.finditer(data):
        zone = _zone(found["zone"])
        if -WEST <= zone <= EAST:
            month, offset = int(found["month"]), zone
            marks[found.start()] = month, _next_year(int(found["year"]), int(found["of"]), month)
    return (_years(data, marks), offset) if marks else ([], offset)


def _zone(text: bytes) -> timedelta:
    """Return the offset of `+0130` or `+01:30`."""
    return timedelta(hours=int(text[:3]), minutes=int(text[:1] + text[-2:]))


def _years(data: bytes, marks: dict[int, tuple[int, int | None]]) -> list[tuple[int, int]]:
    """Return the places at which a month begins, each with its year, counted from the nearest known year."""
    before = 0
    for found in _MONTH.finditer(data):
        if (month := int(found["month"])) != before:
            marks.setdefault(found.start(), (month, None))
        before = month
    places = sorted(marks)
    first = next(number for number, place in enumerate(places) if marks[place][1] is not None)
    years: dict[int, int] = {}
    for direction in (places[first:], places[first::-1]):
        before, year = marks[places[first]]
        for place in direction:
            month, known = marks[place]
            year = known or _next_year(year or 0, before, month)
            years[place], before = year, month
    return sorted(years.items())


def _next_year(year: int, before: int, month: int) -> int:
    """Return the year of a line next to one of another month: a jump of more than half a year is a new year."""
    return year + (before - month > _HALF) - (month - before > _HALF)


def year_at(years: Sequence[tuple[int, int]], at: int) -> int | None:
    return years[max(bisect_right(years, (at, 0)) - 1, 0)][1] if years else None
