"""Measures the evidence behind a page or story, and its age. Without evidence, no state counts as healthy."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from common.amounts import counted
from leadsman.web.reading.ask import ask
from leadsman.web.reading.scope import STALE, Scope
from leadsman.web.reading.words import duration, timestamp
from sql.database.open import Database
from sql.questions.missing import KEPT, READ_APART, WATCHED
from streams.alerting.active import SILENT

INTERVALS: Final = 6
"""Number of missed samples after which the current state counts as unknown."""
_SOONEST: Final = timedelta(seconds=10)


class Evidence(NamedTuple):
    """The amount of data in a range, and the time of the last observation up to its end."""

    scope: Scope
    nodes: int
    """Nodes that exist at the end, if Node objects were seen in this range or are watched."""
    sampled_nodes: int
    """Nodes with statistics (/stats/summary) in the range."""
    pods: int
    events: int
    last_sample_at: datetime | None
    last_at: datetime | None
    """Time of the last observation of any kind."""
    nodes_until: datetime | None = None
    """The last Node object, if later dumps had none: it is from an older dump."""
    pods_seen: bool = True
    """True if pods were seen in this range, or are watched. An account that may not read pods sees no evictions."""
    pods_until: datetime | None = None
    """The last change of a pod, if later dumps had no pods: it is from an older dump."""
    unread: tuple[str, ...] = ()
    """Streams of the whole cluster that were silent or unreadable for a time."""
    bad: int = 0
    """Records of the range that could not be understood, and records with an unreadable time."""
    unexplained: int = 0
    """Pods with the reason Evicted whose text names no known cause."""
    events_seen: bool = True
    """True if Events of this range were seen. Image GC, and pods that are gone, are known from Events alone."""
    numa_seen: bool = True
    """True if this range, or a running stream, has a source of exclusive CPUs, or a kubelet that assigns none."""
    events_since: datetime | None = None
    """Time since which Events have been watched without a break; None if they are not watched now."""
    events_until: datetime | None = None
    """The last Event, if later dumps had none: Events of an older dump say nothing about this one."""
    without_image_gc: int = 0
    """Nodes whose settings make image GC never run, or start only after evictions."""
    log_lines: int = 0
    """Lines of kubelets' logs in the range."""
    attempts: int = 0
    """Attempts to place pods in the range, by a scheduler's log."""
    numa_in_range: bool = False
    """True if NUMA nodes were seen in the range, even if only from a NodeResourceTopology."""
    partial_nodes: int = 0
    """Nodes of which only a table or a fragment was seen, which may lack pressure conditions."""
    unsaid_nodes: int = 0
    """Nodes whose condition Ready was not seen."""

    @property
    def stale(self) -> bool:
        """Tell whether the current state is unknown.

        If samples ended long before, their former interval proves nothing.
        """
        at, sampled_at = self.last_at, self.last_sample_at
        paced = at is not None and sampled_at is not None and at - sampled_at <= STALE
        scope = self.scope._replace(as_of=None)
        return is_stale(at, scope if paced else scope._replace(stale_after=STALE))

    @property
    def lost(self) -> bool:
        """Tell whether it is unknown which states still hold, including alerts."""
        return self.last_at is None or self.scope.asked_at - self.last_at >= SILENT

    @property
    def seen(self) -> bool:
        return bool(self.sampled_nodes or self.pods or self.events or self.log_lines or self.numa_in_range)

    @property
    def events_known(self) -> bool:
        """Tell whether a missing Event means that nothing happened: Events were seen, or were listed and watched."""
        return self.events_seen or self.events_since is not None

    @property
    def quiet_since(self) -> datetime | None:
        """Return the time since which the absence of Events proves that nothing happened; None if Events were
        seen.
        """
        return None if self.events_seen else self.events_since

    @property
    def aged(self) -> bool:
        """Tell whether all states are as of the last observation, which is too old to show the current state."""
        return self.scope.as_of is not None

    @property
    def counts(self) -> bool:
        """Tell whether an unseen Event may be shown as a count of 0."""
        return self.counted and not self.stale

    @property
    def counted(self) -> bool:
        """Tell whether a count of 0 may be shown as of the last observation, even if that is old."""
        return self.seen and self.pods_seen and self.nodes > 0

    @property
    def complete(self) -> bool:
        """Tell whether all nodes have statistics until the end, and all streams were read and understood."""
        sampled = not is_stale(self.last_sample_at, self.scope) and self.nodes <= self.sampled_nodes
        return (
            self.counts
            and self.events_known
            and sampled
            and not any((self.unread, self.unexplained, self.bad, self.partial_nodes, self.unsaid_nodes))
        )


