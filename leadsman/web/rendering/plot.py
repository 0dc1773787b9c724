"""Computes everything that a chart of a node shows, and the strip of a day above it, with positions. Pure."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import ceil, floor, log10
from typing import Final, NamedTuple, TypedDict

from leadsman.web.reading.charts import Chart, Strip, Threshold
from leadsman.web.reading.scope import Scope
from leadsman.web.reading.words import amount, unit
from leadsman.web.rendering.frame import HEIGHT, TOP, Axis, Frame, Span
from leadsman.web.rendering.lanes import PlotLane
from leadsman.web.rendering.names import DEEP, HIGH, Label, Note, labels, notes

LANE: Final = 26
FOOT: Final = 26
"""Height of the time axis in pixels."""
GAP_PERCENT: Final = 1.5
"""A wider gap is marked."""
_ROOMY: Final = 2.0
"""The axis includes a threshold if that lengthens it by at most this factor."""
_LEAST: Final = 0.002
"""The axis covers at least this share of the capacity."""
_WATCHED: Final = frozenset({"memory", "ephemeral-storage"})
_FAR: Final = 0.3
_UNITS: Final = (2**40, 2**30, 2**20, 2**10, 1)
_NICE: Final = (1, 2, 5, 10)
_LABELS: Final = 6


class Hit(NamedTuple):
    left: float
    y: float
    at: datetime


class ChartData(TypedDict):
    """Data for the readout in the browser: times in seconds since 1970, amounts in `unit`."""

    unit: str
    since: int
    until: int
    end: int
    low: float
    high: float
    at: tuple[int, ...]
    lowest: tuple[int, ...]
    readout_at: int
    """The time that the readout shows first: the point nearest to a threshold."""
    thresholds: list[tuple[str, str, tuple[tuple[int, int | None], ...]]]
    pressure: list[tuple[int, int]]


class Plot(NamedTuple):
    chart: Chart
    number: int
    """Its number among the charts of the page."""
    axis: Axis
    bottom: int
    """Pixels from the top to the bottom of the plot, then the lanes, then the time axis."""
    height: int
    low: float
    high: float
    rows: tuple[tuple[float, str], ...]
    lines: tuple[tuple[str, str], ...]
    limits: tuple[tuple[str, str], ...]
    """Kind and SVG path of each line."""
    labels: tuple[Label, ...]
    notes: tuple[Note, ...]
    outside: tuple[str, ...]
    """Names of thresholds and lines outside the axis."""
    shade: tuple[Span, ...]
    gaps: tuple[Span, ...]
    forecast: str
    band: str
    """SVG path of the area between the earliest and the latest course; empty if unknown."""
    hits: tuple[Hit, ...]
    reported: tuple[tuple[float, float, str], ...]
    """Position and amount of the kubelet's own measurement at each eviction."""
    lanes: tuple[PlotLane, ...]
    readout: tuple[datetime, int, tuple[tuple[Threshold, int], ...]]
    """The time nearest to a threshold, the remaining amount, and the thresholds at that time."""
    data: ChartData

    @property
    def stems(self) -> list[float]:
        """Return the x positions at which evictions are drawn into the plot."""
        marks = (mark for lane in self.lanes for mark in lane.marks if mark.shape == "eviction")
        return [self.axis.percent(mark.since.timestamp()) for mark in marks]

    def beneath(self, y: float, pixels: float) -> float:
        """Return where a label is placed this far below a mark, or above it near the axis."""
        return _beneath(y, pixels)

    def time_foot(self, y: float) -> float:
        """Return the baseline of a crossing's time: below its mark, but entirely above or below the axis."""
        foot = y + 19
        return foot if foot < self.bottom - DEEP else max(foot, self.bottom + DEEP + HIGH)

    @property
    def step_seconds(self) -> int:
        """Return the step by which keys move the readout: the usual distance of samples."""
        at = self.chart.lines[0].at
        return max(1, round((at[-1] - at[0]) / max(1, len(at) - 1)))

    @property
    def is_far(self) -> bool:
        """Tell whether the resource is of interest to few readers and always had much room in the range."""
        if self.chart.resource in _WATCHED or self.chart.forecast is not None:
            return False
        _, lowest, acting = self.readout
        return (lowest - max((bound for _, bound in acting), default=0)) / max(1, self.chart.margin.capacity) > _FAR


