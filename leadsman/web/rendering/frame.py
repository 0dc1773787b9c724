"""Computes coordinates of times and amounts in a plot: x in thousandths or percent of its width, y in pixels.
Pure.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

from leadsman.web.reading.charts import Threshold
from leadsman.web.reading.scope import Scope
from leadsman.web.reading.timeline import Tick, ticks

TOP: Final = 24
HEIGHT: Final = 280
WIDTH: Final = 1000


class Span(NamedTuple):
    """A span in percent of the width."""

    left: float
    width: float


class Axis(NamedTuple):
    """The time axis of all charts of a node."""

    scope: Scope
    end: int
    """Seconds since 1970; later than the range if a forecast is drawn."""

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

    def spans(self, pairs: Iterable[tuple[float, float]], least: float = 0.0) -> Iterable[Span]:
        """Yield the spans of times in percent of the axis, if they are wider than `least`."""
        for since, until in pairs:
            left, right = self.percent(since), self.percent(until)
            if right > left and round(right - left, 2) > least:
                yield Span(left, round(right - left, 2))


class Frame(NamedTuple):
    """The time axis, and the lowest and highest amount that the plot shows."""

    axis: Axis
    low: float
    high: float

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def y(self, value: float) -> float:
        """Return the y of an amount, limited to slightly outside the plot."""
        part = (self.high - value) / (self.high - self.low)
        return round(TOP + min(1.2, max(-0.2, part)) * HEIGHT, 1)

    def point(self, at: float, value: float) -> tuple[float, float]:
        """Return the x of a point in percent and its y in pixels."""
        return self.axis.percent(at), self.y(value)

    def polygon(self, points: Iterable[tuple[float, float]]) -> str:
        return "M" + "L".join(f"{self._x(at)} {self.y(value)}" for at, value in points)

    def path(self, at: Sequence[int], values: Sequence[int], gaps: Sequence[tuple[int, int]]) -> str:
        ends = {earlier for earlier, _ in gaps}
        parts, pen = [], "M"
        for when, value in zip(at, values, strict=True):
            parts.append(f"{pen}{self._x(when)} {self.y(value)}")
            pen = "M" if when in ends else "L"
        if len(at) == 1 or (len(ends) >= len(at) - 1):
            parts.append("h.1")
        return "".join(parts)

    def stepped(self, threshold: Threshold) -> str:
        parts, before = [], None
        for since, value in threshold.steps:
            x = self._x(since)
            if before is not None:
                parts.append(f"H{x}")
            if value is not None:
                parts.append(f"{'V' if before is not None else f'M{x} '}{self.y(value)}")
            before = value
        return "".join(parts) + (f"H{WIDTH}" if before is not None else "")

    def _x(self, at: float) -> float:
        return round(self.axis.percent(at) * WIDTH / 100, 1)
