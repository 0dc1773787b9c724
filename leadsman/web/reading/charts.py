"""Reads, for each resource of a node, the remaining amount over a range, its thresholds over time, and a forecast."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Final, NamedTuple

from leadsman.web.reading.ask import RowDict, ask, by_node
from leadsman.web.reading.evidence import is_stale
from leadsman.web.reading.margins import Margin
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.scope import Scope, Span
from sql.database.open import Database
from streams.rules.eviction.signals import CONDITIONS, RESOURCES, SIGNALS

POINTS: Final = 288
"""Maximum number of points of one line: a day in steps of five minutes."""
ROLLUP_SECONDS: Final = 300
AHEAD: Final = 0.25
"""A forecast is drawn for at most this share of the range."""
SAME_DISK_PART: Final = 100
"""Two readings of one file system differ by less than its capacity divided by this."""
GAP_SAMPLES: Final = 5
GAP_SECONDS: Final = 60
"""Number of usual sampling intervals, and seconds, without a sample that leave a gap in the line."""
IMAGE_DISKS: Final = frozenset({"imagefs.available", "containerfs.available"})
_STEPS: Final = (1, 5, 10, 15, 30, 60, 120, ROLLUP_SECONDS)
_TITLES: Final = {"memory": "Memory", "ephemeral-storage": "Disk", "inodes": "Inodes", "pids": "PIDs"}


class Line(NamedTuple):
    """Seconds since 1970, and the lowest remaining amount of each step, in the resource's unit."""

    name: str
    at: tuple[int, ...]
    lowest: tuple[int, ...]

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Return the start and end of each gap between samples of the line."""
        between = [later - earlier for earlier, later in pairwise(self.at)]
        most = max(GAP_SECONDS, GAP_SAMPLES * median(between)) if between else 0
        return [(earlier, later) for earlier, later in pairwise(self.at) if later - earlier > most]


class Threshold(NamedTuple):
    """An amount below which something acts; `kind` is hard, soft or gc."""

    kind: str
    name: str
    steps: tuple[tuple[int, int | None], ...]
    """Each value with the time from which it holds; None while there was no threshold."""

    def at(self, at_second: int) -> int | None:
        known = [value for since, value in self.steps if since <= at_second]
        return known[-1] if known else None


class Forecast(NamedTuple):
    """The likely course after the last sample, and when it meets thresholds: times and amounts."""

    points: tuple[tuple[int, int], tuple[int, int]]
    hits: tuple[tuple[int, int], ...]
    early: tuple[int, int] | None = None
    late: tuple[int, int] | None = None
    """Ends of the earliest and the latest course; both start at the same point as the likely one."""


class Chart(NamedTuple):
    """One resource: the signals of one file system share a line."""

    key: str
    title: str
    resource: str
    """Name of the resource in events and alerts."""
    condition: str
    margin: Margin
    """Margin of the signal that is nearest to its threshold."""
    lines: tuple[Line, ...]
    thresholds: tuple[Threshold, ...]
    forecast: Forecast | None
    images: bool
    """True if image GC acts on it."""
    signals: tuple[str, ...] = ()
    reported: tuple[tuple[int, int], ...] = ()
    """When the kubelet evicted for this resource, and what was left by its own measurement; these are points of the
    first line.
    """

    @property
    def worst(self) -> int:
        """Return the point of the first line that was nearest to a threshold, or the lowest without one."""
        line = self.lines[0]
        return min(range(len(line.at)), key=lambda index: line.lowest[index] - self._bound(line.at[index]))

    def _bound(self, at_second: int) -> int:
        acting = (each.at(at_second) for each in self.thresholds if each.kind != "gc")
        return max((value for value in acting if value is not None), default=0)


def read_charts(db: Database, scope: Scope, near: Mapping[str, Sequence[Margin]]) -> dict[str, list[Chart]]:
    """Return the charts of each node of `near`. Raises DatabaseError."""
    if not near:
        return {}
    lines: dict[str, dict[str, RowDict]] = {}
    for row in read_steps(db, "charts", scope, list(near)):
        lines.setdefault(row["node"], {})[row["signal"]] = row
    settings = by_node(ask(db, "gc_settings", scope, nodes=list(near)))
    return {
        node: charts(margins, lines.get(node, {}), settings.get(node, ()), scope.of_node(node))
        for node, margins in near.items()
    }


def charts(
    margins: Iterable[Margin], lines: Mapping[str, RowDict], settings: Sequence[RowDict], scope: Scope
) -> list[Chart]:
    """Build the charts of one node in the order of SIGNALS, from rows of `charts` by signal and of `gc_settings`."""
    groups: list[list[Margin]] = []
    for margin in sorted(margins, key=lambda each: SIGNALS.index(each.signal)):
        if margin.signal not in lines:
            continue
        group = next((each for each in groups if _is_one(each[0], margin)), None)
        if group is None:
            groups.append([margin])
        else:
            group.append(margin)
    return [_chart(group, len([each for each in groups if _kind(each) == _kind(group)]) > 1, lines, settings, scope)
            for group in groups]  # fmt: skip


def with_evictions(chart: Chart, evicted: Iterable[RowDict]) -> Chart:
    """Add to the chart the kubelet's own measurements at evictions, which are between two samples."""
    reported = {
        int(row["ts"].timestamp()): int(row["available"])
        for row in evicted
        if row["signal"] in chart.signals and row["available"] is not None and row["time_known"]
    }
    if not reported:
        return chart
    line = chart.lines[0]
    points = dict(zip(line.at, line.lowest, strict=True))
    points |= {at: min(value, points.get(at, value)) for at, value in reported.items()}
    at, lowest = zip(*sorted(points.items()), strict=True)
    return chart._replace(
        lines=(line._replace(at=at, lowest=lowest), *chart.lines[1:]), reported=tuple(sorted(reported.items()))
    )


