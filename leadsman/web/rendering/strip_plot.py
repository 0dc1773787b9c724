"""The strip of a day above a node's charts as it is drawn. Pure."""

from typing import Final, NamedTuple

from leadsman.web.reading.scope import Scope
from leadsman.web.reading.strip import Strip
from leadsman.web.rendering.frame import HEIGHT, TOP, Axis, Frame, Span
from leadsman.web.rendering.plot import GAP_PERCENT

_STEPS: Final = 288
_PAD: Final = 0.06


class StripPlot(NamedTuple):
    """A strip as it is drawn, with the range as a window in it; in percent of its width."""

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
