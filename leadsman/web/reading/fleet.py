"""Builds the map of a fleet, with a cell for each node by its least remaining amount, and lists the thresholds that
are met next.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Final, NamedTuple

from leadsman.web.reading.margins import Margin
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.scope import BadScope, Scope
from leadsman.web.reading.settings import STEPS, Steps
from leadsman.web.reading.words import percent
from streams.rules.eviction.shortage import FAMILIES
from streams.rules.eviction.signals import RESOURCES, describe_signal

AHEAD_SECONDS: Final = 86_400.0
MOST_SOON: Final = 8


class UpcomingThreshold(NamedTuple):
    """A threshold that a node will meet within AHEAD_SECONDS."""

    at: datetime
    seconds: float
    """Seconds from now, or from the last observation of old data; 0 if it should have been met already."""
    node: str
    name: str
    """The name without the suffix that most nodes share."""
    signal: str
    which: str
    """hard or soft."""


def soonest(nodes: Sequence[NodeLine], scope: Scope, suffix: str) -> tuple[UpcomingThreshold, ...]:
    """Return the thresholds that are met next if growth continues, one for each resource of a node.

    Leaves out signals for which image GC acts earlier.
    """
    found = [
        (node.sampled_at + timedelta(seconds=margin.seconds), node, margin)
        for node in nodes
        if not node.stale and node.sampled_at is not None
        for margin in node.margins
        if margin.seconds is not None and margin.seconds <= AHEAD_SECONDS and not margin.met and not margin.gc_first
    ]
    first: dict[tuple[str, str], UpcomingThreshold] = {}
    for at, node, margin in sorted(found, key=lambda each: (each[0], each[1].name, each[2].signal)):
        left = max(0.0, (at - scope.judged_at).total_seconds())
        which = "hard" if margin.seconds == margin.seconds_to_hard else "soft"
        name = node.name.removesuffix(suffix)
        upcoming = UpcomingThreshold(at, left, node.name, name, margin.signal, which)
        first.setdefault((node.name, FAMILIES[RESOURCES[margin.signal]]), upcoming)
    return tuple(first.values())[:MOST_SOON]


ROOMS: Final = {
    "": "Least",
    "memory": "Memory",
    "disk": "Disk",
    "inodes": "Inodes",
    "pids": "PIDs",
    "cpu": "CPU requests",
}
"""Choices of what a cell shows: the least of all eviction signals, one resource, or unrequested CPUs."""
GROUPS: Final = {"zone": "Zone", "pool": "Pool", "both": "Zone and pool", "none": "All"}
ORDERS: Final = {"": "Worst first", "name": "By name"}
MOST_GROUPS: Final = 48
"""Maximum number of groups with their own heading; nodes of the smallest groups share the last one."""
SIZES: Final = ((300, "s22"), (1500, "s16"), (3000, "s11"))
"""Cell size in pixels, by the number of nodes up to which it applies; beyond, it is 8."""
_SIGNALS: Final = {
    "memory": frozenset({"memory.available", "allocatableMemory.available"}),
    "disk": frozenset({"nodefs.available", "imagefs.available", "containerfs.available"}),
    "inodes": frozenset({"nodefs.inodesFree", "imagefs.inodesFree", "containerfs.inodesFree"}),
    "pids": frozenset({"pid.available"}),
}


class Level(IntEnum):
    """Remaining amount, as a share of the capacity above a threshold; worst first."""

    UNKNOWN = 0
    """No recent statistics, or not Ready."""
    BELOW = 1
    SCARCE = 2
    LOW = 3
    SOME = 4
    PLENTY = 5


class Choice(NamedTuple):
    """The map's choices in an address; empty is the default."""

    room: str = ""
    by: str = ""
    order: str = ""
    level: str = ""
    """The only level that is not dimmed."""
    steps: Steps = STEPS

    @classmethod
    def of(cls, values: Mapping[str, str], steps: Steps = STEPS) -> "Choice":
        """Raises BadScope if a value is unknown."""
        levels = ("", *(str(level.value) for level in Level))
        for name, known in {"room": ROOMS, "by": ("", *GROUPS), "order": ORDERS, "level": levels}.items():
            if values[name] not in known:
                allowed = ", ".join(each for each in known if each)
                raise BadScope(f"{name} cannot be {values[name][:40]!r}: it is one of {allowed}")
        return cls(values["room"], values["by"], values["order"], values["level"], steps)


CHOSEN: Final = ("room", "by", "order", "level")
"""Parameters of an address that are choices of the map."""


class Cell(NamedTuple):
    node: str
    level: Level
    evicted: bool
    """True if it was under pressure in the range."""
    ready: bool
    """False if the Node is known to be not Ready, or its kubelet does not report."""
    words: str
    """Tooltip of the cell, for example "node-1: memory 12 % left"."""
    dim: bool


class Group(NamedTuple):
    name: str
    cells: tuple[Cell, ...]


class Fleet(NamedTuple):
    room: str
    by: str
    order: str
    level: str
    size: str
    groups: tuple[Group, ...]
    legend: tuple[tuple[Level, str, int], ...]
    """Each level with its words and number of nodes."""


