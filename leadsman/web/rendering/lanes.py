"""The lanes under a chart: what happened on the node while the line went its way. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from common.amounts import counted
from leadsman.web.attention.episodes import Episode
from leadsman.web.reading.charts import Chart
from leadsman.web.reading.scope import Scope
from leadsman.web.reading.timeline import Happening

MOST: Final = 60
"""Marks of a lane; of more, the last."""
NEAR: Final = 0.015
"""Evictions within this part of the range are one mark with their number."""


class PlotMark(NamedTuple):
    """One piece of an episode; an instant has equal start and end."""

    since: datetime
    until: datetime
    shape: str
    """bar, eviction, start or gc."""
    state: str
    key: str
    """Key of the episode in the timeline."""
    text: str
    number: int = 1
    """Number of marks that it stands for."""


class PlotLane(NamedTuple):
    name: str
    short: str
    marks: tuple[PlotMark, ...]


def lanes_of(chart: Chart, episodes: Iterable[Episode], scope: Scope) -> list[PlotLane]:
    """Return the lanes that are not empty."""
    found = list(episodes)
    lanes = [
        PlotLane("Evictions", "Evict.", _together(_marks(_evictions(chart, found), "eviction", scope), scope)),
        PlotLane(_spaced(chart.condition), "Press.", _marks(_pressure(chart, found), "bar", scope)),
        PlotLane("Alerts", "Alerts", _marks(_alerts(chart, found), "bar", scope)),
        PlotLane("Image GC", "GC", _marks(_of_kind("image_gc", found) if chart.images else (), "gc", scope)),
        PlotLane("Kubelet", "Start", _marks(_of_kind("kubelet", found), "start", scope)),
    ]
    return [lane for lane in lanes if lane.marks]


def pressure_of(chart: Chart, episodes: Iterable[Episode], scope: Scope) -> list[tuple[datetime, datetime]]:
    """When the chart's condition held."""
    pieces = [piece for _, each in _pressure(chart, list(episodes)) for piece in each]
    return [(max(piece.since, scope.since), piece.until or scope.until) for piece in pieces]


_Pieces = Iterable[tuple[Episode, Sequence[Happening]]]


def _of_kind(kind: str, episodes: Sequence[Episode]) -> _Pieces:
    return ((each, each.pieces) for each in episodes if each.kind == kind)


def _evictions(chart: Chart, episodes: Sequence[Episode]) -> _Pieces:
    for each in episodes:
        if each.kind == "eviction" and each.pieces[0].about.startswith(chart.resource):
            yield each, each.pieces


def _pressure(chart: Chart, episodes: Sequence[Episode]) -> _Pieces:
    return (
        (each, each.pieces)
        for each in episodes
        if each.kind == "pressure" and each.pieces[0].about == chart.condition
    )


def _alerts(chart: Chart, episodes: Sequence[Episode]) -> _Pieces:
    about = {chart.resource, chart.condition}
    for each in episodes:
        first = each.pieces[0]
        if each.kind == "alert" and (first.resource in about or (chart.images and first.about.startswith("ImageGC"))):
            yield each, each.pieces


def _marks(pieces: _Pieces, shape: str, scope: Scope) -> tuple[PlotMark, ...]:
    return tuple(sorted(_each(pieces, shape, scope)))[-MOST:]


def _each(pieces: _Pieces, shape: str, scope: Scope) -> Iterator[PlotMark]:
    for episode, found in pieces:
        for piece in found:
            since, until = max(piece.since, scope.since), piece.until or scope.until
            if since <= until and since < scope.until:
                yield PlotMark(since, until, shape, episode.state_of(piece), episode.key, piece.words)


def _together(marks: Iterable[PlotMark], scope: Scope) -> tuple[PlotMark, ...]:
    found: list[PlotMark] = []
    for mark in marks:
        last = found[-1] if found else None
        if last and last.key == mark.key and (mark.since - last.since).total_seconds() < NEAR * scope.seconds:
            found[-1] = last._replace(until=mark.until, number=last.number + 1, text=counted(last.number + 1, "pod"))
        else:
            found.append(mark)
    return tuple(found)


def _spaced(condition: str) -> str:
    return f"{condition.removesuffix('Pressure')} pressure"
