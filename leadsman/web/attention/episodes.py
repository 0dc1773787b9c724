"""Groups what happened into episodes on a timeline, each with one severity. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from common.amounts import counted
from leadsman.web.attention.badges import Severity
from leadsman.web.reading.scope import Scope
from leadsman.web.reading.timeline import BUCKETS, Filter, Happened, Happening, Tick, join_heading, ticks
from leadsman.web.reading.words import KINDS
from streams.fold.findings import BROKEN_GC
from streams.rules.eviction.shortage import evicted_for
from streams.rules.pod_ends.machine import CONFIGURES, DRAINS

LONGEST_GAP: Final = timedelta(minutes=10)
"""A repetition within this time, or within this share of a longer range, belongs to the same episode."""
GAPS_IN_RANGE: Final = 50
MOST_OFFERED: Final = 300
LOUD: Final = (1, 5, 25)
"""Counts at which a mark on a lane is drawn larger."""
_SEVERITIES: Final = {
    "eviction": Severity.CRITICAL,
    "unguarded": Severity.CRITICAL,
    "scheduler": Severity.CRITICAL,
    "unknown": Severity.UNKNOWN,
    "kubelet": Severity.NOTE,
}
"""Severity of kinds that always have the same one; other kinds are warnings."""
_OF_NODES: Final = {
    **dict.fromkeys(("Not Ready", "Not Ready by an Event"), Severity.CRITICAL),
    **dict.fromkeys(
        (
            *("Ready by an Event", "cordoned", "uncordoned", "cordoned by an Event", "uncordoned by an Event"),
            *DRAINS,
            *CONFIGURES,
        ),
        Severity.NOTE,
    ),
}
"""Severity of the kind `node` by subject; other subjects are warnings."""
_OF_PODS: Final = {
    "eviction": "were evicted: {}",
    "limit": "were evicted for their own limit",
    "pod_end": "were {}",
    "numa": "were not admitted: {}",
    "pending": "are Pending and {}",
}
"""Text about several pods, by kind, with a placeholder for the resource."""
_LASTING_KINDS: Final = frozenset({"pending", "unknown"})
"""Lines of the story about states that still hold at the end."""


class Episode(NamedTuple):
    """One line of the timeline: something that happened once, or repeatedly within a short time."""

    key: str
    """Its anchor in the page."""
    since: datetime
    until: datetime | None
    """None while it lasts."""
    nodes: tuple[str, ...]
    kind: str
    severity: Severity
    head: str
    """The bold words: an alert's name, or the number of occurrences."""
    text: str
    """The rest of the text."""
    happenings: tuple[Happening, ...]

    @property
    def is_moment(self) -> bool:
        return self.since == self.until

    @property
    def what(self) -> str:
        return join_heading(self.head, self.text)

    @property
    def state(self) -> str:
        """Return the state that a mark shows: the mark of an ended episode is hollow and grey."""
        return _state(self.severity, is_over=self.until is not None)

    def state_of(self, happening: Happening) -> str:
        """Return the state of one happening, which can be over while its episode lasts."""
        is_over = happening.until is not None and self.kind not in _LASTING_KINDS
        return _state(severity_of(happening), is_over=is_over)


class Bar(NamedTuple):
    """An episode on its lane; `left` and `width` in percent of the lane."""

    left: float
    width: float
    state: str
    key: str


class Mark(NamedTuple):
    """Number of episodes in a bucket of a lane that has too many for bars; `level` is 1 to 3."""

    left: float
    level: int


class Lane(NamedTuple):
    kind: str
    name: str
    times: int
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]


class Timeline(NamedTuple):
    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    episodes: tuple[Episode, ...]
    """Episodes: lasting ones first, then latest first."""
    total: int
    """Number of episodes, including those that are not shown."""
    whole: bool
    """False if the range has more than was read."""
    until: datetime
    """The end of the range."""
    nodes: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    """Values that the filters offer, at most MOST_OFFERED of each."""

    @property
    def dated(self) -> bool:
        """Tell whether times need the day."""
        return any(each.since.date() != self.until.date() for each in self.episodes)


def timeline(
    happened: Happened,
    scope: Scope,
    limit: int,
    filters: Filter = Filter(),  # noqa: B008 - it cannot be changed
) -> Timeline:
    """Build the timeline with at most `limit` episodes.

    Filters of kind and severity apply to these; filters of node and namespace also apply to lanes and happenings.
    """
    found = fold(happened.happenings, scope)
    if filters.on or filters.namespace:
        fitting = [(each.key, [one for one in each.happenings if filters.fits(one)]) for each in found]
        found = [_episode(key, group) for key, group in fitting if group]
    chosen = [
        each for each in found if filters.kind in {"", each.kind} and filters.severity in {"", each.severity.word}
    ]
    return Timeline(
        _lanes(found, happened.shape, scope),
        ticks(scope),
        tuple(chosen[:limit]),
        len(chosen),
        happened.whole,
        scope.until,
        tuple(sorted({each.node for each in happened.happenings if each.node}))[:MOST_OFFERED],
        tuple(sorted({name for each in happened.happenings for name in each.namespaces}))[:MOST_OFFERED],
    )