def step_seconds(scope: Scope) -> int:
    """Return the seconds between two points of a line: from five minutes on, the roll-up is read."""
    least = scope.seconds / POINTS
    fine = next((step for step in _STEPS if step >= least), None)
    return fine or ROLLUP_SECONDS * ceil(least / ROLLUP_SECONDS)


def _is_one(one: Margin, other: Margin) -> bool:
    """Tell whether both are signals of one resource: for disks, of one file system."""
    if RESOURCES[one.signal] != RESOURCES[other.signal]:
        return False
    is_one_disk = (
        one.capacity == other.capacity and abs(one.available - other.available) * SAME_DISK_PART <= one.capacity
    )
    return RESOURCES[one.signal] == "memory" or is_one_disk


def _kind(group: Sequence[Margin]) -> str:
    return RESOURCES[group[0].signal]


def _chart(
    group: Sequence[Margin], several: bool, lines: Mapping[str, RowDict], settings: Sequence[RowDict], scope: Scope
) -> Chart:
    first = group[0].signal
    resource = RESOURCES[first]
    disk = first.partition(".")[0]
    whole = lines[first]
    drawn = [Line("available", tuple(whole["at"]), tuple(whole["lowest"]))]
    if resource == "memory":
        drawn += [
            Line("available to pods", tuple(lines[each.signal]["at"]), tuple(lines[each.signal]["lowest"]))
            for each in group[1:]
        ]
    images = any(margin.signal in IMAGE_DISKS for margin in group)
    gc = _gc(settings, group[0].capacity, scope) if images else []
    fresh = not is_stale(datetime.fromtimestamp(whole["at"][-1], UTC), scope)
    return Chart(
        first.replace(".", "-"),
        f"{_TITLES[resource]} ({disk})" if several else _TITLES[resource],
        resource,
        CONDITIONS[first],
        min(group, key=lambda margin: margin.room),
        tuple(drawn),
        (*_thresholds(group, lines), *gc),
        _forecast(group, whole["at"][-1], scope) if fresh else None,
        images,
        tuple(margin.signal for margin in group),
    )


def read_steps(db: Database, name: str, scope: Scope, nodes: list[str]) -> list[RowDict]:
    """Read rows of `charts` or `usage`, which have one value for each step. Raises DatabaseError."""
    step = step_seconds(scope)
    found = ask(db, name, scope, nodes=nodes, step=step) if step < ROLLUP_SECONDS else []
    # raw samples are kept for days, roll-ups for months
    return found or ask(db, f"{name}_5m", scope, nodes=nodes, step=max(step, ROLLUP_SECONDS))


def _thresholds(group: Sequence[Margin], lines: Mapping[str, RowDict]) -> list[Threshold]:
    """Return each threshold once, even if several signals have it."""
    found: list[Threshold] = []
    disks = {margin.signal.partition(".")[0].removesuffix("fs") for margin in group} if len(group) > 1 else set()
    for margin in group:
        line = lines[margin.signal]
        disk = margin.signal.partition(".")[0].removesuffix("fs")
        named = f"{disk} " if disks and _kind(group) != "memory" else ""
        for kind in ("soft", "hard"):
            steps = _steps(line["at"], line[kind])
            if steps and not any((each.kind, each.steps) == (kind, steps) for each in found):
                found.append(Threshold(kind, f"{named}{kind}", steps))
    if _kind(group) == "memory":  # the second signal has the same hard threshold as the first
        return [each for index, each in enumerate(found) if each.kind not in {one.kind for one in found[:index]}]
    return found


