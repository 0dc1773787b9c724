"""The thresholds that a fleet meets next."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.scope import Scope

AHEAD_SECONDS: Final = 86_400.0
MOST_SOON: Final = 8


class Soon(NamedTuple):
    """A threshold that a node nears within AHEAD_SECONDS."""

    at: datetime
    seconds: float
    node: str
    name: str
    """Without the suffix that most nodes share."""
    signal: str
    which: str
    """hard or soft."""


def soonest(nodes: Sequence[NodeLine], scope: Scope, suffix: str) -> tuple[Soon, ...]:
    """The thresholds that are met next if growth stays as it is; none that image GC acts before."""
    found = [
        (margin.seconds, node, margin)
        for node in nodes
        if not node.stale and node.sampled_at is not None
        for margin in node.margins
        if margin.seconds is not None and margin.seconds <= AHEAD_SECONDS and not margin.met and not margin.gc_first
    ]
    first = sorted(found, key=lambda each: (each[0], each[1].name, each[2].signal))[:MOST_SOON]
    return tuple(
        Soon(
            (node.sampled_at or scope.until) + timedelta(seconds=seconds),
            seconds,
            node.name,
            node.name.removesuffix(suffix),
            margin.signal,
            "hard" if seconds == margin.seconds_to_hard else "soft",
        )
        for seconds, node, margin in first
    )