def read_evidence(db: Database, scope: Scope) -> Evidence:
    (row,) = ask(db, "evidence", scope)
    spans = {resource: (since, heard_at) for resource, since, heard_at in row.pop("watched")}
    nodes, partial, unsaid, nodes_at = row.pop("nodes")
    row["pods"], row["unexplained"] = row["pods"]
    numa_at, any_numa_at = row.pop("numa")
    at = {"nodes": nodes_at, "pods": row.pop("pods_at"), "events": row.pop("events_at"), "numa": numa_at}
    every = (*at.values(), any_numa_at, row["last_sample_at"], row.pop("log_at"))
    row["last_at"] = max(filter(None, every), default=None)
    last_at = row["last_at"]
    if at["events"] is not None:
        at["events"] = min(at["events"], scope.until)
    # an object holds until it changes, even if it was seen before the range; an Event does not
    floors = {"events": scope.since}
    listed = {
        name
        for name, seen in at.items()
        if seen is not None
        and seen >= max(floors.get(name, seen), last_at - (KEPT if name == "events" else READ_APART))
    }
    # while a watched object does not change, it gets no rows; kubelets are polled all that time
    going_on = {
        name for name, (_, heard_at) in spans.items() if last_at is not None and last_at - heard_at <= WATCHED
    }
    nodes_seen = "nodes" in listed | going_on
    nodes, partial, unsaid = (nodes, partial, unsaid) if nodes_seen else (0, 0, 0)
    pods_seen = "pods" in listed or ("pods" in going_on and at["pods"] is not None)
    since, heard_at = spans.get("events", (None, None))
    watched = heard_at is not None and scope.judged_at - heard_at <= WATCHED
    events_at = at["events"]
    seen = {
        "nodes": nodes,
        "partial_nodes": partial,
        "unsaid_nodes": unsaid,
        "nodes_until": None if nodes_seen else at["nodes"],
        "pods_seen": pods_seen,
        "pods_until": None if pods_seen else at["pods"],
        "numa_in_range": at["numa"] is not None and at["numa"] >= scope.since,
        "numa_seen": "numa" in listed or ("pods" in going_on and at["numa"] is not None),
        "events_seen": "events" in listed or (watched and events_at is not None and events_at >= since),
        "events_since": since if watched else None,
        "events_until": None if "events" in listed or watched else events_at,
    }
    return Evidence(scope, **row | seen | {"unread": tuple(row["unread"])})


def read_last_seen(db: Database, scope: Scope) -> Evidence:
    """Read the evidence, with staleness by sampling interval.

    A live cluster without current data is judged as of its last observation.
    """
    evidence = read_evidence(db, paced(db, scope))
    if scope.now is None or not evidence.stale:
        return evidence
    return evidence._replace(scope=evidence.scope._replace(as_of=evidence.last_at))


def of_node(evidence: Evidence, node: str, sampled_at: datetime | None) -> Evidence:
    """Return the evidence about one node, by its own last sample in the range, because samples of others do not cover
    it.
    """
    scope, sampled = evidence.scope.of_node(node), int(sampled_at is not None)
    return evidence._replace(scope=scope, nodes=1, sampled_nodes=sampled, last_sample_at=sampled_at)


