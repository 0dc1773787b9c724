"""Judges from outside whether a scheduler works with a wrong list of nodes (rules: blind-spots).

No single sign is certain: every verdict carries its evidence in words and numbers. If the version, the zones or
missing data do not allow one, it is `inconclusive`, with the reason.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias

from common.amounts import counted
from common.durations import in_words
from ingest.model.objects.event import Event
from ingest.model.objects.node import Taint
from ingest.model.objects.pod import Pod, Toleration
from streams.rules.scheduling.node_tree import UnknownVersion, affected
from streams.rules.values.version import minor_version

Verdict: TypeAlias = Literal["lost_node", "stale_view", "ghost_nodes", "inconclusive"]

PINNED_ALONE_SINCE: Final = (1, 24)
"""Since this release a pinned pod is tried only on its node, so the sum of reasons proves nothing."""
_UNMATCHED: Final = ("node(s) didn't match node selector", "node(s) didn't match Pod's node affinity")
_CLOSED: Final = ("node(s) had taint", "node(s) had untolerated taint", "node(s) were unschedulable")
"""Reasons about nodes that are not open; an open node cannot be among them."""
_SHOWN_REASONS: Final = 3
_SHOWN_CHARACTERS: Final = 120


class Finding(NamedTuple):
    verdict: Verdict
    evidence: str
    node: str = ""
    """The overlooked node; empty if the evidence names none."""


class Cluster(NamedTuple):
    """The known facts about a cluster: its nodes by zone, and a version that stands in for its scheduler's."""

    zones: Mapping[str, int]
    version: str
    """The newest kubelet's version: never newer than the API server, whose scheduler may be a minor older."""

    @property
    def nodes(self) -> int:
        return sum(self.zones.values())


class Failure(NamedTuple):
    """A failure to find a node, as parsed by `streams.rules.scheduling.message.parse`."""

    nodes_total: int
    reasons: Mapping[str, int]
    oldest_minor: int
    pinned_node: str
    """The only node to which the pod may go, or empty."""
    pinned_node_is_open: bool
    """True if that node was Ready, schedulable and without a taint against the pod for over a minute."""

    @property
    def reason_sum(self) -> int:
        return sum(self.reasons.values())


class Counted(NamedTuple):
    """Bounds of the number of nodes when a text was written: nodes over a minute old, and all nodes since."""

    lowest: int
    highest: int
    complete: bool
    """True if nodes that left before the text was written would be known."""
    since: str = "a minute"
    """Time before the text within which nodes that left still count for the upper bound."""


def newest(versions: Iterable[str]) -> str:
    """Return the newest of kubelets' versions; empty if none is a version."""
    known = [(minor, version) for version in versions if (minor := minor_version(version)) is not None]
    return max(known)[1] if known else ""


def tolerates(tolerations: Sequence[Toleration], taint: Taint) -> bool:
    """Tell whether a pod may be placed on a node despite a taint; PreferNoSchedule keeps no pod away."""
    return taint.effect == "PreferNoSchedule" or is_tolerated(taint, tolerations)


def is_tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    """Tell whether a toleration matches the taint, also one of PreferNoSchedule."""
    return any(
        (not toleration.effect or toleration.effect == taint.effect)
        and (toleration.key == taint.key or (not toleration.key and toleration.operator == "Exists"))
        and (toleration.operator == "Exists" or toleration.value == taint.value)
        for toleration in tolerations
    )


def judge_evaluated(failure: Failure, cluster: Cluster) -> Finding | None:
    """Judge whether all nodes were evaluated: fewer reasons than nodes, or none for the pinned node, mean a loss
    (rules: blind-spots).
    """
    missing = failure.nodes_total - failure.reason_sum
    if not failure.reasons or not cluster.nodes:
        return None
    unseen = _pinned_node_unseen(failure, missing)
    doubt = _doubt(failure, cluster)
    if missing <= 0 and (not unseen or doubt):
        return None
    evidence = [f"0/{failure.nodes_total} nodes, but reasons for {failure.reason_sum}: {_shown(failure.reasons)}"]
    if missing > 0:
        evidence.append(f"the scheduler never looked at {missing} or more of {counted(failure.nodes_total, 'node')}")
    if unseen:
        evidence.append(
            f"node {failure.pinned_node[:_SHOWN_CHARACTERS]}, the only one for this pod, has been Ready, schedulable "
            "and tolerated for over a minute, yet no reason mentions it"
        )
    node = failure.pinned_node if unseen else ""
    if doubt:
        return Finding("inconclusive", "; ".join([*evidence, doubt]), node)
    return Finding("lost_node", "; ".join([*evidence, _zones(cluster), _version(cluster)]), node)


def _pinned_node_unseen(failure: Failure, missing: int) -> bool:
    if not failure.pinned_node_is_open:
        return False
    if all(reason.startswith(_UNMATCHED) for reason in failure.reasons):
        return True
    return missing > 0 and all(reason.startswith(_UNMATCHED + _CLOSED) for reason in failure.reasons)


