"""When a falling amount meets a threshold: the earliest, the likely and the latest time, or that nobody can know.

The line of `trend` goes on; how far it may be off is learned from the errors that its own forecasts had so far, for
each distance, upwards and downwards apart (as conformal prediction does it). What fell and came back before is
forecast by its lows (`swings`). Everything is a function of the samples and their times.
"""

from functools import partial
from math import sqrt
from typing import Final, NamedTuple, TypeAlias

from streams.rules.eviction.swings import NO_SWINGS, Swings, floor, swung
from streams.rules.eviction.trend import Line, Window, extend, is_jump, line

AHEAD: Final = (60.0, 180.0, 600.0, 1800.0, 5400.0, 16_200.0, 48_600.0)
"""Distances in seconds for which errors are learned; between them they are interpolated."""
WEIGHT: Final = 0.35
"""Of the newest error."""
SPREAD: Final = 1.28
"""Standard deviations from the middle to the 10th and the 90th percentile."""
RATE_CHANGES: Final = 0.2
"""A growth is not steadier than this part of its rate, whatever was seen of it."""
NOISE_MEETS: Final = 1.5
"""The lowest of the samples that come is so many deviations below the line: a threshold is met by one sample."""
HORIZON_SPANS: Final = 12.0
"""A line is not drawn further ahead than this many times the span that supports it."""
BAND_SPANS: Final = 36.0
"""Nor is its latest time."""
TRUSTED: Final = 2.0
"""A fall must be so many times as large as the errors upwards were, or nothing is forecast."""
SAMPLE_SECONDS: Final = 10.0
"""The kubelet looks so often: what is met is seen so much later."""

Errors: TypeAlias = tuple[float | None, ...]
"""Root of the mean square, one for each of AHEAD; None where none has come due."""
_NONE: Final = (None,) * len(AHEAD)


class Band(NamedTuple):
    """Seconds until a threshold is met: 10, 50 and 90 times of 100 it is met before."""

    earliest: float
    likely: float
    latest: float


class Course(NamedTuple):
    """What is remembered of one amount: never more than some hundred numbers."""

    window: Window = ()
    due: tuple[tuple[float, float] | None, ...] = _NONE
    """For each of AHEAD, when the forecast that waits comes due, and its value."""
    above: Errors = _NONE
    """How far samples were above their forecasts: falls that did not go on."""
    below: Errors = _NONE
    swings: Swings = NO_SWINGS


NO_COURSE: Final = Course()
MET: Final = Band(0.0, 0.0, 0.0)


def follow(course: Course, seconds: float, value: int, capacity: int) -> tuple[Course, Line | None]:
    """The course with one more sample, and the line that it supports; an old sample changes nothing."""
    if course.window and seconds <= course.window[-1][0]:
        return course, line(course.window, partial(_error_at, course.above))
    due = _NONE if is_jump(course.window, value, capacity) else course.due
    course = _learned(course._replace(due=due), seconds, value)
    window = extend(course.window, seconds, value, capacity)
    ahead = line(window, partial(_error_at, course.above))
    due = tuple(_foretold(seconds, ahead, distance) if waiting is None else waiting
                for waiting, distance in zip(course.due, AHEAD, strict=True))  # fmt: skip
    return course._replace(window=window, due=due, swings=swung(course.swings, seconds, value, capacity)), ahead


def _learned(course: Course, seconds: float, value: int) -> Course:
    """Compare the forecasts that come due with what came."""
    due = list(course.due)
    above, below = list(course.above), list(course.below)
    for place, waiting in enumerate(course.due):
        if waiting is not None and seconds >= waiting[0]:
            error = value - waiting[1]
            above[place] = _mean(above[place], max(error, 0.0))
            below[place] = _mean(below[place], max(-error, 0.0))
            due[place] = None
    return course._replace(due=tuple(due), above=tuple(above), below=tuple(below))


def _foretold(seconds: float, ahead: Line | None, distance: float) -> tuple[float, float] | None:
    if ahead is None or distance > HORIZON_SPANS * ahead.span_seconds:
        return None
    return seconds + distance, ahead.now + ahead.per_second * distance


def _mean(known: float | None, error: float) -> float:
    return error if known is None else sqrt((1 - WEIGHT) * known * known + WEIGHT * error * error)


def since(course: Course, seconds: float) -> Course:
    """The course without what was before: a kubelet restarted then."""
    kept = tuple(point for point in course.window if point[0] >= seconds)
    return course if len(kept) == len(course.window) else Course(window=kept)


def forecast(course: Course, ahead: Line | None, value: int, threshold: int | None) -> Band | None:
    """When the amount is below the threshold, from its last value on; None where no more than noise leads there."""
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
    if likely > HORIZON_SPANS * ahead.span_seconds or TRUSTED * _error_at(above, trusted) > fall * trusted:
        return None
    slower = SPREAD * ahead.error + RATE_CHANGES * fall
    earliest = _crosses(room, fall, slower, ahead.noise, below, -1)
    latest = _crosses(room, fall, slower, ahead.noise, above, 1)
    if earliest is None or latest is None or latest > BAND_SPANS * ahead.span_seconds:
        return None
    return Band(min(earliest, likely), likely, max(latest, likely) + seen_late)


def _crosses(room: float, fall: float, slower: float, noise: float, errors: Errors, side: int) -> float | None:
    """When the line, moved by its error to one side, is below the threshold."""
    before, left = 0.0, room + side * noise
    if left <= 0:
        return 0.0
    error = 0.0
    for distance, learned in zip(AHEAD, errors, strict=True):
        error = learned if learned is not None else error * distance / before if before else 0.0
        off = sqrt((SPREAD * error) ** 2 + (slower * distance) ** 2 + noise * noise)
        then = room - fall * distance + side * off
        if then <= 0:
            return before + (distance - before) * left / (left - then) if left > then else before
        before, left = distance, then
    return None


def _error_at(errors: Errors, seconds: float) -> float:
    """Learned ones interpolated; beyond them they grow with the distance."""
    before = error = 0.0
    for distance, learned in zip(AHEAD, errors, strict=True):
        then = learned if learned is not None else error * distance / before if before else 0.0
        if seconds <= distance:
            return error + (then - error) * (seconds - before) / (distance - before)
        before, error = distance, then
    return error * seconds / before
