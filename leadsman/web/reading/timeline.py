"""Reads happenings on a cluster or a node in a range: single events, and lasting states."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from leadsman.web.reading.alerts import Alert
from leadsman.web.reading.ask import RowDict, ask
from leadsman.web.reading.scope import BadScope, Scope
from leadsman.web.reading.words import KINDS
from sql.database.open import Database
from streams.fold.findings import GC_VERDICTS
from streams.rules.eviction.signals import CONDITIONS

BUCKETS: Final = 120
"""Maximum number of marks of a lane."""
MAX_STORY_LINES: Final = 5000
"""A story with fewer lines is shown whole; a longer one as counts and its newest lines."""
_LASTING: Final = {
    "pressure": frozenset(CONDITIONS.values()),
    "node": frozenset({"Ready", "NotReady", "Unknown"}),
    "image_gc": frozenset(GC_VERDICTS),
}
"""Story lines to skip, as `about` by kind: each is the start or end of a state that is read as a whole elsewhere."""
_TICKS: Final = 6
_MINUTE: Final = 60
_HOUR: Final = 3600
_STEPS: Final = (1, 5, 10, 30, 60, 300, 600, 900, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600)

Shape: TypeAlias = dict[str, dict[int, int]]
"""Number of story lines by kind, then by bucket of the range."""


class Happening(NamedTuple):
    """Start and end. Both are equal for an instant, and `until` is None for a state that still holds at the end."""

    since: datetime
    until: datetime | None
    node: str
    kind: str
    what: str
    """The text; an alert's is its summary."""
    about: str = ""
    """A condition, resource, reason, verdict or an alert's name, by kind: column `about` of the view `story`."""
    resource: str = ""
    """An alert's severity."""
    namespaces: tuple[str, ...] = ()
    pod: str = ""
    """The pod, if it is about a single one, as namespace/name."""
    severity: str = ""
    """An alert's."""

    @property
    def head(self) -> str:
        """Return the name of an alert, which is shown before its text."""
        return self.about if self.kind == "alert" else ""

    @property
    def words(self) -> str:
        return join_heading(self.head, self.what)


def join_heading(head: str, text: str) -> str:
    """Join a name and a text; one of them may be empty."""
    return ": ".join(filter(None, (head, text)))


SEVERITIES: Final = ("critical", "warning", "unknown", "note")


class Filter(NamedTuple):
    """The timeline's filter in an address; empty means everything."""

    kind: str = ""
    on: str = ""
    """The node's name; parameter `on` in an address."""
    namespace: str = ""
    severity: str = ""

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "Filter":
        """Raises BadScope if a value is unknown."""
        for name, known in {"kind": KINDS, "severity": SEVERITIES}.items():
            if values[name] and values[name] not in known:
                raise BadScope(f"{name} cannot be {values[name][:40]!r}: it is one of {', '.join(known)}")
        return cls(*(values[name] for name in cls._fields))

    def fits(self, each: Happening) -> bool:
        return self.on in {"", each.node} and (not self.namespace or self.namespace in each.namespaces)


_MOMENT: Final = itemgetter("ts", "ts", "node", "kind", "what", "about")


class Happened(NamedTuple):
    """Happenings of one range. Unless `whole`, these are the last ones, with counts of all."""

    happenings: tuple[Happening, ...]
    shape: Shape
    whole: bool


class Tick(NamedTuple):
    left: float
    text: str
    at: int
    """Seconds since 1970."""
    step: int
    """Seconds to the next tick."""