def axis_of(charts: Iterable[Chart], scope: Scope) -> Axis:
    """Build one time axis for all charts, up to the end of the longest forecast."""
    until = scope.until.timestamp()
    ends = [
        end[0]
        for each in charts
        if each.forecast
        for end in (each.forecast.points[1], each.forecast.late)
        if end is not None
    ]
    return Axis(scope, ceil(max((until, *ends))))


def _beneath(y: float, pixels: float) -> float:
    return y + pixels if y + pixels < TOP + HEIGHT else y - 8


def plot_of(
    chart: Chart, number: int, axis: Axis, lanes: Sequence[PlotLane], pressure: Sequence[tuple[datetime, datetime]]
) -> Plot:
    """Build one chart with its lanes; `pressure` is when its condition held."""
    frame = Frame(axis, *_bounds(chart))
    line, signal = chart.lines[0], chart.margin.signal
    kept = [
        each for each in chart.thresholds if any(value is not None and frame.holds(value) for _, value in each.steps)
    ]
    gaps = [(axis.start, line.at[0]), *line.gaps, (line.at[-1], int(axis.scope.until.timestamp()))]
    worst, at = chart.worst, line.at[chart.worst]
    drawn = [each for each in chart.lines if each is line or all(map(frame.holds, each.lowest))]
    readable = [each for each in chart.thresholds if each.kind != "gc" or each in kept]
    acting = tuple((each, value) for each in readable if (value := each.at(at)) is not None)
    under = [(int(since.timestamp()), int(until.timestamp())) for since, until in pressure]
    beyond = [each for each in chart.thresholds if each not in kept]
    outside = [f"{each.name} {amount(each.steps[-1][1], signal)}" for each in beyond if each.steps[-1][1] is not None]
    outside += [each.name for each in chart.lines if each not in drawn]
    bottom = TOP + HEIGHT
    reported = _reported(chart, frame)
    return Plot(
        chart,
        number,
        axis,
        bottom,
        bottom + 10 + LANE * len(lanes) + FOOT,
        frame.low,
        frame.high,
        tuple((frame.y(value), amount(value, signal)) for value in _rows(signal, frame)),
        tuple((each.name, frame.path(each.at, each.lowest, each.gaps)) for each in drawn),
        tuple((each.kind, frame.stepped(each)) for each in kept),
        tuple(labels(frame, readable, signal)),
        tuple(notes(frame, drawn, kept, signal, ((left, _beneath(y, 12), text) for left, y, text in reported))),
        tuple(outside),
        tuple(axis.spans(under)),
        tuple(axis.spans(gaps, GAP_PERCENT)),
        frame.polygon(chart.forecast.points) if chart.forecast else "",
        _band(chart, frame),
        tuple(
            Hit(*frame.point(when, value), datetime.fromtimestamp(when, UTC))
            for when, value in (chart.forecast.hits if chart.forecast else ())
        ),
        reported,
        tuple(lanes),
        (datetime.fromtimestamp(at, UTC), line.lowest[worst], acting),
        ChartData(
            unit=unit(signal),
            since=axis.start,
            until=int(axis.scope.until.timestamp()),
            end=axis.end,
            low=frame.low,
            high=frame.high,
            at=line.at,
            lowest=line.lowest,
            readout_at=at,
            thresholds=[(each.kind, each.name, each.steps) for each in readable],
            pressure=under,
        ),
    )


def _reported(chart: Chart, frame: Frame) -> tuple[tuple[float, float, str], ...]:
    """Return a ring for each measurement. Only the lowest one shows its amount, if there is space below."""
    lowest = min(chart.lines[0].lowest)
    words = f"{amount(lowest, chart.margin.signal)} by the kubelet"
    first = next((at for at, value in chart.reported if value == lowest), None)
    return tuple((*frame.point(at, value), words if at == first else "") for at, value in chart.reported)


