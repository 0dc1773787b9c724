"""One thing that needs attention."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from common.amounts import counted, how_often
from common.text import plain
from leadsman.web.attention.badges import Severity
from leadsman.web.reading.asked import RowDict
from leadsman.web.reading.begun import Since

OWNERS: Final = 3
"""Number of owners that are named."""
NAME: Final = 120


class Step(NamedTuple):
    """The one thing to do next, without a stop, and the saved question that shows more of it."""

    words: str = ""
    query: str = ""

    def __bool__(self) -> bool:
        return bool(self.words)

    def __str__(self) -> str:
        return f"{self.words}: leadsman query {self.query}." if self.query else f"{self.words}."


class Item(NamedTuple):
    """One thing to look at; `nodes` are all that it concerns."""

    severity: Severity
    title: str
    text: str
    nodes: tuple[str, ...]
    anchor: str
    """The section that has more."""
    now: bool = True
    """It lasts at the end; else it happened during the range."""
    since: datetime | None = None
    until: datetime | None = None
    alerts: tuple[str, ...] = ()
    """The alerts of the same problem that fire."""
    who: str = ""
    """Owners of the pods, and how often."""
    step: Step = Step()
    about: tuple[tuple[str, ...], ...] = ()
    """Names of alerts about the same problem, each with the labels' values that distinguish it from others of its
    name.
    """
    or_earlier: bool = False
    """It was so at `since` already, when it was first seen."""
    signals: tuple[str, ...] = ()
    """The eviction signals that it is about, as the kubelet spells them."""
    of_each: str = ""
    """Its title of one of its nodes, where the title counts over all of them."""

    short_of: str = ""
    """memory, disk or pids, where these run out: items about the same nodes are one card (`incidents`)."""
    fact: str = ""
    """It in a few words, for the title of that card."""
    is_condition: bool = False
    """It only says that a condition holds, for which other items give the reason."""
    is_cause: bool = False
    """Its step is known to be about the cause."""

    def begun(self, since: Since | None) -> "Item":
        """The same, lasting since then."""
        return self if since is None else self._replace(since=since.at, or_earlier=since.or_earlier)


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once, in the order of the first, without the empty one."""
    return tuple(dict.fromkeys(name for name in names if name))


def owners_of(rows: Iterable[RowDict], column: str = "pods") -> str:
    """The owners of rows, the most first: `ReplicaSet leaky-98cbc7457 in shop, 5 times`."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[f"{plain(row['owner'], NAME)} in {plain(row['namespace'], NAME)}"] += row[column]
    shown = [f"{owner}, {how_often(times)}" for owner, times in counts.most_common(OWNERS)]
    if len(counts) > OWNERS:
        shown.append(counted(len(counts) - OWNERS, "more owner"))
    return "; ".join(shown)


def first_owner(rows: Iterable[RowDict], column: str = "pods") -> str:
    """The owner of most, without its namespace."""
    return plain(max(rows, key=lambda row: row[column])["owner"], NAME)
