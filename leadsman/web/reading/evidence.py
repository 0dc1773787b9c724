"""What a page or story rests on, and how old it is: nothing is called well without it."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from leadsman.web.reading.asked import ask
from leadsman.web.reading.scope import Scope
from leadsman.web.reading.words import duration, moment, some
from sql.database.open import Database
from streams.alerting.active import SILENT

STALE: Final = timedelta(minutes=10)
"""Evidence of this age says nothing about how it is now."""


class Evidence(NamedTuple):
    """How much was seen in a range, and when something was last seen up to its end."""

    scope: Scope
    nodes: int
    """That exist at the end."""
    sampled_nodes: int
    """With statistics (/stats/summary) in the range."""
    pods: int
    events: int
    last_sample_at: datetime | None
    last_at: datetime | None
    """Of anything."""

    @property
    def stale(self) -> bool:
        """Whether nothing is known of how it is now."""
        return is_stale(self.last_at, self.scope)

    @property
    def lost(self) -> bool:
        """Whether nobody knows any more what still holds, alerts among it."""
        return self.last_at is None or self.scope.judged_at - self.last_at >= SILENT

    @property
    def complete(self) -> bool:
        """Whether every node's statistics were seen until the end."""
        return not is_stale(self.last_sample_at, self.scope) and 0 < self.nodes <= self.sampled_nodes


def read_evidence(db: Database, scope: Scope) -> Evidence:
    (row,) = ask(db, "evidence", scope)
    return Evidence(scope, **row)


def is_stale(seen_at: datetime | None, scope: Scope) -> bool:
    return seen_at is None or scope.judged_at - seen_at > STALE


def age(seen_at: datetime, scope: Scope) -> str:
    """As 31 h ago, or 31 h before the end."""
    seconds = max(0.0, (scope.judged_at - seen_at).total_seconds())
    return f"{duration(seconds)} {'before the end' if scope.now is None else 'ago'}"


def freshness(evidence: Evidence) -> str:
    """How old the page's evidence is, in a line."""
    if evidence.last_at is None:
        return "Nothing was observed up to the end of this range"
    sample, scope = evidence.last_sample_at, evidence.scope
    seen = f"last observation {moment(evidence.last_at)} UTC, {age(evidence.last_at, scope)}"
    if sample is None:
        return f"No kubelet statistics; {seen}"
    last = f"Last sample {moment(sample)} UTC, {age(sample, scope)}"
    return f"{last}; {seen}" if is_stale(sample, scope) and not evidence.stale else last


def nothing_found(evidence: Evidence) -> str:
    """What may be concluded where no finding was made in a range."""
    scope = evidence.scope
    if not (evidence.sampled_nodes or evidence.pods or evidence.events):
        before = "" if evidence.last_at is None else f" Before it, the last was at {moment(evidence.last_at)} UTC."
        return f"Nothing is known of this range: no sample, Event or change of a pod was seen in it.{before}"
    nodes = some(evidence.nodes, "node")
    seen = f"{nodes}, {some(evidence.pods, 'pod')} and {some(evidence.events, 'Event')}"
    sampled = (
        f"with kubelet statistics of {evidence.sampled_nodes} of {nodes}"
        if evidence.sampled_nodes
        else "without kubelet statistics, so room and pressure ahead are not known"
    )
    return (
        "No evictions, node pressure, nodes that are not Ready, pending pods, Warning Events, image-GC, NUMA or "
        f"scheduling problems in {seen} from {moment(scope.since)} to {moment(scope.until)} UTC, {sampled}."
    )
