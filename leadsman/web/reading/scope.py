"""Chooses the cluster and the time range of a page: from options or an address, else the last day."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final, NamedTuple

from common.errors import WrongUsage

DEFAULT: Final = timedelta(days=1)
SHORTEST: Final = timedelta(minutes=10)
"""Minimum length of a default range."""
STALE: Final = timedelta(minutes=10)
"""Evidence of this age does not show the current state, if the sampling interval is unknown."""
QUICK: Final[Mapping[str, timedelta]] = {
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "1d": timedelta(days=1),
    "7d": timedelta(days=7),
}
"""Ranges that end at the last observation, by their name in an address."""
ALL: Final = "all"


class BadScope(WrongUsage):
    """An address or option cannot be used; the message has what cannot be read, and what can."""


class Span(NamedTuple):
    """A cluster and the time range of its rows."""

    cluster: str
    first_at: datetime
    last_at: datetime


class RequestedRange(NamedTuple):
    """The parameters of an address or command; empty if not given."""

    cluster: str = ""
    since: str = ""
    until: str = ""
    last: str = ""

    def address(self) -> dict[str, str]:
        return {name: value for name, value in self._asdict().items() if value}


class Scope(NamedTuple):
    """The subject of a page; `until` is exclusive."""

    cluster: str
    since: datetime
    until: datetime
    requested: RequestedRange = RequestedRange()
    """The parameters that lead here again. Open ends stay open, and move with new observations."""
    now: datetime | None = None
    """When the reader asks, if the range has no end of its own; else None."""
    namespace: str = ""
    """Pods and namespaced objects of only this namespace; empty for all. Nodes and cluster-wide facts stay."""
    stale_after: timedelta = STALE
    """Samples of this age do not show the current state: six median sampling intervals of the nodes, if known."""
    stale_after_of: Mapping[str, timedelta] = MappingProxyType({})
    """The same for each node whose own interval is known."""
    as_of: datetime | None = None
    """The last observation, if it is too old to show the current state: all states are as of then. Otherwise None."""

    @property
    def asked_at(self) -> datetime:
        """Return the time to which ages are counted: now, or the requested end."""
        return self.until if self.now is None else max(self.now, self.until)

    @property
    def judged_at(self) -> datetime:
        """Return the time whose states are shown: that of the request, or of the last observation."""
        return self.as_of or self.asked_at

    @property
    def seconds(self) -> float:
        return (self.until - self.since).total_seconds()

    def of_node(self, node: str) -> "Scope":
        """Return the scope with the staleness limit of one node."""
        return self._replace(stale_after=self.stale_after_of.get(node, self.stale_after))

    def parameters(self) -> dict[str, object]:
        times = {"since": sql_time(self.since), "until": sql_time(self.until)}
        return {"cluster": self.cluster, "namespace": self.namespace, **times}

    def address(self) -> dict[str, str]:
        return self.requested._replace(cluster=self.cluster).address()


def choose(spans: Sequence[Span], requested: RequestedRange, now: datetime | None = None) -> Scope:
    """Return the scope for a request, among existing clusters, latest first. Raises BadScope.

    `now` is when a live page is requested; a report is judged at the end of its range.
    """
    span = _span(spans, requested.cluster)
    end = span.last_at.replace(microsecond=0) + timedelta(seconds=1)
    if requested.last and (requested.since or requested.until):
        raise BadScope("give last, or since and until, not both")
    if requested.last == ALL:
        return Scope(span.cluster, min(_floor(span.first_at), end - SHORTEST), end, RequestedRange(last=ALL), now)
    if requested.last:
        if requested.last not in QUICK:
            raise BadScope(f"last cannot be {requested.last[:40]!r}: it is one of {', '.join((*QUICK, ALL))}")
        return Scope(span.cluster, end - QUICK[requested.last], end, RequestedRange(last=requested.last), now)
    until = parse(requested.until, "until") if requested.until else end
    first = max(_floor(span.first_at), until - DEFAULT)
    since = parse(requested.since, "since") if requested.since else min(first, until - SHORTEST)
    if since >= until:
        raise BadScope(f"since ({address_time(since)}) must be before until ({address_time(until)})")
    fixed = RequestedRange(
        since=address_time(since) if requested.since else "", until=address_time(until) if requested.until else ""
    )
    return Scope(span.cluster, since, until, fixed, None if requested.until else now)


def parse(text: str, name: str) -> datetime:
    """Parse a time in ISO 8601, in UTC if it names no zone. Raises BadScope."""
    try:
        at = datetime.fromisoformat(text)
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadScope(f"{name} cannot be {text[:40]!r}: write a time as 2026-11-21T04:19:00Z") from None
    if not _EARLIEST <= at <= _LATEST:
        raise BadScope(f"{name} cannot be {text[:40]!r}: the database has times from 1970 to 2262")
    return at


def address_time(at: datetime) -> str:
    """Format a time for an address, to the second if it has no fraction."""
    return at.isoformat(timespec="auto" if at.microsecond else "seconds").replace("+00:00", "Z")


_EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST: Final = datetime(2262, 1, 1, tzinfo=UTC)


def _span(spans: Sequence[Span], cluster: str) -> Span:
    if not cluster:
        return spans[0]
    for span in spans:
        if span.cluster == cluster:
            return span
    known = ", ".join(span.cluster for span in spans[:20])
    raise BadScope(f"there is no cluster {cluster[:80]!r} in this database. There are: {known}")


def _floor(at: datetime) -> datetime:
    return at.replace(microsecond=0)


def sql_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S.%f")
