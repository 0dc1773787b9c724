"""A node's badges in a list, and which nodes come first: pure."""

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import Final, NamedTuple

from leadsman.web.reading.nodes import NodeLine
from streams.fold.findings import BROKEN_GC

OFTEN: Final = 3
"""Times under pressure in a range from which a node swings."""
_FAR: Final = 9.0
"""Room of a node without statistics, as a part of the capacity: it comes after every other."""


class Severity(IntEnum):
    """A lower value is worse."""

    CRITICAL = 0
    WARNING = 1
    UNKNOWN = 2
    """Without evidence, or with old evidence only."""
    NOTE = 3

    @property
    def word(self) -> str:
        return self.name.lower()

    @property
    def label(self) -> str:
        return "not known" if self is Severity.UNKNOWN else self.word


class Badge(NamedTuple):
    severity: Severity
    text: str


def badges(node: NodeLine) -> list[Badge]:
    found = [badge for rule in _BADGES if (badge := rule(node)) is not None]
    return sorted(found, key=lambda badge: badge.severity)


def by_urgency(nodes: Iterable[NodeLine]) -> list[NodeLine]:
    """Sort by the worst badge, then most badges, least room, most exclusive CPUs, and name."""
    return sorted(nodes, key=_urgency)


def _urgency(node: NodeLine) -> tuple[int, int, float, int, str]:
    found = badges(node)
    worst = found[0].severity if found else Severity.NOTE + 1
    room = _FAR if node.lowest_room is None else node.lowest_room
    return worst, -len(found), room, -((node.numa or {}).get("exclusive_cpus") or 0), node.name


def _badge_ready(node: NodeLine) -> Badge | None:
    if node.ready is False:
        return Badge(Severity.CRITICAL, "not ready")
    if node.deleted_at is not None:
        return Badge(Severity.NOTE, "deleted")
    if node.ready is None:
        return Badge(Severity.UNKNOWN, "Ready unknown" if node.ready_said else "Ready not known")
    return Badge(Severity.NOTE, "cordoned") if node.unschedulable else None


def _badge_evidence(node: NodeLine) -> Badge | None:
    if not node.stale:
        return None
    return Badge(Severity.UNKNOWN, f"last sample {node.sample_age}" if node.sample_age else "no statistics")


def _badge_margin(node: NodeLine) -> Badge | None:
    if not node.margins:
        return None
    nearest = node.margins[0]
    if nearest.met:
        severity = Severity.CRITICAL if nearest.hard_met else Severity.WARNING
        return Badge(severity, f"below {'hard' if nearest.hard_met else 'soft'} threshold")
    acting = not node.stale and any(margin.near and not margin.gc_first for margin in node.margins)
    return Badge(Severity.WARNING, "threshold near") if acting else None


def _badge_evicted(node: NodeLine) -> Badge | None:
    return Badge(Severity.CRITICAL, f"{node.evicted.pressure} evicted") if node.evicted.pressure else None


def _badge_rejected(node: NodeLine) -> Badge | None:
    return Badge(Severity.WARNING, f"{node.evicted.admission} rejected") if node.evicted.admission else None


def _badge_pressure(node: NodeLine) -> Badge | None:
    if node.pressure:
        return Badge(Severity.WARNING, ", ".join(node.pressure))
    return Badge(Severity.WARNING, "swings") if node.times_under_pressure >= OFTEN else None


def _badge_image_gc(node: NodeLine) -> Badge | None:
    return Badge(Severity.CRITICAL, "image GC") if node.image_gc_goes_on and node.image_gc in BROKEN_GC else None


def _badge_numa(node: NodeLine) -> Badge | None:
    return Badge(Severity.WARNING, "NUMA uneven") if node.uneven else None


def _badge_fit(node: NodeLine) -> Badge | None:
    over = node.overcommitted
    return Badge(Severity.WARNING, f"{over[0]} overcommitted") if over else None


_BADGES: Final[tuple[Callable[[NodeLine], Badge | None], ...]] = (
    _badge_ready,
    _badge_evidence,
    _badge_margin,
    _badge_evicted,
    _badge_image_gc,
    _badge_rejected,
    _badge_pressure,
    _badge_fit,
    _badge_numa,
)
