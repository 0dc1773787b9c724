"""A robust slope over a sliding window of event time, and when its line reaches a threshold.

The Theil-Sen estimator: the median of the slopes between all pairs of points; of many points only between those half
a window apart (Theil's incomplete method), which bears outliers in a quarter of them at the cost of one short sort.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import combinations, pairwise
from statistics import median
from typing import Final, NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, int]
"""Seconds of event time, and the value then."""
Window: TypeAlias = tuple[Point, ...]

WINDOW_SECONDS: Final = 300.0
MAX_POINTS: Final = 31
MIN_POINTS: Final = 4
ALL_PAIRS_POINTS: Final = 8
MIN_SPAN_SECONDS: Final = 30.0
HORIZON_SPANS: Final = 12.0
"""A line is not drawn further ahead than this many times the span that supports it."""
AGREEMENT: Final = 0.75
"""The part of the slopes that must have the median's sign."""
JUMP_OF_CAPACITY: Final = 0.02
JUMP_AHEAD: Final = 5.0
JUMP_BACK: Final = 2.0
"""A step is a jump from this many median steps on: in the window's direction, and against it."""


class Slope(NamedTuple):
    """A trend that the points support."""

    per_second: float
    span_seconds: float


def extend(window: Window, seconds: float, value: int, capacity: int) -> Window:
    """The window with one more point, at most WINDOW_SECONDS long; a jump forgets what was before it.

    A jump is a step of over 2 % of the capacity that is out of proportion to the median step: an eviction, a restart,
    a burst that begins. A point that is not later than the last one is left out.
    """
    if window and seconds <= window[-1][0]:
        return window
    point = (seconds, value)
    if _is_jump(window, value, capacity):
        return (point,)
    begin = seconds - WINDOW_SECONDS
    kept = window[-(MAX_POINTS - 1) :]
    first = 0
    while first < len(kept) and kept[first][0] < begin:
        first += 1
    return (*kept[first:], point)


def _is_jump(window: Window, value: int, capacity: int) -> bool:
    if not window:
        return False
    step = value - window[-1][1]
    if abs(step) <= JUMP_OF_CAPACITY * capacity or len(window) < 2:  # noqa: PLR2004  # no step to compare with
        return False
    typical = median(abs(b - a) for (_, a), (_, b) in pairwise(window))
    ahead = (step > 0) == (window[-1][1] > window[0][1])
    return abs(step) > (JUMP_AHEAD if ahead else JUMP_BACK) * typical


def slope(window: Window) -> Slope | None:
    """The trend of a window, or None: too few points, too short a span, or points that do not agree."""
    if len(window) < MIN_POINTS:
        return None
    span = window[-1][0] - window[0][0]
    if span < MIN_SPAN_SECONDS:
        return None
    slopes = sorted([(b - a) / (t - s) for (s, a), (t, b) in _pairs(window)])
    middle = len(slopes) // 2
    per_second = slopes[middle] if len(slopes) % 2 else (slopes[middle - 1] + slopes[middle]) / 2
    falling = bisect_left(slopes, 0)
    rising = len(slopes) - bisect_right(slopes, 0)
    agreeing = falling if per_second < 0 else rising if per_second > 0 else len(slopes)
    if agreeing < AGREEMENT * len(slopes):
        return None
    return Slope(per_second, span)


def _pairs(window: Window) -> Iterable[tuple[Point, Point]]:
    if len(window) < ALL_PAIRS_POINTS:
        return combinations(window, 2)
    return zip(window, window[len(window) // 2 :], strict=False)


def seconds_to(threshold: int | None, value: int, trend: Slope | None) -> float | None:
    """How long until a falling value is below the threshold; 0 where it is, None where no trend leads there."""
    if threshold is None:
        return None
    if value < threshold:
        return 0.0
    if trend is None or trend.per_second >= 0:
        return None
    seconds = (value - threshold) / -trend.per_second
    return seconds if seconds <= HORIZON_SPANS * trend.span_seconds else None