def paced(db: Database, scope: Scope) -> Scope:
    """Return the scope with staleness limits: samples are old after INTERVALS of their node's own sampling
    interval.
    """
    (row,) = ask(db, "pace", scope)
    if row["pace_seconds"] is None:
        return scope
    of_nodes = {node: _stale_after(seconds) for node, seconds in row["paces"]}
    return scope._replace(stale_after=_stale_after(row["pace_seconds"]), stale_after_of=of_nodes)


def _stale_after(seconds: float) -> timedelta:
    return max(_SOONEST, timedelta(seconds=INTERVALS * seconds))


def is_stale(seen_at: datetime | None, scope: Scope) -> bool:
    return seen_at is None or scope.judged_at - seen_at > scope.stale_after


def age(seen_at: datetime, scope: Scope) -> str:
    """Format an age, for example "31 h ago" or "31 h before the end"."""
    seconds = max(0.0, (scope.asked_at - seen_at).total_seconds())
    if seconds < 1:
        return "now" if scope.now else "at the end"
    return f"{duration(seconds)} {'before the end' if scope.now is None else 'ago'}"


def freshness(evidence: Evidence) -> str:
    if evidence.last_at is None:
        return "No data up to the end of this range"
    sample, scope = evidence.last_sample_at, evidence.scope
    seen = f"last observation {_seen_time(evidence.last_at, scope)}"
    if sample is None:
        return f"No kubelet statistics; {seen}"
    last = f"Last sample {_seen_time(sample, scope)}"
    return f"{last}; {seen}" if is_stale(sample, scope) and not evidence.stale else last


def _seen_time(seen_at: datetime, scope: Scope) -> str:
    """Format the time only if the range ends now; otherwise the end has its own time next to it."""
    return f"{timestamp(seen_at)} UTC, {age(seen_at, scope)}" if scope.now else age(seen_at, scope)


def absent(evidence: Evidence, nothing: str) -> str:
    """Say that something was not found, as far as the evidence supports that; `nothing` has no full stop."""
    last = evidence.last_at
    if last is None:
        return "Unknown: there is no data up to the end of this range."
    ago = f"{timestamp(last)} UTC, {age(last, evidence.scope)}"
    if not evidence.seen:
        return f"Unknown: there is no data in this range. The last observation was at {ago}."
    if evidence.stale:
        return f"{nothing} up to the last observation, {ago}. Later events are unknown."
    missing = " ".join(gaps(evidence))
    return f"{nothing} in the available data. {missing}" if missing else f"{nothing}."


def nothing_found(evidence: Evidence) -> str:
    """Return the conclusion that a range without findings permits, and what is missing."""
    return " ".join((looked_at(evidence), *(gaps(evidence) if evidence.seen else ())))


def looked_at(evidence: Evidence) -> str:
    """Say what was not found, and in which objects of which time."""
    scope = evidence.scope
    if not evidence.seen:
        before = (
            ""
            if evidence.last_at is None
            else f" The last observation before it was at {timestamp(evidence.last_at)} UTC."
        )
        return f"There is no data for this range: no sample, Event or pod change was seen.{before}"
    nodes = counted(evidence.nodes, "node")
    seen = f"changes of {counted(evidence.pods, 'pod')} and {counted(evidence.events, 'Event')}"
    seen = f"{nodes}, {seen}" if evidence.nodes else seen
    share = f"{evidence.sampled_nodes} of {nodes}" if evidence.nodes else counted(evidence.sampled_nodes, "node")
    sampled = f", with kubelet statistics of {share}" if evidence.sampled_nodes else ""
    if sampled and evidence.last_sample_at and is_stale(evidence.last_sample_at, scope):
        sampled += f" until {timestamp(evidence.last_sample_at)} UTC"
    span = f"from {timestamp(scope.since)} to {timestamp(scope.until)} UTC"
    return f"No {_looked_for(evidence)} in {seen} {span}{sampled}."


