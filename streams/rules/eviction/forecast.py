"""Forecasts when a falling amount meets a threshold: the earliest, the likely and the latest time, or that it is
unknown.

It extends the line of `trend`. The errors of its own forecasts so far show how far it may be off, for each distance,
and separately upwards and downwards (as in conformal prediction). An amount that fell and recovered before is
forecast by its lows (`swings`). Everything is a function of the samples and their times.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import partial
from math import sqrt
from typing import Final, NamedTuple, TypeAlias

from streams.rules.eviction.trend import Line, Window, extend, line

SWING_OF_CAPACITY: Final = 0.04
"""A smaller fall is noise."""
COMES_BACK: Final = 0.4
"""Share of a fall that must be regained to count as a turn."""
MAX_LOWS: Final = 6
VALID: Final = 3.0
"""The next low is expected within this many times the period of the last ones."""
SLACK: Final = 0.1
"""Share of a swing's height: a fall that goes this far below its lows counts as a new one."""
SLACK_ERRORS: Final = 3.0
FEW_LOWS: Final = 4.0
"""Margin for the spread of few lows: this divided by the square of their degrees of freedom is added."""
LEAST_NOISE: Final = 0.05
UNKNOWN_NOISE: Final = 0.1
"""Share of the height that is added for the noise of lows: the minimum, and the value for two lows."""


class Low(NamedTuple):
    """A turn."""

    seconds: float
    value: float
    fell_for: float


class Swing(NamedTuple):
    """The course since the last turn."""

    falls: bool
    from_seconds: float
    from_value: float
    to_seconds: float
    """Time of the furthest value."""
    to_value: float


Swings: TypeAlias = tuple[tuple[Low, ...], Swing | None]
NO_SWINGS: Final[Swings] = ((), None)


class Floor(NamedTuple):
    """The level at which swings currently end."""

    value: float
    slack: float
    line: Line | None
    """Line through the lows; None with a single one."""
    period_seconds: float


def with_sample(swings: Swings, seconds: float, value: int, capacity: int) -> Swings:
    lows, swing = swings
    least = SWING_OF_CAPACITY * capacity
    here = (seconds, float(value))
    if swing is None:
        return lows, Swing(True, *here, *here)
    if swing.falls:
        return _after_fall(lows, swing, here, least)
    if value >= swing.to_value:
        return lows, Swing(False, *here, *here)
    if swing.to_value - value >= least:
        return lows, Swing(True, swing.to_seconds, swing.to_value, *here)
    return swings


def _after_fall(lows: tuple[Low, ...], swing: Swing, here: tuple[float, float], least: float) -> Swings:
    back, fell = here[1] - swing.to_value, swing.from_value - swing.to_value
    if back <= 0:
        return lows, Swing(True, swing.from_seconds, swing.from_value, *here)
    if back >= max(least, COMES_BACK * fell):
        if fell >= least:
            low = Low(swing.to_seconds, swing.to_value, swing.to_seconds - swing.from_seconds)
            lows = (*lows[1 - MAX_LOWS :], low)
        return lows, Swing(False, *here, *here)
    return lows, Swing(True, *here, *here) if back > fell else swing


def floor(swings: Swings, now: float) -> Floor | None:
    """Return the level at which a fall is expected to turn back; None if nothing turned back lately."""
    lows, swing = swings
    if not lows or swing is None:
        return None
    last, count = lows[-1], len(lows)
    passed = last.seconds - lows[0].seconds
    period = max(last.fell_for, passed / max(1, count - 1))
    if now - last.seconds > VALID * period:
        return None
    middle = sum(low.seconds for low in lows) / count
    mean = sum(low.value for low in lows) / count
    height = abs(swing.from_value - mean)
    if count == 1:
        return Floor(mean, SLACK * height, None, period)
    spread = sum((low.seconds - middle) ** 2 for low in lows)
    slope = sum((low.seconds - middle) * (low.value - mean) for low in lows) / spread
    noise = UNKNOWN_NOISE * height
    if count > 2:  # noqa: PLR2004  # two fit any line
        residue = sum((low.value - mean - slope * (low.seconds - middle)) ** 2 for low in lows)
        freedom = count - 2
        noise = max(sqrt(residue / freedom) * (1 + FEW_LOWS / freedom**2), LEAST_NOISE * height)
    value = mean + slope * (now - middle)
    line = Line(slope, noise / sqrt(spread), value, noise, passed)
    return Floor(value, max(SLACK_ERRORS * noise, SLACK * height), line, period)


AHEAD: Final = (60.0, 180.0, 600.0, 1800.0, 5400.0, 16_200.0, 48_600.0)
"""Forecast distances in seconds for which errors are learned; between them, errors are interpolated."""
WEIGHT: Final = 0.35
"""Weight of the newest error."""
SPREAD: Final = 1.28
"""Standard deviations from the middle to the 10th and the 90th percentile."""
RATE_CHANGES: Final = 0.2
"""Least uncertainty of a rate, as a share of it, however steady it was."""
NOISE_MEETS: Final = 1.5
"""Deviations below the line that the lowest coming sample may have, because one sample is enough to meet a
threshold.
"""
HORIZON_SPANS: Final = 12.0
"""A line is extended by at most this multiple of the span that supports it."""
BAND_SPANS: Final = 36.0
"""The same limit for its latest time."""
TRUSTED: Final = 2.0
"""A fall must exceed the upward errors by this factor; otherwise nothing is forecast."""
SAMPLE_SECONDS: Final = 10.0
"""Seconds between two checks of the kubelet, which is its delay."""

Errors: TypeAlias = tuple[float | None, ...]
"""Root mean square error for each of AHEAD; None if no forecast has come due."""
_NONE: Final = (None,) * len(AHEAD)
Due: TypeAlias = tuple[tuple[float, float] | None, ...]
"""Due time and value of the waiting forecast of each distance in AHEAD."""


