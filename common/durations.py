"""Durations: parses Go's form, in which the kubelet's configuration prints them (`5m0s`), and formats them for
people.
"""

import re
from itertools import pairwise
from typing import Final

from common.errors import BadValue

NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
"""Nanoseconds of each unit. `ms` comes before `m`, which is its prefix."""
_PART: Final = re.compile(rf"([0-9]*)(?:\.([0-9]*))?({'|'.join(NANOSECONDS)})")
UNITS: Final = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_ROUGH: Final = 90
"""Forecasts of this many seconds or more are shown without seconds."""
_LONGEST_TEXT: Final = 128
_LONGEST_NANOSECONDS: Final = 2**63 - 1
_SHOWN: Final = 64


class InvalidDuration(BadValue):
    """A text that is not a duration; the message names it, shortened and escaped."""

    def __init__(self, text: str) -> None:
        shown = repr(text[:_SHOWN]) + ("..." if len(text) > _SHOWN else "")
        super().__init__(f"{shown} is not a duration (such as 5m0s, 1h or 100ms)")


def parse_duration(text: str) -> float:
    """Return a duration in seconds. The empty text, a setting that was not printed, is 0.

    Raises InvalidDuration, also for more than 292 years, which Go cannot represent, and for more than 128 characters.
    """
    if text in {"", "0", "+0", "-0"}:
        return 0.0
    if len(text) > _LONGEST_TEXT:
        raise InvalidDuration(text)
    unsigned = text[1:] if text[0] in "+-" else text
    nanoseconds = _nanoseconds(text, unsigned)
    if nanoseconds > _LONGEST_NANOSECONDS:
        raise InvalidDuration(text)
    return (-nanoseconds if text[0] == "-" else nanoseconds) / 10**9


def _nanoseconds(text: str, unsigned: str) -> int:
    total = 0
    position = 0
    while position < len(unsigned) or position == 0:
        match = _PART.match(unsigned, position)
        if match is None or not (match[1] or match[2]):
            raise InvalidDuration(text)
        fraction = match[2] or ""
        # Go drops fractions of a nanosecond.
        total += int(match[1] + fraction) * NANOSECONDS[match[3]] // 10 ** len(fraction)
        position = match.end()
    return total


def ahead_in_words(earliest: float | None, likely: float, latest: float | None) -> str:
    """Format a future time: "in 5 min"; for a band, "between 3 min and 9 min from now, most likely in 5 min"."""
    if earliest is None or latest is None:
        return f"in {in_words(likely)}"
    first, middle, last = map(_rough, (earliest, likely, latest))
    return f"between {first} and {last} from now, most likely in {middle}" if first != last else f"in {middle}"


def spread_in_words(earliest: float | None, latest: float | None) -> str:
    """Format the range of a future time in short, such as "3 min to 9 min"; empty if it has no width."""
    if earliest is None or latest is None:
        return ""
    first, last = _rough(earliest), _rough(latest)
    return f"{first} to {last}" if first != last else ""


def _rough(seconds: float) -> str:
    return in_words(round(seconds / 60) * 60 if seconds >= _ROUGH else seconds)


def in_words(seconds: float) -> str:
    """Format a length of time in its two largest units, such as 2 h 5 min."""
    left = round(seconds)
    for (unit, length), (below, part) in pairwise(UNITS):
        if left >= length:
            whole, rest = divmod(left, length)
            return f"{whole} {unit} {rest // part} {below}" if rest >= part else f"{whole} {unit}"
    return f"{left} s"
