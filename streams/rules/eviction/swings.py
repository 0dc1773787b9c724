"""Finds the points at which a falling amount turned back: a collected heap, a rotated log, the load of a day.

An amount that fell and recovered again and again is forecast by its lows, not by the current fall.
"""

from math import sqrt
from typing import Final, NamedTuple, TypeAlias

from streams.rules.eviction.trend import Line

SWING_OF_CAPACITY: Final = 0.04
"""A smaller fall is noise."""
COMES_BACK: Final = 0.4
"""Share of a fall that must come back to make a turn."""
MAX_LOWS: Final = 6
VALID: Final = 3.0
"""A low is expected again for so many times as long as the last ones took."""
SLACK: Final = 0.1
"""Share of a swing's height: a fall that goes this far below its lows is a new one."""
SLACK_ERRORS: Final = 3.0
FEW_LOWS: Final = 4.0
"""Margin for the spread of few lows: this divided by the square of their degrees of freedom is added."""
LEAST_NOISE: Final = 0.05
UNKNOWN_NOISE: Final = 0.1
"""Share of the height for the noise of lows: the minimum, and the value for two lows."""


class Low(NamedTuple):
    """A turn."""

    seconds: float
    value: float
    fell_for: float


class Swing(NamedTuple):
    """The way since the last turn."""

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


def swung(swings: Swings, seconds: float, value: int, capacity: int) -> Swings:
    """The swings with one more sample."""
    lows, swing = swings
    least = SWING_OF_CAPACITY * capacity
    here = (seconds, float(value))
    if swing is None:
        return lows, Swing(True, *here, *here)
    if swing.falls:
        return _fallen(lows, swing, here, least)
    if value >= swing.to_value:
        return lows, Swing(False, *here, *here)
    if swing.to_value - value >= least:
        return lows, Swing(True, swing.to_seconds, swing.to_value, *here)
    return swings


def _fallen(lows: tuple[Low, ...], swing: Swing, here: tuple[float, float], least: float) -> Swings:
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
    if count > 2:  # noqa: PLR2004  # two lie on any line
        residue = sum((low.value - mean - slope * (low.seconds - middle)) ** 2 for low in lows)
        freedom = count - 2
        noise = max(sqrt(residue / freedom) * (1 + FEW_LOWS / freedom**2), LEAST_NOISE * height)
    value = mean + slope * (now - middle)
    line = Line(slope, noise / sqrt(spread), value, noise, passed)
    return Floor(value, max(SLACK_ERRORS * noise, SLACK * height), line, period)
