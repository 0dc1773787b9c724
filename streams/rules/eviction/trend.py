"""Fits a line to the last samples of an amount, as far back as one line explains them.

The window adapts itself. It is widened as long as the slopes of all its parts since now agree within their errors
(the intersection of confidence intervals), and restarts at a jump. Old samples are kept in ever coarser means.
"""

from collections.abc import Callable
from itertools import pairwise
from math import sqrt
from statistics import median
from typing import Final, NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, float]
"""Seconds of event time, and the value; old points are means of several."""
Window: TypeAlias = tuple[Point, ...]

MAX_SECONDS: Final = 86_400.0
MAX_POINTS: Final = 36
FINE_POINTS: Final = 12
"""Number of newest points that are never averaged."""
MIN_POINTS: Final = 4
MIN_SPAN_SECONDS: Final = 30.0
WIDER: Final = 1.4
"""The window is widened by steps of this ratio."""
TOLERATED_ERRORS: Final = 5.0
"""Slopes agree within this many standard errors, computed as if noise had no memory."""
TOLERATED_PART: Final = 0.02
"""They also agree within this share of the slope, because a line without noise has no error."""
TOLERATED_OFF: Final = 1.0
"""They must also agree within this many times the errors of past forecasts over the span."""
MOST_CORRELATION: Final = 0.93
"""Upper bound of the residuals' autocorrelation, which widens the error of the slope."""
FEW_POINTS: Final = 3.0
"""The spread of few points is often too small: about what Student's distribution adds."""
SIGNIFICANT: Final = 4.0
"""A slope of fewer standard errors counts as 0."""
JUMP_OF_CAPACITY: Final = 0.02
JUMP_AHEAD: Final = 6.0
JUMP_BACK: Final = 4.0
"""A step is a jump from this many median steps on: in the window's direction, and against it."""


class Line(NamedTuple):
    """The result of a window: in units of the value, and seconds."""

    per_second: float
    error: float
    """Standard error of `per_second`, for autocorrelated noise."""
    now: float
    """The line's value at the last sample."""
    noise: float
    """Standard deviation of samples around the line."""
    span_seconds: float

    @property
    def is_significant(self) -> bool:
        return abs(self.per_second) >= SIGNIFICANT * self.error


def extend(window: Window, seconds: float, value: int, capacity: int) -> Window:
    """Return the window with one later point, at most a day long; a jump forgets everything before it.

    A jump is a step of over 2 % of the capacity that is out of proportion to the median step: an eviction, a
    restart, the start of a burst. Asking a kubelet more often than it measures gives stairs, whose treads are not
    steps.
    """
    point = (seconds, float(value))
    if is_jump(window, value, capacity):
        return (point,)
    longer = (*window, point)
    if len(longer) <= MAX_POINTS:
        return longer
    if seconds - longer[0][0] > MAX_SECONDS:
        return longer[1:]
    return _coarser(longer)


def is_jump(window: Window, value: int, capacity: int) -> bool:
    if not window:
        return False
    last = window[-1][1]
    step = value - last
    if abs(step) <= JUMP_OF_CAPACITY * capacity:
        return False
    recent = window[-FINE_POINTS:]
    steps = [abs(b - a) for (_, a), (_, b) in pairwise(recent) if a != b]
    if not steps and recent[-1][0] - recent[0][0] < MIN_SPAN_SECONDS:
        return False  # no step to compare with
    typical = median(steps) if steps else 0.0
    ahead = (step > 0) == (last > recent[0][1])
    return abs(step) > (JUMP_AHEAD if ahead else JUMP_BACK) * typical


def _coarser(window: Window) -> Window:
    """Return one point fewer: the two that are closest for their age become their mean."""
    now = window[-1][0]
    least, place = float("inf"), 0
    for at in range(len(window) - FINE_POINTS):
        seconds = window[at][0]
        distance = (window[at + 1][0] - seconds) / (now - seconds)
        if distance < least:
            least, place = distance, at
    (s, a), (t, b) = window[place], window[place + 1]
    return (*window[:place], ((s + t) / 2, (a + b) / 2), *window[place + 2 :])


def line(window: Window, off: Callable[[float], float] | None = None) -> Line | None:
    """Return the least-squares line through the longest part of the window, up to now, that one slope explains.

    `off` is how far samples were off their forecasts of so many seconds, None for not at all: an amount that grows in
    steps looks flat between two of them. None if there are too few points, or too short a span. One pass from now
    backwards: sums of what was passed. This runs for every signal of every sample: nothing is computed twice.
    """
    if len(window) < MIN_POINTS:
        return None
    now, last = window[-1]
    n = 0
    x_sum = y_sum = xx = xy = yy = 0.0
    xx_steps = xy_steps = yy_steps = 0.0
    lowest, highest = float("-inf"), float("inf")
    next_span = -MIN_SPAN_SECONDS
    first = window[0][0] - now
    found: tuple[float, ...] = ()
    x = y = 0.0
    for seconds, value in reversed(window):
        x_before, y_before = x, y
        x = seconds - now
        y = value - last
        n += 1
        x_sum += x
        y_sum += y
        xx += x * x
        xy += x * y
        yy += y * y
        x_before = x - x_before
        y_before = y - y_before
        xx_steps += x_before * x_before
        xy_steps += x_before * y_before
        yy_steps += y_before * y_before
        if x > next_span or n < MIN_POINTS:
            continue
        next_span = max(x * WIDER, first)
        spread = xx - x_sum * x_sum / n
        slope = (xy - x_sum * y_sum / n) / spread
        residue = max(0.0, yy - y_sum * y_sum / n - slope * (xy - x_sum * y_sum / n))
        error = sqrt(residue / (n - 2) / spread)
        tolerance = TOLERATED_ERRORS * error + TOLERATED_PART * abs(slope)
        if off is not None:
            tolerance += TOLERATED_OFF * off(-x) / -x
        lowest, highest = max(lowest, slope - tolerance), min(highest, slope + tolerance)
        if lowest > highest:
            break
        # standard deviation of the residuals
        steps = yy_steps - 2 * slope * xy_steps + slope * slope * xx_steps
        found = (n, slope, error, residue, steps, last + (y_sum - slope * x_sum) / n, -x)
    return _line(*found) if found else None


def _line(n: float, slope: float, error: float, residue: float, steps: float, now: float, span: float) -> Line:
    """Correct the error for autocorrelated noise; `residue` and `steps` are sums of squared residuals and steps."""
    if residue > 0:
        # Durbin-Watson: the autocorrelation, from the steps of the residuals
        correlation = min(MOST_CORRELATION, max(0.0, 1 - steps / residue / 2))
        error *= sqrt((1 + correlation) / (1 - correlation))
    error *= 1 + FEW_POINTS / (n - 2)
    return Line(slope, error, now, sqrt(residue / (n - 2)), span)