class Band(NamedTuple):
    """Seconds before which a threshold is met in 10, 50 and 90 of 100 cases."""

    earliest: float
    likely: float
    latest: float


class AmountHistory(NamedTuple):
    """The remembered course of one amount: at most a few hundred numbers."""

    window: Window = ()
    due: Due = _NONE
    above: Errors = _NONE
    """Excess of samples over their forecasts, for falls that stopped."""
    below: Errors = _NONE
    swings: Swings = NO_SWINGS


NO_HISTORY: Final = AmountHistory()
MET: Final = Band(0.0, 0.0, 0.0)


def follow(course: AmountHistory, seconds: float, value: int, capacity: int) -> tuple[AmountHistory, Line | None]:
    """Return the course with one more sample, and the line that it supports; an old sample changes nothing."""
    window, due, above, below, swings = course
    if window and seconds <= window[-1][0]:
        return course, line(window, _off(above))
    window = extend(window, seconds, value, capacity)
    if len(window) == 1:  # after a jump
        due = _NONE
    due, above, below = _learned(due, above, below, seconds, value)
    ahead = line(window, _off(above))
    if ahead is not None:
        reach, now, slope = HORIZON_SPANS * ahead.span_seconds, ahead.now, ahead.per_second
        due = tuple(
            [
                (seconds + distance, now + slope * distance) if waiting is None and distance <= reach else waiting
                for waiting, distance in zip(due, AHEAD, strict=True)
            ]
        )
    return AmountHistory(window, due, above, below, with_sample(swings, seconds, value, capacity)), ahead


def _off(above: Errors) -> Callable[[float], float] | None:
    return None if above == _NONE else partial(_error_at, _filled(above))


def _learned(due: Due, above: Errors, below: Errors, seconds: float, value: int) -> tuple[Due, Errors, Errors]:
    for index, waiting in enumerate(due):
        if waiting is not None and seconds >= waiting[0]:
            error = value - waiting[1]
            after = index + 1
            above = (*above[:index], _mean(above[index], max(error, 0.0)), *above[after:])
            below = (*below[:index], _mean(below[index], max(-error, 0.0)), *below[after:])
            due = (*due[:index], None, *due[after:])
    return due, above, below


def _mean(known: float | None, error: float) -> float:
    return error if known is None else sqrt((1 - WEIGHT) * known * known + WEIGHT * error * error)


def since(course: AmountHistory, seconds: float) -> AmountHistory:
    """Return the course from a time on, when the kubelet restarted."""
    kept = tuple(point for point in course.window if point[0] >= seconds)
    return course if len(kept) == len(course.window) else AmountHistory(window=kept)


def forecast(course: AmountHistory, ahead: Line | None, value: int, threshold: int | None) -> Band | None:
    """Return when the amount falls below the threshold; None if the fall is not clearly larger than the noise."""
    if threshold is None:
        return None
    if value < threshold:
        return MET
    turns = floor(course.swings, course.window[-1][0])
    if turns is not None and turns.value > threshold and value > turns.value - turns.slack:
        return None if turns.line is None else _reach(turns.line, threshold, _NONE, _NONE, turns.period_seconds)
    return None if ahead is None else _reach(ahead, threshold, course.above, course.below, SAMPLE_SECONDS)


def _reach(ahead: Line, threshold: int, above: Errors, below: Errors, seen_late: float) -> Band | None:
    fall = -ahead.per_second
    if fall <= 0 or not ahead.is_significant:
        return None
    room = max(0.0, ahead.now - threshold - NOISE_MEETS * ahead.noise)
    likely = room / fall
    trusted = max(likely, ahead.span_seconds / 2)
    risen = _filled(above)
    if likely > HORIZON_SPANS * ahead.span_seconds or TRUSTED * _error_at(risen, trusted) > fall * trusted:
        return None
    slower = SPREAD * ahead.error + RATE_CHANGES * fall
    earliest = _crosses(room, fall, slower, ahead.noise, _filled(below), -1)
    latest = _crosses(room, fall, slower, ahead.noise, risen, 1)
    if earliest is None or latest is None or latest > BAND_SPANS * ahead.span_seconds:
        return None
    return Band(min(earliest, likely), likely, max(latest, likely) + seen_late)


def _crosses(
    room: float, fall: float, slower: float, noise: float, errors: Sequence[float], side: int
) -> float | None:
    """Return when the line, shifted by its error to one side, is below the threshold."""
    before, left = 0.0, room + side * noise
    if left <= 0:
        return 0.0
    for distance, error in zip(AHEAD, errors, strict=True):
        off = sqrt((SPREAD * error) ** 2 + (slower * distance) ** 2 + noise * noise)
        then = room - fall * distance + side * off
        if then <= 0:
            return before + (distance - before) * left / (left - then) if left > then else before
        before, left = distance, then
    return None


def _filled(errors: Errors) -> Sequence[float]:
    """Return the error of each distance in AHEAD; one that was not learned grows with the distance."""
    before = error = 0.0
    filled = []
    for distance, learned in zip(AHEAD, errors, strict=True):
        error = learned if learned is not None else error * distance / before if before else 0.0
        filled.append(error)
        before = distance
    return filled


def _error_at(errors: Sequence[float], seconds: float) -> float:
    """Interpolate the errors; beyond the last distance they grow with the distance."""
    index = bisect_left(AHEAD, seconds)
    if index == len(AHEAD):
        return errors[-1] * seconds / AHEAD[-1]
    before, error = (AHEAD[index - 1], errors[index - 1]) if index else (0.0, 0.0)
    return error + (errors[index] - error) * (seconds - before) / (AHEAD[index] - before)