def kinds_of(filters: Filter) -> list[str]:
    """Return the kinds of story lines that can pass the filters; empty if any can."""
    if not filters.severity:
        return [filters.kind] if filters.kind else []
    found = [kind for kind in KINDS if filters.severity in {each.word for each in _severities(kind)}]
    return [kind for kind in found if filters.kind in {"", kind}] or [filters.kind or "alert"]


def _severities(kind: str) -> set[Severity]:
    of_kind = {_SEVERITIES.get(kind, Severity.WARNING)}
    return of_kind | set(_OF_NODES.values()) if kind == "node" else of_kind


def fold(happenings: Iterable[Happening], scope: Scope, prefix: str = "e") -> list[Episode]:
    """Group happenings, sorted by start, into episodes: lasting ones first, then latest. Keys begin with `prefix`."""
    gap = max(LONGEST_GAP, timedelta(seconds=scope.seconds / GAPS_IN_RANGE))
    groups: list[list[Happening]] = []
    last: dict[tuple[str, ...], list[Happening]] = {}
    for each in happenings:
        key = (each.kind, each.about, each.resource, str(bool(each.pod)))
        group = last.get(key)
        if group is None or all(one.until is not None and each.since - one.until > gap for one in group[-8:]):
            group = last[key] = []
            groups.append(group)
        group.append(each)
    groups.sort(key=lambda group: (_until(group) is None, group[0].since), reverse=True)
    return [_episode(f"{prefix}{nth}", group) for nth, group in enumerate(groups)]


def _until(group: Sequence[Happening]) -> datetime | None:
    ends = [each.until for each in group]
    if group[0].kind in _LASTING_KINDS or None in ends:
        return None
    return max(end for end in ends if end is not None)


def _episode(key: str, group: Sequence[Happening]) -> Episode:
    nodes = tuple(dict.fromkeys(each.node for each in group if each.node))
    return Episode(
        key,
        group[0].since,
        _until(group),
        nodes,
        group[0].kind,
        min(map(severity_of, group)),
        *_words(group),
        tuple(group),
    )


def _state(severity: Severity, *, is_over: bool) -> str:
    return f"{severity.word}{' over' if is_over else ''}"


def severity_of(each: Happening) -> Severity:
    """Return the severity of one happening while it lasts."""
    if each.kind == "alert":
        return Severity.of_alert(each.severity)
    if each.kind == "image_gc":
        return Severity.CRITICAL if each.about in BROKEN_GC else Severity.NOTE
    if each.kind == "node":
        return _OF_NODES.get(each.about, Severity.WARNING)
    return _SEVERITIES.get(each.kind, Severity.WARNING)


def _words(group: Sequence[Happening]) -> tuple[str, str]:
    first, last = group[0], group[-1]
    if len(group) == 1:
        return first.head, first.what
    if first.pod:
        about = evicted_for(first.about) if first.kind == "eviction" else first.about
        return f"{counted(len(group), 'pod')} {_OF_PODS[first.kind].format(about)}", ""
    times = counted(len(group), "time")
    if first.kind in {"kubelet", "pressure", "node"}:
        return f"{first.about}: {times}", ""
    return (f"{last.head} ({times})" if last.head else times), last.what


def place(scope: Scope, at: datetime) -> float:
    """Return a time in percent of the range, limited to it."""
    return min(100.0, max(0.0, (at - scope.since).total_seconds() / scope.seconds * 100))


def _lanes(episodes: Sequence[Episode], shape: Mapping[str, Mapping[int, int]], scope: Scope) -> tuple[Lane, ...]:
    by_kind: dict[str, list[Episode]] = {}
    for each in episodes:
        by_kind.setdefault(each.kind, []).append(each)
    return tuple(
        Lane(
            kind,
            name,
            max(sum(shape.get(kind, {}).values()), sum(len(each.happenings) for each in by_kind.get(kind, ()))),
            tuple(dict.fromkeys(bar for each in reversed(by_kind.get(kind, ())) for bar in _bars(each, scope))),
            tuple(
                Mark((bucket + 0.5) * 100 / BUCKETS, sum(n >= least for least in LOUD))
                for bucket, n in sorted(shape.get(kind, {}).items())
            ),
        )
        for kind, name in KINDS.items()
        if kind in by_kind or kind in shape
    )


def _bars(episode: Episode, scope: Scope) -> Iterable[Bar]:
    """Yield bars for the happenings of a lane; overlapping bars are merged."""
    drawn = set()
    for happening in episode.happenings:
        left, right = place(scope, happening.since), place(scope, happening.until or scope.until)
        if episode.kind in _LASTING_KINDS:
            right = 100.0
        at = (round(left, 1), round(right - left, 1))
        if at not in drawn:
            drawn.add(at)
            yield Bar(*at, episode.state_of(happening), episode.key)