def read_timeline(
    db: Database,
    scope: Scope,
    alerts: Iterable[Alert],
    gc: Iterable[RowDict],
    *,
    node: str = "",
    filters: Filter = Filter(),  # noqa: B008 - it cannot be changed
    kinds: Sequence[str] = (),
) -> Happened:
    """Read the happenings of a cluster or node.

    A story of MAX_STORY_LINES or more is narrowed to the node and namespace of `filters`, and to `kinds`.
    """
    rows = ask(db, "story", scope, node=node, namespace="", kinds=[], limit=MAX_STORY_LINES)
    whole = len(rows) < MAX_STORY_LINES
    shape: Shape = {}
    if not whole:
        narrow = {"node": node or filters.on, "namespace": filters.namespace}
        shape = _read_shape(db, scope, narrow)
        rows = (
            ask(db, "story", scope, **narrow, kinds=list(kinds), limit=MAX_STORY_LINES)
            if any((*narrow.values(), kinds))
            else rows
        )
    moments = [
        Happening(*_MOMENT(row))._replace(namespaces=tuple(row["namespaces"]), pod=row["pod"])
        for row in rows
        if row["about"] not in _LASTING.get(row["kind"], ())
    ]
    found = (*moments, *_read_lasting(db, scope, node), *of_alerts(alerts, scope), *of_image_gc(gc))
    found = tuple(sorted(found, key=lambda each: (each.since, each.node, each.kind, each.what)))
    return Happened(found, shape, whole)


def of_alerts(alerts: Iterable[Alert], scope: Scope) -> list[Happening]:
    """Return each alert of the range, from when it fired until it was resolved."""
    return [
        Happening(
            alert.starts_at,
            alert.ends_at,
            alert.node,
            "alert",
            alert.summary,
            alert.name,
            alert.resource,
            (alert.namespace,) if alert.namespace else (),
            severity="unknown" if alert.unknown else alert.severity,
        )
        for alert in alerts
        if alert.starts_at < scope.until and (alert.ends_at is None or alert.ends_at >= scope.since)
    ]


def of_image_gc(rows: Iterable[RowDict]) -> list[Happening]:
    """Return each episode of image GC, without an end while the episode `goes_on`."""
    return [
        Happening(
            row["ts"],
            None if row["goes_on"] else max(row["ts"], row["last_at"]),
            row["node"],
            "image_gc",
            row["what"],
            row["verdict"],
        )
        for row in rows
    ]


def _read_shape(db: Database, scope: Scope, narrow: Mapping[str, str]) -> Shape:
    shape: Shape = {}
    for row in ask(db, "story_shape", scope, **narrow, buckets=BUCKETS):
        shape.setdefault(row["kind"], {})[min(row["bucket"], BUCKETS - 1)] = row["times"]
    return shape


def _read_lasting(db: Database, scope: Scope, node: str) -> list[Happening]:
    found = []
    rows = ask(db, "lasting", scope, node=node)
    for (name, kind, what), changes in groupby(rows, key=lambda row: (row["node"], row["kind"], row["what"])):
        found += [Happening(since, until, name, kind, what, what) for since, until in spans(changes, scope)]
    return found


def spans(changes: Iterable[RowDict], scope: Scope) -> list[tuple[datetime, datetime | None]]:
    """Return when a status was on, as pairs of start and end, from its changes in order of time.

    An end is None if the status is still on.
    """
    found: list[tuple[datetime, datetime | None]] = []
    began: datetime | None = None
    for change in changes:
        at = change["ts"]
        if change["status"]:
            began = began or at
        elif began is not None:
            found.append((began, at))
            began = None
    if began is not None:
        found.append((began, None))
    return [each for each in found if each[1] is None or each[1] > scope.since]


def ticks(scope: Scope, until: datetime | None = None) -> tuple[Tick, ...]:
    """Return round times along the range, or along a longer axis."""
    since, end = scope.since.timestamp(), (until or scope.until).timestamp()
    seconds = end - since
    step = next((each for each in _STEPS if seconds / each <= _TICKS), None) or _STEPS[-1] * (
        1 + int(seconds / _TICKS / _STEPS[-1])
    )
    first = -(-int(since) // step) * step
    return tuple(
        Tick((at - since) / seconds * 100, _tick_text(datetime.fromtimestamp(at, scope.since.tzinfo), step), at, step)
        for at in range(first, int(end), step)
    )


def _tick_text(at: datetime, step: int) -> str:
    if step >= 24 * _HOUR:
        return f"{at:%m-%d}"
    return f"{at:%H:%M:%S}" if step < _MINUTE else f"{at:%H:%M}"