def fleet(
    nodes: Sequence[NodeLine],
    choice: Choice = Choice(),  # noqa: B008 - it cannot be changed
    as_of: str = "",
) -> Fleet:
    """Group cells by zone if there are several and no other grouping is chosen, else by pool; `as_of` is the age of
    the data.
    """
    by = choice.by or _by(nodes)
    grouped: dict[str, list[tuple[tuple[float, ...], Cell]]] = {}
    names = _group_names(nodes, by)
    for node in nodes:
        cell, room = _cell(node, choice, as_of)
        worst = (cell.level, cell.ready, room) if choice.order == "" else ()
        grouped.setdefault(names[node.name], []).append((worst, cell))
    counts = Counter(cell.level for cells in grouped.values() for _, cell in cells)
    return Fleet(
        choice.room,
        by,
        choice.order,
        choice.level,
        next((size for most, size in SIZES if len(nodes) <= most), "s8"),
        tuple(
            Group(name, tuple(cell for _, cell in sorted(cells, key=lambda each: (each[0], each[1].node))))
            for name, cells in sorted(grouped.items())
        ),
        tuple((level, _text(level, choice), counts[level]) for level in Level),
    )


def room_of(node: NodeLine, room: str) -> float | None:
    """Return the smallest remaining share for the choice; None if unknown."""
    if room == "cpu":
        fit = node.fit.get("cpu")
        return None if fit is None or not fit.allocatable else 1 - fit.requested / fit.allocatable
    nearest = _nearest(node, room)
    return None if nearest is None else nearest.room


def level_of(node: NodeLine, choice: Choice = Choice()) -> Level:  # noqa: B008 - it cannot be changed
    """Return the level: unknown if the node is not Ready or its statistics are old."""
    left = room_of(node, choice.room)
    if left is None or node.stale or not _is_ready(node):
        return Level.UNKNOWN
    return Level(Level.BELOW + bisect_right((0.0, *choice.steps), left))


def _is_ready(node: NodeLine) -> bool:
    return node.ready is True or not node.known


def _nearest(node: NodeLine, room: str) -> Margin | None:
    """Return the first margin; margins are sorted by nearness already."""
    return next(
        (m for m in node.margins if m.threshold is not None and (not room or m.signal in _SIGNALS.get(room, ()))),
        None,
    )


def _cell(node: NodeLine, choice: Choice, as_of: str) -> tuple[Cell, float]:
    level, left = level_of(node, choice), room_of(node, choice.room)
    dim = choice.level not in {"", str(level.value)}
    evicted = node.evicted.pressure + node.evicted.unknown > 0
    words = _words(node, level, left, choice.room) + (f", {as_of}" if as_of else "")
    cell = Cell(node.name, level, evicted, not node.not_ready, words, dim)
    return cell, 1.0 if left is None else left


def _words(node: NodeLine, level: Level, left: float | None, room: str) -> str:
    parts = []
    if not _is_ready(node):
        parts.append("not Ready" if node.not_ready else "Ready not reported")
    nearest = _nearest(node, room)
    if node.stale:
        parts.append(f"last sample {node.sample_age}" if node.sample_age else "no statistics")
        if nearest is not None and left is not None:
            parts.append(f"{_left(nearest, left)} then")
    elif left is None:
        parts.append("no threshold is known")
    elif level is Level.UNKNOWN:
        pass  # data from before it stopped being Ready says nothing about now
    elif room == "cpu":
        parts.append(f"{percent(left)} of CPU not requested")
    else:
        parts.append(_left(nearest, left))
    if evicted := node.evicted.pressure + node.evicted.unknown:
        parts.append(f"{evicted} evicted")
    return ", ".join(parts)


def _left(nearest: Margin | None, left: float) -> str:
    signal = "" if nearest is None else describe_signal(nearest.signal)
    return f"{signal}: below the threshold" if left < 0 else f"{signal}: {percent(left)} left"


def _text(level: Level, choice: Choice) -> str:
    scarce, low, wide = (f"{step * 100:g}" for step in choice.steps)
    return {
        Level.UNKNOWN: "unknown",
        Level.BELOW: "overcommitted" if choice.room == "cpu" else "below threshold",
        Level.SCARCE: f"under {scarce} %",
        Level.LOW: f"{scarce} to {low} %",
        Level.SOME: f"{low} to {wide} %",
        Level.PLENTY: f"over {wide} %",
    }[level]


def _by(nodes: Sequence[NodeLine]) -> str:
    for by in ("zone", "pool"):
        if len({_value(node, by) for node in nodes}) > 1:
            return by
    return "none"


def _group_names(nodes: Sequence[NodeLine], by: str) -> dict[str, str]:
    """Return the group of each node: beyond the maximum, the smallest ones share a group."""
    names = {node.name: _value(node, by) for node in nodes}
    most = [name for name, _ in Counter(names.values()).most_common(MOST_GROUPS)]
    return {node: name if name in most else "others" for node, name in names.items()}


def _value(node: NodeLine, by: str) -> str:
    if by == "none":
        return ""
    if by == "both":
        return f"{_value(node, 'zone')}, {_value(node, 'pool')}"
    value = node.zone if by == "zone" else node.pool
    return value or f"no {by}"
