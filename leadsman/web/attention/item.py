"""One thing that needs attention."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from leadsman.web.attention.badges import Severity


class Item(NamedTuple):
    """One thing to look at; `nodes` are all that it concerns."""

    severity: Severity
    title: str
    text: str
    nodes: tuple[str, ...]
    anchor: str
    """The section that tells more."""
    now: bool = True
    """It lasts at the end; else it happened during the range."""
    since: datetime | None = None
    until: datetime | None = None
    alerts: tuple[str, ...] = ()
    """The alerts of the same problem that fire."""


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once, in the order of the first, without the empty one."""
    return tuple(dict.fromkeys(name for name in names if name))