def _doubt(failure: Failure, cluster: Cluster) -> str:
    """Explain why the sum of reasons proves nothing here; empty if it is proof."""
    since = f"{PINNED_ALONE_SINCE[0]}.{PINNED_ALONE_SINCE[1]}"
    proves_nothing = f"{since} and later do not give a reason for every node, so the sum proves nothing"
    if failure.oldest_minor >= PINNED_ALONE_SINCE[1]:
        return f"the text is of 1.{failure.oldest_minor} or later; {proves_nothing}"
    release = minor_version(cluster.version)
    if release is None:
        return "the version of the scheduler is unknown: no node reports a kubelet version"
    if release >= PINNED_ALONE_SINCE:
        return f"{_version(cluster)}; {proves_nothing}"
    if len(cluster.zones) <= 1:
        return "all nodes seen are in one zone, where the list of nodes cannot lose one"
    return ""


def judge_counted(nodes_total: int, existing: Counted) -> Finding | None:
    """Judge whether the scheduler's number of nodes is that of the cluster (rules: blind-spots)."""
    if not existing.highest and nodes_total:
        return Finding(
            "inconclusive", f"the scheduler counts {counted(nodes_total, 'node')}, but no Node was observed"
        )
    if nodes_total < existing.lowest:
        return Finding(
            "stale_view",
            f"the scheduler counts {counted(nodes_total, 'node')}, {counted(existing.lowest, 'has', 'have')} existed "
            "for over a minute: it lags behind, or only serves a part of them",
        )
    if nodes_total <= existing.highest:
        return None
    most = f"at most {counted(existing.highest, 'has', 'have')} existed since {existing.since} before"
    evidence = f"the scheduler counts {counted(nodes_total, 'node')}, {most}"
    if not existing.complete:
        return Finding("inconclusive", f"{evidence}; nodes that left before this log began are unknown")
    return Finding("ghost_nodes", evidence)


def judge_cache(
    nodes: int | None,
    names: Sequence[str] | None,
    missed: Sequence[str],
    existing: Counted,
    settled: AbstractSet[str],
    known: AbstractSet[str],
) -> list[Finding]:
    """Judge the scheduler's cache (rules: scheduler-cache): the nodes with a witness of their absence or presence,
    else their number.

    `nodes` is None for a dump that was cut. `settled` are the nodes that have existed for over a minute, `known` all
    of the last minute. A cache without fault proves nothing about the list that a faulty node tree makes of it.
    """
    if nodes is not None and not existing.highest:
        return [
            Finding("inconclusive", f"the scheduler's cache has {counted(nodes, 'node')}, but no Node was observed")
        ]
    findings = [Finding("stale_view", _MISSED, name) for name in sorted({*missed} & settled)]
    if nodes is None:
        return [*findings, Finding("inconclusive", _CUT)]
    if names is not None:
        lacking = sorted(settled - {*names, *missed})
        evidence = (
            f"the dump of the scheduler's cache has {counted(len(names), 'node')}, but not this one of over a minute"
        )
        findings += [Finding("stale_view", evidence, name) for name in lacking]
        verdict: Verdict = "ghost_nodes" if existing.complete else "inconclusive"
        evidence = "the dump of the scheduler's cache has it, and there has been no such node for a minute"
        findings += [Finding(verdict, evidence, name) for name in sorted({*names} - known)]
        return findings
    finding = judge_counted(nodes, existing)
    if finding is None:
        return findings
    return [*findings, finding._replace(evidence=f"scheduler_cache_size: {finding.evidence}")]


_CUT: Final = "the dump of the scheduler's cache ends before that of its queues, so it may lack nodes"
_MISSED: Final = "the scheduler's own comparison finds it missing in its cache"


def with_whole_cache(evidence: str, nodes: int, dumped_later: float | None) -> str:
    """Add to the evidence for a lost node that the cache has all nodes, so that the list made from it is at fault.

    `dumped_later` has the seconds until its dump, negative before; None if only the number of its nodes was seen.
    """
    at_fault = "the list that it makes of them is at fault"
    if dumped_later is None:
        return f"{evidence}; its cache has {counted(nodes, 'node')}, as many as exist: {at_fault}"
    when = f"{in_words(abs(dumped_later))} {'later' if dumped_later >= 0 else 'before'}"
    return f"{evidence}; its cache, dumped {when}, has all {counted(nodes, 'node')}: {at_fault}"


def judge_visited(
    visited: Sequence[str], total: int | None, settled: AbstractSet[str], cluster: Cluster
) -> Finding | None:
    """Judge whether a list in a scheduler's log has a node twice (rules: scheduler-log, node-tree).

    `total` is the length of its list. If all of it is named, a node that exists for over a minute and is not named is
    the one that was lost.
    """
    named = Counter(visited)
    twice = sorted(name for name, times in named.items() if times > 1)
    is_doubled = len(twice) == len(named)  # a collector wrote each line twice
    if not twice or total is None or len(visited) > total or is_doubled:
        return None
    missing = sorted(settled - {*visited}) if len(visited) == total else []
    shown = ", ".join(each[:_SHOWN_CHARACTERS] for each in twice[:_SHOWN_REASONS])
    evidence = f"the scheduler's log names {shown} twice in one attempt"
    if not settled:
        return Finding("inconclusive", f"{evidence}, but no Node was observed")
    evidence += f": its list visited {len(named)} of {counted(len(settled | named.keys()), 'node')}"
    verdict: Verdict = "lost_node" if _can_lose(cluster) else "inconclusive"
    return Finding(verdict, f"{evidence}; {_version(cluster)}", missing[0] if len(missing) == 1 else "")