def _bounds(chart: Chart) -> tuple[float, float]:
    """Return the bounds of the axis: around the line and the nearest thresholds, so that a crossing is visible."""
    values = [value for line in chart.lines[:1] for value in line.lowest]
    low, high = float(min(values)), float(max(values))
    limits = sorted(
        (each.kind == "gc", max(low - value, value - high, 0), value)
        for each in chart.thresholds
        for _, value in each.steps
        if value is not None
    )
    for index, (_, _, limit) in enumerate(limits):
        wider = min(low, limit), max(high, limit)
        if index == 0 or wider[1] - wider[0] <= _ROOMY * (high - low):
            low, high = wider
    least = max(chart.margin.capacity * _LEAST, 4)
    pad = max((high - low) * 0.07, (least - (high - low)) / 2)
    return max(0.0, low - pad), high + pad


def _rows(signal: str, frame: Frame) -> list[float]:
    low, high = frame.low, frame.high
    scale = next(each for each in _UNITS if high >= each) if unit(signal) == "bytes" else 1
    rough = (high - low) / scale / _LABELS
    power = 10 ** floor(log10(rough))
    step = next(each * power for each in _NICE if each * power >= rough) * scale
    step = max(step, 1)
    return [nth * step for nth in range(ceil(low / step), floor(high / step) + 1)]


def _band(chart: Chart, frame: Frame) -> str:
    """Return the outline from the last sample to the end of the earliest course, to that of the latest, and back."""
    if chart.forecast is None or chart.forecast.early is None or chart.forecast.late is None:
        return ""
    return frame.polygon((chart.forecast.points[0], chart.forecast.early, chart.forecast.late)) + "z"


def spark(values: Sequence[float], at: Sequence[int] = (), scope: Scope | None = None) -> str:
    """Return a sparkline of 100 by 20 without axes, from 0 or the lowest value to the highest; over a range if
    given.
    """
    if not values:
        return ""
    low, high = (0.0, max(*values, 1e-9)) if scope else (float(min(values)), float(max(values)))
    span = (high - low) or 1.0
    if scope is None:
        across = [index / max(1, len(values) - 1) * 100 for index in range(len(values))]
    else:
        across = [(when - scope.since.timestamp()) / scope.seconds * 100 for when in at]
    flat = 10.0 if high == low else None
    points = zip(across, values, strict=True)
    return "M" + "L".join(f"{x:.1f} {flat or 19 - (value - low) / span * 18:.1f}" for x, value in points)


_STEPS: Final = 288
_PAD: Final = 0.06


class StripPlot(NamedTuple):
    """A drawn strip, with the range as a window in it; in percent of its width."""

    axis: Axis
    path: str
    threshold: float
    gaps: tuple[Span, ...]
    window: Span
    chosen: tuple[int, int]
    """The range, in seconds since 1970."""
    step_seconds: int


def strip_of(strip: Strip, scope: Scope) -> StripPlot:
    """Scale a line from its minimum, or the threshold, to its maximum. Without a line, return only a gap."""
    axis = Axis(strip.scope, int(strip.scope.until.timestamp()))
    chosen = int(scope.since.timestamp()), int(scope.until.timestamp())
    left, right = (axis.percent(at) for at in chosen)
    window = Span(left, round(right - left, 2))
    step = max(1, round(strip.scope.seconds / _STEPS))
    line = strip.line
    if line is None:
        return StripPlot(axis, "", TOP + HEIGHT, (Span(0, 100),), window, chosen, step)
    pad = (max(1, *line.lowest) - min(0, *line.lowest)) * _PAD
    frame = Frame(axis, min(0, *line.lowest) - pad, max(1, *line.lowest) + pad)
    gaps = [(axis.start, line.at[0]), *line.gaps, (line.at[-1], axis.end)]
    shown = tuple(axis.spans(gaps, GAP_PERCENT))
    return StripPlot(axis, frame.path(line.at, line.lowest, line.gaps), frame.y(0), shown, window, chosen, step)
