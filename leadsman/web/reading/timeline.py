"""The story of a cluster or of a node: its lines, and its shape in lanes."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from leadsman.web.reading.alerts import Alert
from leadsman.web.reading.asked import ask
from leadsman.web.reading.scope import Scope
from leadsman.web.reading.words import KINDS, day
from sql.database.open import Database

PIECES: Final = 120
"""Marks of a lane."""
WHOLE: Final = 5000
"""A story of fewer lines is read at once; of a longer one its shape and its end."""
LOUD: Final = (1, 5, 25)
"""Counts from which a mark is drawn larger."""


_Shape: TypeAlias = dict[str, dict[int, int]]
"""Times by kind and piece."""


class Line(NamedTuple):
    ts: datetime
    node: str
    kind: str
    what: str


class Day(NamedTuple):
    day: str
    lines: tuple[Line, ...]


class Mark(NamedTuple):
    """A piece of a lane; `left` and `width` in percent of it, `level` 1 to 3 by how many times."""

    left: float
    width: float
    times: int
    level: int


class Lane(NamedTuple):
    kind: str
    name: str
    marks: tuple[Mark, ...]
    spans: tuple[Mark, ...]
    """Where it lasted: pressure of a node."""
    times: int


class Tick(NamedTuple):
    left: float
    text: str


class Timeline(NamedTuple):
    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    days: tuple[Day, ...]
    """In the order of time."""
    shown: int
    total: int


def read_timeline(
    db: Database,
    scope: Scope,
    alerts: Iterable[Alert],
    limit: int,
    *,
    node: str = "",
    kind: str = "",
    spans_of: str = "",
) -> Timeline:
    """The last `limit` lines, and the shape of all. `kind` narrows the lines, not the lanes.

    Where `spans_of` names a node, the lane of pressure shows how long it lasted there.
    """
    concluded = [Line(**row) for row in ask(db, "story", scope, node=node, kind="", limit=WHOLE)]
    lines_of_alerts = alert_lines(alerts, scope)
    if len(concluded) < WHOLE:
        shape = shape_of((*concluded, *lines_of_alerts), scope)
        lines = [line for line in concluded if kind in {"", line.kind}]
    else:
        shape = _read_shape(db, scope, node)
        shape |= shape_of(lines_of_alerts, scope)
        lines = [Line(**row) for row in ask(db, "story", scope, node=node, kind=kind, limit=limit)]
    last = sorted((*lines, *(line for line in lines_of_alerts if kind in {"", "alert"})))[-limit:]
    total = sum(sum(pieces.values()) for name, pieces in shape.items() if kind in {"", name})
    spans = read_spans(db, scope, spans_of) if spans_of else ()
    return Timeline(lanes(shape, spans), ticks(scope), days(last), len(last), total)


def shape_of(lines: Iterable[Line], scope: Scope) -> _Shape:
    """How many lines of each kind lie in each piece of the range."""
    shape: _Shape = {}
    for line in lines:
        piece = min(PIECES - 1, int((line.ts - scope.since).total_seconds() / scope.seconds * PIECES))
        pieces = shape.setdefault(line.kind, {})
        pieces[piece] = pieces.get(piece, 0) + 1
    return shape


def _read_shape(db: Database, scope: Scope, node: str) -> _Shape:
    shape: _Shape = {}
    for row in ask(db, "story_shape", scope, node=node, pieces=PIECES):
        shape.setdefault(row["kind"], {})[min(row["piece"], PIECES - 1)] = row["times"]
    return shape


def alert_lines(alerts: Iterable[Alert], scope: Scope) -> list[Line]:
    """When each alert of the range began, and when it was resolved."""
    lines = []
    for alert in alerts:
        text = f"{alert.name} fires ({alert.severity}). {alert.summary}".rstrip()
        lines.append(Line(alert.starts_at, alert.node, "alert", text))
        if alert.ends_at is not None:
            end = "has no data any more: whether it holds is not known" if alert.unknown else "is resolved"
            lines.append(Line(alert.ends_at, alert.node, "alert", f"{alert.name} {end}."))
    return [line for line in lines if scope.since <= line.ts < scope.until]


def lanes(shape: Mapping[str, Mapping[int, int]], spans: Sequence[Mark]) -> tuple[Lane, ...]:
    """A lane for each kind that happened, in the order of KINDS."""
    width = 100 / PIECES
    return tuple(
        Lane(
            kind,
            name,
            tuple(Mark(piece * width, width, n, _level(n)) for piece, n in sorted(shape.get(kind, {}).items())),
            tuple(spans) if kind == "pressure" else (),
            sum(shape.get(kind, {}).values()),
        )
        for kind, name in KINDS.items()
        if kind in shape or (kind == "pressure" and spans)
    )


def read_spans(db: Database, scope: Scope, node: str) -> tuple[Mark, ...]:
    """When the node was under any pressure within the range, in percent of it."""
    spans: list[Mark] = []
    rows = ask(db, "pressure_spans", scope, node=node)
    for _, changes in groupby(rows, key=lambda row: row["condition"]):
        began: datetime | None = None
        for change in changes:
            if change["status"]:
                began = began or change["ts"]
            elif began is not None:
                spans.append(_span(scope, began, change["ts"]))
                began = None
        if began is not None:
            spans.append(_span(scope, began, scope.until))
    return tuple(span for span in spans if span.width > 0)


def ticks(scope: Scope) -> tuple[Tick, ...]:
    """Round times along the range."""
    seconds = scope.seconds
    step = next((each for each in _STEPS if seconds / each <= _TICKS), None) or _STEPS[-1] * (
        1 + int(seconds / _TICKS / _STEPS[-1])
    )
    first = -(-int(scope.since.timestamp()) // step) * step
    places = range(first, int(scope.until.timestamp()), step)
    return tuple(
        Tick(
            (at - scope.since.timestamp()) / seconds * 100,
            _tick_text(datetime.fromtimestamp(at, scope.since.tzinfo), step),
        )
        for at in places
    )


def days(lines: Iterable[Line]) -> tuple[Day, ...]:
    return tuple(Day(name, tuple(each)) for name, each in groupby(lines, key=lambda line: day(line.ts)))


_TICKS: Final = 6
_MINUTE: Final = 60
_STEPS: Final = (1, 5, 10, 30, 60, 300, 600, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600)


def _tick_text(at: datetime, step: int) -> str:
    if step >= 24 * 3600:
        return f"{at:%m-%d}"
    return f"{at:%H:%M:%S}" if step < _MINUTE else f"{at:%H:%M}"


def _level(times: int) -> int:
    return sum(1 for least in LOUD if times >= least)


def _span(scope: Scope, began: datetime, ended: datetime) -> Mark:
    left = max(0.0, (began - scope.since).total_seconds() / scope.seconds * 100)
    right = min(100.0, (ended - scope.since).total_seconds() / scope.seconds * 100)
    return Mark(left, right - left, 1, 1)