def _can_lose(cluster: Cluster) -> bool:
    """Return False only for a version that is known to visit each node once."""
    try:
        return affected(cluster.version) != "none"
    except UnknownVersion:
        return True


class Placement(NamedTuple):
    """The placement of pods within the last `minutes`, without DaemonSet and static pods."""

    minutes: int
    others: int
    """Other nodes that were as open all that time."""
    others_with_pods: int
    """Number of these nodes that got pods."""
    ever_got_pods: bool
    daemon_pods_pending: int


def can_be_starved(cluster: Cluster) -> bool:
    """Tell whether the version keeps a wrong list until a change: only that starves nodes long (rules: node-tree)."""
    try:
        return affected(cluster.version) == "persistent" and len(cluster.zones) > 1
    except UnknownVersion:
        return False


def judge_placement(placement: Placement, cluster: Cluster) -> Finding | None:
    """Judge whether an open node gets no pods while most others do (rules: blind-spots), if it `can_be_starved`."""
    if not placement.others_with_pods or 2 * placement.others_with_pods < placement.others:
        return None
    evidence = (
        f"no pod was bound to it for {counted(placement.minutes, 'minute')} while {placement.others_with_pods} of "
        f"{counted(placement.others, 'other open node')} got pods"
    )
    if placement.daemon_pods_pending:
        stay = counted(placement.daemon_pods_pending, "DaemonSet pod for it stays", "DaemonSet pods for it stay")
        evidence += f"; {stay} Pending"
    if placement.ever_got_pods and not placement.daemon_pods_pending:
        return Finding("inconclusive", f"{evidence}; it had pods before and may be full")
    if not placement.ever_got_pods:
        evidence += "; it has had none since it was first seen"
    return Finding("lost_node", f"{evidence}; {_zones(cluster)}; {_version(cluster)}")


def _version(cluster: Cluster) -> str:
    source = f"newest kubelet is {cluster.version[:40]}, which stands in for the scheduler's version"
    try:
        known = affected(cluster.version)
    except UnknownVersion:
        return source
    if known == "none":
        return f"{source}; it is not known to lose nodes, but an extender that names no reasons looks the same"
    until = "for a cycle" if known == "transient" else "until the next node comes or goes"
    return f"{source}; it loses nodes of uneven zones {until}"


def _zones(cluster: Cluster) -> str:
    sizes = sorted(cluster.zones.values(), reverse=True)
    even = " (even now)" if sizes[0] == sizes[-1] else ""
    return f"zones of {', '.join(map(str, sizes[:10]))}{' ...' if len(sizes) > 10 else ''} nodes{even}"  # noqa: PLR2004 - enough to show


def _shown(reasons: Mapping[str, int]) -> str:
    first = [f"{count} {reason[:_SHOWN_CHARACTERS]}" for reason, count in sorted(reasons.items())[:_SHOWN_REASONS]]
    more = len(reasons) - _SHOWN_REASONS
    return ", ".join(first) + (f" and {counted(more, 'other reason')}" if more > 0 else "")


UNSCHEDULABLE: Final = "Unschedulable"
FAILED_SCHEDULING: Final = "FailedScheduling"


def condition_text(pod: Pod) -> str:
    """Return the text of the condition PodScheduled while no node was found; else the empty text."""
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled":
            failed = condition.status == "False" and condition.reason == UNSCHEDULABLE
            return condition.message if failed else ""
    return ""


def text_time(event: Event) -> datetime | None:
    """Return when an event's text was written: a series keeps the note of its first event (rules: event-counts)."""
    last = event.last_timestamp or event.deprecated_last_timestamp
    return (None if event.series else last) or event.event_time or last or event.metadata.creation_timestamp


def pinned_node(pod: Pod) -> str:
    """Return the only node to which a pod may go, by metadata.name (rules: blind-spots); empty without one."""
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    terms = affinity.required.node_selector_terms if affinity and affinity.required else None
    names: set[str] = set()
    for term in terms or ():
        values = [
            expression.values or []
            for expression in term.match_fields or ()
            if expression.key == "metadata.name" and expression.operator == "In"
        ]
        if len(values) != 1 or len(values[0]) != 1:
            return ""
        names.add(values[0][0])
    return names.pop() if len(names) == 1 else ""


NOT_PLACED: Final = ("DaemonSet", "Node")
"""Kinds of owners whose pods show nothing about the scheduler's choice of nodes."""


def is_of_daemon_set(pod: Pod) -> bool:
    """Tell whether a DaemonSet made the pod: it makes pods only for nodes that these match."""
    return any(owner.kind == "DaemonSet" for owner in pod.metadata.owner_references or ())
