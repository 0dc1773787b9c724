"""Numbers and names as a person reads them in an alert."""

from collections.abc import Iterable
from typing import Final

from common.text import plain

_KIB: Final = 1024
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_MINUTE: Final = 60
_HOUR: Final = 3600
SHOWN: Final = 3
NAME: Final = 120
"""Characters of a name that are shown."""


def name(text: str) -> str:
    """A name that a cluster chose, safe to show."""
    return plain(text, NAME)


def size(amount: float) -> str:
    """Bytes, with one decimal: `1.5 GiB`."""
    power = 0
    while abs(amount) >= _KIB and power < len(_UNITS) - 1:
        amount /= _KIB
        power += 1
    return f"{amount:.0f} B" if not power else f"{amount:.1f} {_UNITS[power]}"


def amount(value: int, resource: str) -> str:
    """An amount of an eviction's resource: bytes, inodes or process ids."""
    return size(value) if resource in {"memory", "ephemeral-storage"} else f"{value} {resource}"


def lasting(seconds: float) -> str:
    """A time span: `45 s`, `12 min`, `3 h 20 min`."""
    whole = round(seconds)
    if whole < 2 * _MINUTE:
        return f"{whole} s"
    if whole < 2 * _HOUR:
        return f"{round(whole / _MINUTE)} min"
    hours, rest = divmod(round(whole / _MINUTE), _MINUTE)
    return f"{hours} h {rest} min" if rest else f"{hours} h"


def some(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    every = list(names)
    shown = ", ".join(name(each) for each in every[:SHOWN])
    return f"{shown} and {len(every) - SHOWN} more" if len(every) > SHOWN else shown


def pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count} pods"