def _steps(at: Sequence[int], values: Sequence[int]) -> tuple[tuple[int, int | None], ...]:
    """Keep only the changes of a threshold; -1 means no threshold. Return nothing if there never was one."""
    known = [None if value < 0 else value for value in values]
    changes = [0, *(index for index in range(1, len(known)) if known[index] != known[index - 1])]
    return tuple((at[index], known[index]) for index in changes) if any(value is not None for value in known) else ()


def _gc(settings: Sequence[RowDict], capacity: int, scope: Scope) -> list[Threshold]:
    """Return the available amounts at which image GC starts, and up to which it frees space."""
    found = []
    for name, column in (("GC target", "image_gc_low_percent"), ("GC starts", "image_gc_high_percent")):
        steps: list[tuple[int, int | None]] = []
        for row in settings:
            left = capacity * (100 - row[column]) // 100
            since = int(max(row["ts"], scope.since).timestamp())
            steps = [each for each in steps if each[0] < since]
            if not steps or steps[-1][1] != left:
                steps.append((since, left))
        if steps:
            found.append(Threshold("gc", f"{name} {settings[-1][column]} %", tuple(steps)))
    return found


def _forecast(group: Sequence[Margin], at: int, scope: Scope) -> Forecast | None:
    meets = sorted(
        (seconds, threshold, margin.available, band)
        for margin in group
        if not margin.met
        for seconds, threshold, band in (
            (margin.seconds_to_soft, margin.soft, margin.soft_band),
            (margin.seconds_to_hard, margin.hard, margin.hard_band),
        )
        if seconds is not None and threshold is not None and seconds > 0
    )
    if not meets:
        return None
    shown = scope.seconds * AHEAD
    seconds, threshold, available, band = meets[0]
    last = min(max(each[0] for each in meets) * 1.1, shown)
    end = available + (threshold - available) * last / seconds
    hits = dict.fromkeys((round(at + ahead), amount) for ahead, amount, *_ in meets if ahead <= shown)
    points = ((at, available), (round(at + last), max(0, round(end))))
    if band is None:
        return Forecast(points, tuple(hits))
    early, late = (_end(at, available, threshold, max(1.0, ahead), shown) for ahead in band)
    return Forecast(points, tuple(hits), early, late)


def _end(at: int, available: int, threshold: int, seconds: float, shown: float) -> tuple[int, int]:
    """Return the end of a straight course: at the threshold, or at the edge of the plot."""
    part = min(1.0, shown / seconds)
    return round(at + seconds * part), round(available + (threshold - available) * part)


LENGTH: Final = timedelta(days=1)
PARTS: Final = 1000
"""Number of equal parts of a capacity that the strip distinguishes."""


class Strip(NamedTuple):
    scope: Scope
    """At least a day around the range, if there is that much data."""
    line: Line | None
    """Remaining amount above the nearest threshold, below 0 if one was met; None without samples."""


def read_strip(db: Database, scope: Scope, span: Span, node: NodeLine) -> Strip:
    """Raises DatabaseError."""
    around = strip_scope(scope, span)
    capacities = {margin.signal: margin.capacity for margin in node.margins}
    least: dict[int, int] = {}
    for row in read_steps(db, "charts", around, [node.name]):
        capacity = capacities.get(row["signal"])
        for at, lowest, hard, soft in zip(row["at"], row["lowest"], row["hard"], row["soft"], strict=True):
            threshold = max(hard, soft)
            if capacity and threshold >= 0:
                room = round((lowest - threshold) / max(1, capacity - threshold) * PARTS)
                least[at] = min(room, least.get(at, room))
    at = tuple(sorted(least))
    return Strip(around, Line("least room", at, tuple(least[each] for each in at)) if at else None)


def strip_scope(scope: Scope, span: Span) -> Scope:
    """Return a day with the range in its middle; if that would end after the last observation, a day that ends
    there.
    """
    length = scope.until - scope.since
    last = span.last_at.replace(microsecond=0) + timedelta(seconds=1)
    until = max(scope.until, min(last, scope.until + max(LENGTH - length, timedelta()) / 2))
    since = min(scope.since, max(span.first_at.replace(microsecond=0), until - LENGTH))
    return scope._replace(since=since, until=until)
