"""Places for names beside a level line without another line through them: x in percent, y in pixels. Pure."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

Course: TypeAlias = Sequence[tuple[float, float]]
"""The points of a line, from left to right."""
WIDE: Final = 2.2
"""Width of a letter on a phone; elsewhere it is narrower."""
STEP: Final = 4.0
ABOVE: Final = 5.0
BENEATH: Final = 14.0
BESIDE: Final = 4.0
"""From the level to the foot of the name."""
HIGH: Final = 11.0
DEEP: Final = 3.0
"""Height of a letter below its baseline."""


class Placed(NamedTuple):
    """A name; `foot` is where its letters stand."""

    text: str
    left: float
    foot: float

    @property
    def wide(self) -> float:
        """With a letter's space on its sides."""
        return WIDE * (len(self.text) + 1)

    @property
    def corners(self) -> Course:
        """Return its outline as a line that no other name may cross."""
        return (self.left, self.foot - HIGH), (self.left + self.wide, self.foot + DEEP)


def placed(
    texts: Sequence[str], since: float, until: float, level: float, lines: Sequence[Course], bottom: float
) -> Placed:
    """The first of the texts that has a place along a level from `since` to `until` where no line crosses it.

    It is above the level if possible, as near to its begin as may be; else beneath it, or before it begins. Where
    every place is crossed, the first text stands at the begin.
    """
    places = (place for text in texts for place in _places(text, since, until, level, bottom))
    free = (place for place in places if not any(_crosses(line, place) for line in lines))
    return next(free, Placed(texts[0], since, level - ABOVE))


def _places(text: str, since: float, until: float, level: float, bottom: float) -> Iterable[Placed]:
    wide = Placed(text, since, level).wide
    lefts = [round(since + STEP * nth, 2) for nth in range(int(max(0.0, until - wide - since) / STEP) + 1)]
    for foot in (level - ABOVE, level + BENEATH):
        if foot + DEEP <= bottom:
            yield from (Placed(text, left, foot) for left in lefts)
    if (before := round(since - wide - STEP, 2)) >= 0:
        yield Placed(text, before, level + BESIDE)


def _crosses(line: Course, place: Placed) -> bool:
    ys = list(_within(line, place.left, place.left + place.wide))
    return bool(ys) and min(ys) <= place.foot + DEEP and max(ys) >= place.foot - HIGH


def _within(line: Course, left: float, right: float) -> Iterable[float]:
    """Its heights between the two, and where it enters and leaves."""
    for (x, y), (following, next_y) in pairwise(line):
        if following < left or x > right:
            continue
        slope = (next_y - y) / (following - x) if following > x else 0.0
        yield y + slope * (max(x, left) - x)
        yield next_y - slope * max(0.0, following - right)