def _looked_for(evidence: Evidence) -> str:
    by_pods, by_nodes, by_events = evidence.pods_seen, evidence.nodes > 0, evidence.events_known
    # an account that may read only one namespace sees no Events of nodes
    events_of_nodes = by_events and not evidence.scope.namespace
    of_nodes = by_nodes or events_of_nodes
    things = {
        "evictions": by_pods and not evidence.unexplained,
        "node pressure": (by_nodes and not evidence.partial_nodes) or events_of_nodes,
        "nodes that are not Ready": (by_nodes and not evidence.unsaid_nodes) or events_of_nodes,
        "pending pods": by_pods,
        "Warning Events": by_events,
    }
    problems = {
        "image-GC": by_events and of_nodes and not evidence.without_image_gc,
        "NUMA": by_pods and evidence.numa_seen,
        "scheduling": by_pods,
    }
    *others, last = [name for name, seen in (things | problems).items() if seen] or ["resources below a threshold"]
    return f"{', '.join(others)}{' or ' if others else ''}{last}{' problems' if any(problems.values()) else ''}"


def gaps(evidence: Evidence) -> list[str]:
    """Describe the missing evidence of a range, one sentence for each kind."""
    partial = counted(evidence.partial_nodes, "node")
    unsaid = counted(evidence.unsaid_nodes, "node")
    bad, odd = counted(evidence.bad, "record"), counted(evidence.unexplained, "pod was", "pods were")
    missing = {
        f"No Node object was seen{_after(evidence.nodes_until)}.": not evidence.nodes,
        f"Only a table or a part of {partial} was seen, so pressure may be missing.": bool(evidence.partial_nodes),
        f"The condition Ready of {unsaid} was not seen.": bool(evidence.unsaid_nodes),
        "Without kubelet statistics, free room and upcoming pressure are unknown.": not evidence.sampled_nodes,
        "The free room of the other nodes is unknown.": 0 < evidence.sampled_nodes < evidence.nodes,
        no_pod(evidence): not evidence.pods_seen,
        no_event(evidence): not evidence.events_known,
        "A scheduler's log says that pods found no node; whether they still wait is unknown.": bool(
            evidence.attempts and not evidence.pods_seen
        ),
        quiet(evidence): evidence.quiet_since is not None,
        f"Not read all the time, so something may be missing: {', '.join(evidence.unread)}.": bool(evidence.unread),
        f"{odd} evicted with a message that names no known cause: leadsman query dead_letters.": bool(
            evidence.unexplained
        ),
        f"{bad} could not be understood: leadsman query dead_letters.": bool(evidence.bad),
    }
    return [text for text, is_missing in missing.items() if is_missing]


def no_pod(evidence: Evidence) -> str:
    after = _after(evidence.pods_until)
    if evidence.events_known:
        known = "what happened to pods is known only from Events, and pending pods are unknown."
        return f"No Pod object was seen{after}: {known}"
    if evidence.log_lines:
        known = "what happened to pods is known only from kubelets' logs, and pending pods are unknown."
        return f"No pod was seen{after}: {known}"
    return f"No pod was seen{after}: evictions, OOM kills, rejections and pending pods are unknown."


def no_event(evidence: Evidence) -> str:
    if evidence.log_lines:
        return "No Event was seen: image GC and deleted pods are known only from kubelets' logs."
    unknown = "image GC, Warnings, and what happened to deleted pods are unknown."
    return f"No Event was seen{_after(evidence.events_until)}: {unknown}"


def _after(at: datetime | None) -> str:
    return f" after {timestamp(at)} UTC" if at else ""


def quiet(evidence: Evidence) -> str:
    """Return the time since which no Event could be seen; empty if Events were seen."""
    since = evidence.quiet_since
    return "" if since is None else f"No Event arrived since {timestamp(since)} UTC, when their watch began."
