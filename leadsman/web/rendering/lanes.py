"""Lays out the lanes below a chart, which show what happened on the node at the same time. Pure."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from common.amounts import counted
from leadsman.web.attention.episodes import Episode
from leadsman.web.reading.charts import Chart
from leadsman.web.reading.scope import Scope

MOST: Final = 60
"""Maximum number of marks of a lane; of more, the last ones are shown."""
NEAR: Final = 0.015
"""Evictions within this share of the range are one mark with their number."""


class PlotMark(NamedTuple):
    """One happening of an episode; an instant has equal start and end."""

    since: datetime
    until: datetime
    shape: str
    """bar, eviction, start or gc."""
    state: str
    key: str
    """Key of the episode in the timeline."""
    text: str
    number: int = 1
    """Number of happenings that the mark represents."""


class PlotLane(NamedTuple):
    name: str
    short: str
    marks: tuple[PlotMark, ...]


def lanes_of(chart: Chart, episodes: Iterable[Episode], scope: Scope) -> list[PlotLane]:
    """Return the lanes that are not empty."""
    found = list(episodes)
    evictions = (each for each in _of_kind("eviction", found) if each.happenings[0].about.startswith(chart.resource))
    lanes = [
        PlotLane("Evictions", "Evict.", _together(_marks(evictions, "eviction", scope), scope)),
        PlotLane(_spaced(chart.condition), "Press.", _marks(_pressure(chart, found), "bar", scope)),
        PlotLane("Alerts", "Alerts", _marks(_alerts(chart, found), "bar", scope)),
        PlotLane("Image GC", "GC", _marks(_of_kind("image_gc", found) if chart.images else (), "gc", scope)),
        PlotLane("Kubelet", "Start", _marks(_of_kind("kubelet", found), "start", scope)),
    ]
    return [lane for lane in lanes if lane.marks]


def pressure_of(chart: Chart, episodes: Iterable[Episode], scope: Scope) -> list[tuple[datetime, datetime]]:
    held = (each for episode in _pressure(chart, episodes) for each in episode.happenings)
    return [(max(each.since, scope.since), each.until or scope.until) for each in held]


def _of_kind(kind: str, episodes: Iterable[Episode]) -> Iterator[Episode]:
    return (each for each in episodes if each.kind == kind)


def _pressure(chart: Chart, episodes: Iterable[Episode]) -> Iterator[Episode]:
    return (each for each in _of_kind("pressure", episodes) if each.happenings[0].about == chart.condition)


def _alerts(chart: Chart, episodes: Iterable[Episode]) -> Iterator[Episode]:
    resources = {chart.resource, chart.condition}
    for each in _of_kind("alert", episodes):
        first = each.happenings[0]
        if first.resource in resources or (chart.images and first.about.startswith("ImageGC")):
            yield each


def _marks(episodes: Iterable[Episode], shape: str, scope: Scope) -> tuple[PlotMark, ...]:
    marks = (
        PlotMark(since, until, shape, episode.state_of(each), episode.key, each.words)
        for episode in episodes
        for each in episode.happenings
        if (since := max(each.since, scope.since)) <= (until := each.until or scope.until) and since < scope.until
    )
    return tuple(sorted(marks))[-MOST:]


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
