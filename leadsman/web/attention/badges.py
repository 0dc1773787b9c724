"""Computes a node's badges in a list, and the order of nodes. Pure."""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Final, NamedTuple

from leadsman.web.reading.nodes import NodeLine
from streams.fold.findings import BROKEN_GC

OFTEN: Final = 3
"""A node's pressure oscillates if it began at least this often in a range."""
_FAR: Final = 9.0
"""Remaining share of capacity of a node without statistics; it sorts after every other node."""


class Severity(IntEnum):
    """A lower value is worse."""

    CRITICAL = 0
    WARNING = 1
    UNKNOWN = 2
    """Without evidence, or only with old evidence."""
    NOTE = 3

    @property
    def word(self) -> str:
        return self.name.lower()

    @property
    def label(self) -> str:
        return "unknown" if self is Severity.UNKNOWN else self.word

    @classmethod
    def of_alert(cls, severity: str) -> "Severity":
        """Return the severity of an alert; rules may set any text."""
        return _OF_ALERTS.get(severity, cls.NOTE)


_OF_ALERTS: Final = {
    **dict.fromkeys(("critical", "error", "page"), Severity.CRITICAL),
    "warning": Severity.WARNING,
    "unknown": Severity.UNKNOWN,
}


class Badge(NamedTuple):
    severity: Severity
    text: str


def badges(node: NodeLine) -> list[Badge]:
    return sorted(_badges(node), key=lambda badge: badge.severity)


def by_urgency(nodes: Iterable[NodeLine]) -> list[NodeLine]:
    """Sort by the worst badge, then most badges, least room, most exclusive CPUs, and name."""
    return sorted(nodes, key=_urgency)


def _urgency(node: NodeLine) -> tuple[int, int, float, int, str]:
    found = badges(node)
    worst = found[0].severity if found else Severity.NOTE + 1
    room = _FAR if node.lowest_room is None else node.lowest_room
    return worst, -len(found), room, -((node.numa or {}).get("exclusive_cpus") or 0), node.name


def _badges(node: NodeLine) -> Iterator[Badge]:
    if ready := _ready(node):
        yield ready
    if node.stale:
        yield Badge(Severity.UNKNOWN, f"last sample {node.sample_age}" if node.sample_age else "no statistics")
    if margin := _margin(node):
        yield margin
    if evicted := node.evicted.pressure + node.evicted.unknown:
        yield Badge(Severity.CRITICAL if node.evicted.pressure else Severity.WARNING, f"{evicted} evicted")
    if node.image_gc_goes_on and node.image_gc in BROKEN_GC:
        yield Badge(Severity.CRITICAL, "image GC fails")
    if rejected := node.evicted.admission:
        yield Badge(Severity.WARNING, f"{rejected} rejected")
    if node.pressure or node.times_under_pressure >= OFTEN:
        yield Badge(Severity.WARNING, ", ".join(node.pressure) or "pressure oscillates")
    if overcommitted := node.overcommitted:
        yield Badge(Severity.WARNING, f"{overcommitted[0]} overcommitted")
    if node.uneven:
        yield Badge(Severity.WARNING, "NUMA uneven")


def _ready(node: NodeLine) -> Badge | None:
    if node.ready is False:
        return Badge(Severity.CRITICAL, "not ready")
    if node.deleted_at is not None:
        return Badge(Severity.NOTE, "deleted")
    if node.ready is None:
        return Badge(Severity.UNKNOWN, "Ready unknown" if node.ready_reported else "Ready not reported")
    return Badge(Severity.NOTE, "cordoned") if node.unschedulable else None


def _margin(node: NodeLine) -> Badge | None:
    if not node.margins:
        return None
    nearest = node.margins[0]
    if nearest.met:
        severity = Severity.CRITICAL if nearest.hard_met else Severity.WARNING
        return Badge(severity, f"below {'hard' if nearest.hard_met else 'soft'} threshold")
    acting = not node.stale and any(margin.near and not margin.gc_first for margin in node.margins)
    return Badge(Severity.WARNING, "threshold near") if acting else None
