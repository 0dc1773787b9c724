"""Where everything of a chart lies: x in thousandths or percent of the plot's width, y in pixels. Pure."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import ceil, floor, log10
from typing import Final, NamedTuple, TypedDict

from leadsman.web.reading.charts import Chart, Line, Threshold
from leadsman.web.reading.scope import Scope
from leadsman.web.reading.strip import Strip
from leadsman.web.reading.timeline import Tick, ticks
from leadsman.web.reading.words import amount, unit
from leadsman.web.rendering.lanes import PlotLane
from leadsman.web.rendering.notes import Course, placed

TOP: Final = 24
HEIGHT: Final = 280
LANE: Final = 26
FOOT: Final = 26
"""Pixels of the time axis."""
LABEL: Final = 29
"""Pixels between two names of thresholds."""
_WIDTH: Final = 1000
_ROOMY: Final = 2.0
"""A threshold is within the axis where it makes it no longer than so many times."""
_LEAST: Final = 0.002
"""The axis shows no less than this part of the capacity."""
_WATCHED: Final = frozenset({"memory", "ephemeral-storage"})
_FAR: Final = 0.3
_UNITS: Final = (2**40, 2**30, 2**20, 2**10, 1)
_NICE: Final = (1, 2, 5, 10)
_LABELS: Final = 6


class Axis(NamedTuple):
    """Of time: of all charts of a node."""

    scope: Scope
    end: int
    """Seconds since 1970; after the range where a forecast is drawn."""

    @property
    def start(self) -> int:
        return int(self.scope.since.timestamp())

    @property
    def until(self) -> float:
        return self.percent(self.scope.until.timestamp())

    @property
    def ticks(self) -> tuple[Tick, ...]:
        return ticks(self.scope, datetime.fromtimestamp(self.end, UTC))

    def percent(self, at: float) -> float:
        return round(min(100.0, max(0.0, (at - self.start) / (self.end - self.start) * 100)), 2)


class Label(NamedTuple):
    y: float
    kind: str
    text: str
    note: str


class Note(NamedTuple):
    """What a threshold was from a time on; the `last` of each has a label beside the plot where there is room."""

    left: float
    y: float
    kind: str
    text: str
    last: bool


class Span(NamedTuple):
    """In percent of the width."""

    left: float
    width: float


class Hit(NamedTuple):
    """Where a forecast meets a threshold."""

    left: float
    y: float
    at: datetime


class ChartData(TypedDict):
    """What the readout needs in the browser: times in seconds since 1970, amounts in `unit`."""

    unit: str
    since: int
    until: int
    end: int
    low: float
    high: float
    at: tuple[int, ...]
    lowest: tuple[int, ...]
    moment: int
    """Which is read out at first: the nearest to a threshold."""
    thresholds: list[tuple[str, str, tuple[tuple[int, int | None], ...]]]
    pressure: list[tuple[int, int]]


class Plot(NamedTuple):
    """Everything that is drawn of one chart."""

    chart: Chart
    number: int
    """Its place among the charts of the page."""
    axis: Axis
    bottom: int
    """Pixels from the top to the foot of the plot, then the lanes, then the time axis."""
    height: int
    low: float
    high: float
    rows: tuple[tuple[float, str], ...]
    lines: tuple[tuple[str, str], ...]
    limits: tuple[tuple[str, str], ...]
    """Kind and path."""
    labels: tuple[Label, ...]
    notes: tuple[Note, ...]
    outside: tuple[str, ...]
    """Names of thresholds and lines beyond the axis."""
    shade: tuple[Span, ...]
    gaps: tuple[Span, ...]
    forecast: str
    band: str
    """Path of what lies between the earliest and the latest course; empty where it is not known."""
    hits: tuple[Hit, ...]
    lanes: tuple[PlotLane, ...]
    readout: tuple[datetime, int, tuple[tuple[Threshold, int], ...]]
    """The moment nearest to a threshold, what was left, and the thresholds of then."""
    data: ChartData

    @property
    def stems(self) -> list[float]:
        """Where an eviction is drawn up into the plot."""
        marks = (mark for lane in self.lanes for mark in lane.marks if mark.shape == "eviction")
        return [self.axis.percent(mark.since.timestamp()) for mark in marks]

    @property
    def step_seconds(self) -> int:
        """Of the readout by keys: from one sample to the next, where none is missing."""
        at = self.chart.lines[0].at
        return max(1, round((at[-1] - at[0]) / max(1, len(at) - 1)))

    @property
    def is_far(self) -> bool:
        """Of a resource that few look at, and that had much room in the whole range."""
        if self.chart.resource in _WATCHED or self.chart.forecast is not None:
            return False
        _, lowest, acting = self.readout
        return (lowest - max((bound for _, bound in acting), default=0)) / max(1, self.chart.margin.capacity) > _FAR


class StripPlot(NamedTuple):
    """A strip as it is drawn, with the range as a window in it; in percent of its width."""

    axis: Axis
    path: str
    threshold: float
    gaps: tuple[Span, ...]
    window: Span
    chosen: tuple[int, int]
    """The range, in seconds since 1970."""
    step_seconds: int


def strip_of(strip: Strip, scope: Scope) -> StripPlot:
    """Of a line, from what is least of it, or the threshold, to all; nothing but a gap without one."""
    axis = Axis(strip.scope, int(strip.scope.until.timestamp()))
    chosen = int(scope.since.timestamp()), int(scope.until.timestamp())
    left, right = (axis.percent(at) for at in chosen)
    window = Span(left, round(right - left, 2))
    step = max(1, round(strip.scope.seconds / _STRIP_STEPS))
    line = strip.line
    if line is None:
        return StripPlot(axis, "", TOP + HEIGHT, (Span(0, 100),), window, chosen, step)
    pad = (max(1, *line.lowest) - min(0, *line.lowest)) * _STRIP_PAD
    low, high = min(0, *line.lowest) - pad, max(1, *line.lowest) + pad
    gaps = [(axis.start, line.at[0]), *line.gaps, (line.at[-1], axis.end)]
    shown = tuple(span for span in _spans(gaps, axis) if span.width > _GAP_PERCENT)
    path = _path(line.at, line.lowest, line.gaps, axis, low, high)
    return StripPlot(axis, path, _y(0, low, high), shown, window, chosen, step)


_STRIP_STEPS: Final = 288
_STRIP_PAD: Final = 0.06


def axis_of(charts: Iterable[Chart], scope: Scope) -> Axis:
    """One time axis for all, as long as the furthest forecast."""
    until = scope.until.timestamp()
    ends = [
        end[0]
        for each in charts
        if each.forecast
        for end in (each.forecast.points[1], each.forecast.late)
        if end is not None
    ]
    return Axis(scope, ceil(max((until, *ends))))


def plot_of(
    chart: Chart, number: int, axis: Axis, lanes: Sequence[PlotLane], pressure: Sequence[tuple[datetime, datetime]]
) -> Plot:
    """One chart with its lanes; `pressure` is when its condition held."""
    low, high = _bounds(chart)
    line = chart.lines[0]
    kept = [each for each in chart.thresholds if _within(each, low, high)]
    gaps = [(axis.start, line.at[0]), *line.gaps, (line.at[-1], int(axis.scope.until.timestamp()))]
    worst, at = chart.worst, line.at[chart.worst]
    drawn = [each for each in chart.lines if each is line or (min(each.lowest) >= low and max(each.lowest) <= high)]
    readable = [each for each in chart.thresholds if each.kind != "gc" or each in kept]
    acting = tuple((each, value) for each in readable if (value := each.at(at)) is not None)
    under = [(int(since.timestamp()), int(until.timestamp())) for since, until in pressure]
    outside = [each.name for each in chart.thresholds if each not in kept]
    outside += [each.name for each in chart.lines if each not in drawn]
    bottom = TOP + HEIGHT
    return Plot(
        chart,
        number,
        axis,
        bottom,
        bottom + 10 + LANE * len(lanes) + FOOT,
        low,
        high,
        tuple((_y(value, low, high), amount(value, chart.margin.signal)) for value in _rows(chart, low, high)),
        tuple((each.name, _path(each.at, each.lowest, each.gaps, axis, low, high)) for each in drawn),
        tuple((each.kind, _stepped(each, axis, low, high)) for each in kept),
        tuple(_labels(kept, chart.margin.signal, low, high)),
        tuple(_notes(drawn, kept, chart.margin.signal, axis, low, high)),
        tuple(outside),
        tuple(_spans(under, axis)),
        tuple(span for span in _spans(gaps, axis) if span.width > _GAP_PERCENT),
        _forecast(chart, axis, low, high),
        _band(chart, axis, low, high),
        tuple(
            Hit(axis.percent(when), _y(value, low, high), datetime.fromtimestamp(when, UTC))
            for when, value in (chart.forecast.hits if chart.forecast else ())
        ),
        tuple(lanes),
        (datetime.fromtimestamp(at, UTC), line.lowest[worst], acting),
        ChartData(
            unit=unit(chart.margin.signal),
            since=axis.start,
            until=int(axis.scope.until.timestamp()),
            end=axis.end,
            low=low,
            high=high,
            at=line.at,
            lowest=line.lowest,
            moment=at,
            thresholds=[(each.kind, each.name, each.steps) for each in readable],
            pressure=under,
        ),
    )


_GAP_PERCENT: Final = 1.5
_NOTED_PERCENT: Final = 12.0


def _bounds(chart: Chart) -> tuple[float, float]:
    """Of the axis: around the line and the thresholds nearest to it, so that a crossing can be seen."""
    values = [value for line in chart.lines[:1] for value in line.lowest]
    low, high = float(min(values)), float(max(values))
    limits = sorted(
        (each.kind == "gc", max(low - value, value - high, 0), value)
        for each in chart.thresholds
        for _, value in each.steps
        if value is not None
    )
    for place, (_, _, limit) in enumerate(limits):
        wider = min(low, limit), max(high, limit)
        if place == 0 or wider[1] - wider[0] <= _ROOMY * (high - low):
            low, high = wider
    least = max(chart.margin.capacity * _LEAST, 4)
    pad = max((high - low) * 0.07, (least - (high - low)) / 2)
    return max(0.0, low - pad), high + pad


def _within(threshold: Threshold, low: float, high: float) -> bool:
    return any(value is not None and low <= value <= high for _, value in threshold.steps)


def _y(value: float, low: float, high: float) -> float:
    part = (high - value) / (high - low)
    return round(TOP + min(1.2, max(-0.2, part)) * HEIGHT, 1)


def _x(at: float, axis: Axis) -> float:
    return round(axis.percent(at) * _WIDTH / 100, 1)


def _path(
    at: Sequence[int], values: Sequence[int], gaps: Sequence[tuple[int, int]], axis: Axis, low: float, high: float
) -> str:
    ends = {earlier for earlier, _ in gaps}
    parts, pen = [], "M"
    for when, value in zip(at, values, strict=True):
        parts.append(f"{pen}{_x(when, axis)} {_y(value, low, high)}")
        pen = "M" if when in ends else "L"
    if len(at) == 1 or (len(ends) >= len(at) - 1):
        parts.append("h.1")
    return "".join(parts)


def _stepped(threshold: Threshold, axis: Axis, low: float, high: float) -> str:
    parts, before = [], None
    for since, value in threshold.steps:
        x = _x(since, axis)
        if before is not None:
            parts.append(f"H{x}")
        if value is not None:
            parts.append(f"{'V' if before is not None else f'M{x} '}{_y(value, low, high)}")
        before = value
    return "".join(parts) + (f"H{_WIDTH}" if before is not None else "")


def _rows(chart: Chart, low: float, high: float) -> list[float]:
    """Round amounts along the axis."""
    scale = next(each for each in _UNITS if high >= each) if unit(chart.margin.signal) == "bytes" else 1
    rough = (high - low) / scale / _LABELS
    power = 10 ** floor(log10(rough))
    step = next(each * power for each in _NICE if each * power >= rough) * scale
    step = max(step, 1)
    return [nth * step for nth in range(ceil(low / step), floor(high / step) + 1)]


def _labels(kept: Sequence[Threshold], signal: str, low: float, high: float) -> list[Label]:
    """The names of thresholds as they are at the end, below one another."""
    last = [(value, each) for each in kept if (value := each.steps[-1][1]) is not None and low <= value <= high]
    found: list[Label] = []
    floor_y = float(TOP)
    for value, each in sorted(last, key=lambda one: -one[0]):
        y = max(_y(value, low, high), floor_y)
        found.append(Label(y, each.kind, each.name, amount(value, signal)))
        floor_y = y + LABEL
    over = floor_y - LABEL - (TOP + HEIGHT)
    if found and over > 0:  # the lowest ones move up
        limit = float(TOP + HEIGHT)
        for place in range(len(found) - 1, -1, -1):
            found[place] = found[place]._replace(y=min(found[place].y, limit))
            limit = found[place].y - LABEL
    return found


def _notes(
    drawn: Sequence[Line], kept: Sequence[Threshold], signal: str, axis: Axis, low: float, high: float
) -> Iterable[Note]:
    """Where no line and no other note crosses them, if there is such a place."""
    lines = [
        [(axis.percent(when), _y(value, low, high)) for when, value in zip(line.at, line.lowest, strict=True)]
        for line in drawn
    ]
    limits = {each: [corner for level in _levels(each, axis, low, high) for corner in level[:2]] for each in kept}
    notes: list[Course] = []
    for threshold in kept:
        others = [course for each, course in limits.items() if each is not threshold]
        for (left, y), (until, _), value, last in _levels(threshold, axis, low, high):
            if low <= value <= high and until - left > _NOTED_PERCENT:
                texts = (f"{threshold.name} {amount(value, signal)}", threshold.name)
                note = placed(texts, left, until, y, [*lines, *others, *notes], TOP + HEIGHT)
                notes.append(note.corners)
                yield Note(note.left, note.foot, threshold.kind, note.text, last)


def _levels(
    threshold: Threshold, axis: Axis, low: float, high: float
) -> Iterable[tuple[tuple[float, float], tuple[float, float], int, bool]]:
    """Begin and end of each of its steps, what it was then, and whether it is the last."""
    ends = [*(since for since, _ in threshold.steps[1:]), axis.end]
    for nth, ((since, value), until) in enumerate(zip(threshold.steps, ends, strict=True), start=1):
        if value is not None:
            y = _y(value, low, high)
            yield (axis.percent(since), y), (axis.percent(until), y), value, nth == len(ends)


def spark(values: Sequence[float], at: Sequence[int] = (), scope: Scope | None = None) -> str:
    """A line of 100 by 20 without an axis, from 0 or the lowest to the highest; over a range where one is given."""
    if not values:
        return ""
    low, high = (0.0, max(*values, 1e-9)) if scope else (float(min(values)), float(max(values)))
    span = (high - low) or 1.0
    if scope is None:
        across = [place / max(1, len(values) - 1) * 100 for place in range(len(values))]
    else:
        across = [(when - scope.since.timestamp()) / scope.seconds * 100 for when in at]
    flat = 10.0 if high == low else None
    points = zip(across, values, strict=True)
    return "M" + "L".join(f"{x:.1f} {flat or 19 - (value - low) / span * 18:.1f}" for x, value in points)


def _spans(pairs: Iterable[tuple[float, float]], axis: Axis) -> Iterable[Span]:
    for since, until in pairs:
        left, right = axis.percent(since), axis.percent(until)
        if right > left:
            yield Span(left, round(right - left, 2))


def _forecast(chart: Chart, axis: Axis, low: float, high: float) -> str:
    if chart.forecast is None:
        return ""
    (since, first), (until, last) = chart.forecast.points
    return f"M{_x(since, axis)} {_y(first, low, high)}L{_x(until, axis)} {_y(last, low, high)}"


def _band(chart: Chart, axis: Axis, low: float, high: float) -> str:
    """From the last sample to where the earliest course ends, to where the latest does, and back."""
    if chart.forecast is None or chart.forecast.early is None or chart.forecast.late is None:
        return ""
    corners = (chart.forecast.points[0], chart.forecast.early, chart.forecast.late)
    return "M" + "L".join(f"{_x(when, axis)} {_y(value, low, high)}" for when, value in corners) + "z"
