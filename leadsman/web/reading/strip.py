"""A day of a node at a glance: the least room that it had left, for a range to be chosen in it."""

from datetime import timedelta
from typing import Final, NamedTuple

from leadsman.web.reading.charts import Line, read_lines
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.scope import Scope, Span
from sql.database.open import Database

LENGTH: Final = timedelta(days=1)
PARTS: Final = 1000
"""Number of equal parts of a capacity in which room is counted."""


class Strip(NamedTuple):
    scope: Scope
    """At least a day around the range, as far as there is any data."""
    line: Line | None
    """Room above the nearest threshold, below 0 if one was met; None without samples."""


def read_strip(db: Database, scope: Scope, span: Span, node: NodeLine) -> Strip:
    """Raises DatabaseError."""
    around = strip_scope(scope, span)
    capacities = {margin.signal: margin.capacity for margin in node.margins}
    least: dict[int, int] = {}
    for row in read_lines(db, around, [node.name]):
        capacity = capacities.get(row["signal"])
        for at, lowest, hard, soft in zip(row["at"], row["lowest"], row["hard"], row["soft"], strict=True):
            threshold = max(hard, soft)
            if capacity and threshold >= 0:
                room = round((lowest - threshold) / max(1, capacity - threshold) * PARTS)
                least[at] = min(room, least.get(at, room))
    at = tuple(sorted(least))
    return Strip(around, Line("least room", at, tuple(least[each] for each in at)) if at else None)


def strip_scope(scope: Scope, span: Span) -> Scope:
    """The range in the middle of a day, or where that would be after the last observation, towards its end."""
    length = scope.until - scope.since
    last = span.last_at.replace(microsecond=0) + timedelta(seconds=1)
    until = max(scope.until, min(last, scope.until + max(LENGTH - length, timedelta()) / 2))
    since = min(scope.since, max(span.first_at.replace(microsecond=0), until - LENGTH))
    return scope._replace(since=since, until=until)
