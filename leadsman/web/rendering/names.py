"""The names of a chart's thresholds: beside it as they are at its end, and within it from each time on. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from leadsman.web.reading.charts import Line, Threshold
from leadsman.web.reading.words import amount
from leadsman.web.rendering.frame import HEIGHT, TOP, Frame
from leadsman.web.rendering.notes import Course, placed

LABEL: Final = 29
"""Pixels between two names of thresholds."""
_NOTED_PERCENT: Final = 12.0


class Label(NamedTuple):
    y: float
    kind: str
    text: str
    note: str


class Note(NamedTuple):
    """A threshold from a time on; the `last` of each has a label beside the plot if there is space."""

    left: float
    y: float
    kind: str
    text: str
    last: bool


def labels(frame: Frame, thresholds: Sequence[Threshold], signal: str) -> list[Label]:
    """The names of thresholds as they are at the end, below one another; an arrow points to those beyond the axis."""
    last = [(value, each) for each in thresholds if (value := each.steps[-1][1]) is not None]
    found: list[Label] = []
    floor_y = float(TOP)
    for value, each in sorted(last, key=lambda one: -one[0]):
        y = max(min(frame.y(value), TOP + HEIGHT), floor_y)
        arrow = "" if frame.holds(value) else " ↓" if value < frame.low else " ↑"
        found.append(Label(y, each.kind, f"{each.name}{arrow}", amount(value, signal)))
        floor_y = y + LABEL
    over = floor_y - LABEL - (TOP + HEIGHT)
    if found and over > 0:  # the lowest ones move up
        limit = float(TOP + HEIGHT)
        for place in range(len(found) - 1, -1, -1):
            found[place] = found[place]._replace(y=min(found[place].y, limit))
            limit = found[place].y - LABEL
    return found


def notes(frame: Frame, lines: Sequence[Line], thresholds: Sequence[Threshold], signal: str) -> Iterable[Note]:
    """Place names where no line and no other name crosses them, if there is such a place."""
    drawn = [[frame.point(*point) for point in zip(line.at, line.lowest, strict=True)] for line in lines]
    limits = {each: [corner for level in _levels(frame, each) for corner in level[:2]] for each in thresholds}
    taken: list[Course] = []
    for threshold in thresholds:
        others = [course for each, course in limits.items() if each is not threshold]
        for (left, y), (until, _), value, last in _levels(frame, threshold):
            if frame.holds(value) and until - left > _NOTED_PERCENT:
                texts = (f"{threshold.name} {amount(value, signal)}", threshold.name)
                note = placed(texts, left, until, y, [*drawn, *others, *taken], TOP + HEIGHT)
                taken.append(note.corners)
                yield Note(note.left, note.foot, threshold.kind, note.text, last)


def _levels(
    frame: Frame, threshold: Threshold
) -> Iterable[tuple[tuple[float, float], tuple[float, float], int, bool]]:
    """Begin and end of each of its steps, what it was then, and whether it is the last."""
    ends = [*(since for since, _ in threshold.steps[1:]), frame.axis.end]
    for nth, ((since, value), until) in enumerate(zip(threshold.steps, ends, strict=True), start=1):
        if value is not None:
            yield frame.point(since, value), frame.point(until, value), value, nth == len(ends)
