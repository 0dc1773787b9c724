"""Places the names of a chart's thresholds: next to the plot as of its end, and inside it from the start of each,
where no line crosses them. Positions are in percent of the width and in pixels. Pure.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple, TypeAlias

from leadsman.web.reading.charts import Line, Threshold
from leadsman.web.reading.words import amount
from leadsman.web.rendering.frame import HEIGHT, TOP, Frame

Course: TypeAlias = Sequence[tuple[float, float]]
"""The points of a line, from left to right."""
WIDE: Final = 2.2
"""Width of a letter on a phone; on other screens it is narrower."""
STEP: Final = 4.0
ABOVE: Final = 5.0
HIGHER: Final = 18.0
BENEATH: Final = 14.0
BESIDE: Final = 4.0
"""Distance from the threshold's line to the foot of the name."""
HIGH: Final = 11.0
DEEP: Final = 3.0
"""Height of a letter below its baseline."""


class NameBox(NamedTuple):
    """A placed name; `foot` is its baseline."""

    text: str
    left: float
    foot: float

    @property
    def wide(self) -> float:
        """Return the width, with the space of a letter on both sides."""
        return WIDE * (len(self.text) + 1)

    def overlaps(self, other: "NameBox") -> bool:
        beside = self.left >= other.left + other.wide or other.left >= self.left + self.wide
        return not beside and abs(self.foot - other.foot) < HIGH + DEEP


def placed(
    texts: Sequence[str],
    since: float,
    until: float,
    level: float,
    lines: Sequence[Course],
    bottom: float,
    names: Sequence["NameBox"] = (),
) -> NameBox:
    """Place the first of the texts that fits along a level from `since` to `until` without a line crossing it.

    It is above the level if possible, as near to its start as possible; else below it, or before its start. If lines
    cross every position, only other `names` are avoided. If these are in the way too, it is placed a line of text
    higher.
    """
    places = [place for text in texts for place in _places(text, since, until, level, bottom)]
    clear = [place for place in places if not any(map(place.overlaps, names))]
    if not clear:
        higher = (place._replace(foot=place.foot - HIGHER) for place in places if place.foot == level - ABOVE)
        clear = [place for place in higher if not any(map(place.overlaps, names))]
    free = (place for place in clear if not any(_crosses(line, place) for line in lines))
    return next(free, next(iter(clear), NameBox(texts[0], since, level - ABOVE)))


def _places(text: str, since: float, until: float, level: float, bottom: float) -> Iterable[NameBox]:
    wide = NameBox(text, since, level).wide
    lefts = [round(since + STEP * nth, 2) for nth in range(int(max(0.0, until - wide - since) / STEP) + 1)]
    for foot in (level - ABOVE, level + BENEATH):
        if foot + DEEP <= bottom:
            yield from (NameBox(text, left, foot) for left in lefts)
    if (before := round(since - wide - STEP, 2)) >= 0:
        yield NameBox(text, before, level + BESIDE)


def _crosses(line: Course, place: NameBox) -> bool:
    ys = list(_within(line, place.left, place.left + place.wide))
    return bool(ys) and min(ys) <= place.foot + DEEP and max(ys) >= place.foot - HIGH


def _within(line: Course, left: float, right: float) -> Iterable[float]:
    """Yield the heights of a line between two x positions, and where it enters and leaves."""
    for (x, y), (following, next_y) in pairwise(line):
        if following < left or x > right:
            continue
        slope = (next_y - y) / (following - x) if following > x else 0.0
        yield y + slope * (max(x, left) - x)
        yield next_y - slope * max(0.0, following - right)


LEFT_FROM: Final = 60
LABEL: Final = 29
"""Pixels between two names of thresholds."""
_NOTED_PERCENT: Final = 12.0


class Label(NamedTuple):
    y: float
    kind: str
    text: str
    note: str


class Note(NamedTuple):
    """A threshold from a time on. The `last` one of each kind has a label next to the plot if there is space."""

    left: float
    y: float
    kind: str
    text: str
    last: bool


def labels(frame: Frame, thresholds: Sequence[Threshold], signal: str) -> list[Label]:
    """Place the names of thresholds as of the end, below one another; an arrow points to those outside the axis."""
    last = [(value, each) for each in thresholds if (value := each.steps[-1][1]) is not None]
    found: list[Label] = []
    floor_y = float(TOP)
    for value, each in sorted(last, key=lambda one: -one[0]):
        y = max(min(frame.y(value), TOP + HEIGHT), floor_y)
        arrow = "" if frame.holds(value) else " ↓" if value < frame.low else " ↑"
        found.append(Label(y, each.kind, f"{each.name}{arrow}", amount(value, signal)))
        floor_y = y + LABEL
    excess = floor_y - LABEL - (TOP + HEIGHT)
    if found and excess > 0:  # the lowest ones move up
        limit = float(TOP + HEIGHT)
        for index in range(len(found) - 1, -1, -1):
            found[index] = found[index]._replace(y=min(found[index].y, limit))
            limit = found[index].y - LABEL
    return found


def notes(
    frame: Frame,
    lines: Sequence[Line],
    thresholds: Sequence[Threshold],
    signal: str,
    said: Iterable[tuple[float, float, str]] = (),
) -> Iterable[Note]:
    """Place names where no line and no other text crosses them, if possible.

    `said` has the other texts with the positions of their marks; right of LEFT_FROM, a text ends at its mark.
    """
    drawn = [[frame.point(*point) for point in zip(line.at, line.lowest, strict=True)] for line in lines]
    limits = {each: [corner for level in _levels(frame, each) for corner in level[:2]] for each in thresholds}
    texts_said = [NameBox(text, left, foot) for left, foot, text in said if text]
    taken = [each._replace(left=each.left - each.wide * (each.left > LEFT_FROM)) for each in texts_said]
    for threshold in thresholds:
        others = [course for each, course in limits.items() if each is not threshold]
        for (left, y), (until, _), value, last in _levels(frame, threshold):
            if frame.holds(value) and until - left > _NOTED_PERCENT:
                texts = (f"{threshold.name} {amount(value, signal)}", threshold.name)
                note = placed(texts, left, until, y, [*drawn, *others], TOP + HEIGHT, taken)
                taken.append(note)
                yield Note(note.left, note.foot, threshold.kind, note.text, last)


def _levels(
    frame: Frame, threshold: Threshold
) -> Iterable[tuple[tuple[float, float], tuple[float, float], int, bool]]:
    """Yield the start and end of each step of a threshold, its value there, and whether it is the last."""
    ends = [*(since for since, _ in threshold.steps[1:]), frame.axis.end]
    for nth, ((since, value), until) in enumerate(zip(threshold.steps, ends, strict=True), start=1):
        if value is not None:
            yield frame.point(since, value), frame.point(until, value), value, nth == len(ends)
