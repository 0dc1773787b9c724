"""Decides when a pod ended, by the facts that remain (rules: how-pods-end); nothing else decides it.

An Event has the time; else the last container's end has it, else the condition that turned with it. A start is only
the lower bound of an end, and the time of reading is the upper one.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ingest.model.objects.event import Event, event_time
from ingest.model.objects.pod import Pod

_READY = ("ContainersReady", "Ready")
_SECOND = timedelta(seconds=1)
"""The API's times have no fractions."""
_ONCE = ("Never", "OnFailure")
"""Policies under which a container that exits with 0 is not restarted."""
_LONGEST_GRACE_SECONDS = 7 * 86_400
"""If the grace period is longer, or negative, the deletion timestamp itself counts as the time of the request."""


class When(NamedTuple):
    at: datetime
    """The best known time; if only bounds are known, one of them."""
    is_known: bool = True
    earliest: datetime | None = None
    """Bounds if the time is not known."""
    latest: datetime | None = None


def merge_witnesses(first: When, second: When) -> When:
    """Merge two witnesses of an end: the known time, else the overlap of the bounds, else the first's."""
    if first.is_known or second.is_known:
        return first if first.is_known else second
    earliest = max((each for each in (first.earliest, second.earliest) if each), default=None)
    latest = min((each for each in (first.latest, second.latest) if each), default=None)
    if earliest and latest and earliest > latest:
        return first
    at = min(max(first.at, earliest or first.at), latest or first.at)
    return When(at, is_known=False, earliest=earliest, latest=latest)


def event_when(event: Event, read_at: datetime) -> When:
    """Return when an Event last occurred. Pasted text has an age, and a log may lack the year: then bounds."""
    at = event_time(event)
    if at is None:
        return When(read_at, is_known=False, earliest=event.earliest, latest=event.latest or read_at)
    return When(at, event.earliest is None and event.latest is None, event.earliest, event.latest)


def ended_by_status(pod: Pod, read_at: datetime, *, starts_with_it: bool, is_rejection: bool = False) -> When:
    """Return when an ended pod ended, without an Event.

    A rejected pod that never ran has its start from the rejection. If nobody saw it before, its start is the better
    guess; any other pod ended nearer to when it was read. A rejection that was seen to happen has its start as a
    time.
    """
    at = max(_ends_of_containers(pod), default=None) or _unready_since(pod)
    if at is not None and at <= read_at:
        return When(read_at, is_known=False, earliest=at, latest=read_at) if is_refused_again(pod) else When(at)
    started = pod.status.start_time or pod.metadata.creation_timestamp
    if started is None or started > read_at:
        return When(read_at, is_known=False, latest=read_at)
    if is_rejection and not starts_with_it and pod.status.start_time and read_at < started + _SECOND:
        return When(started)  # both bounds are in one second, which is the precision of an Event
    if started == read_at:  # nothing in its dump is newer: the time of reading, which bounds an end, is unknown
        return When(started, is_known=False, earliest=started)
    guess = started if starts_with_it and pod.status.start_time else read_at
    return When(guess, is_known=False, earliest=started, latest=read_at)


def is_refused_again(pod: Pod) -> bool:
    """Tell whether a rejected pod had completed before: a kubelet that starts can reject it once more."""
    ended = [each.state.terminated if each.state else None for each in pod.status.container_statuses or ()]
    return (
        pod.status.phase == "Failed"
        and pod.spec.restart_policy in _ONCE
        and bool(ended)
        and all(each is not None and each.exit_code == 0 for each in ended)
    )


def deletion_asked_at(pod: Pod) -> datetime | None:
    """Return when deletion was requested: the grace period before the deletion timestamp; None if it was not."""
    gone_by, grace = pod.metadata.deletion_timestamp, pod.metadata.deletion_grace_period_seconds
    if gone_by is None or grace is None or not 0 <= grace <= _LONGEST_GRACE_SECONDS:
        return gone_by
    return gone_by - timedelta(seconds=grace)


def _ends_of_containers(pod: Pod) -> Iterator[datetime]:
    for each in pod.status.container_statuses or ():
        ended = each.state and each.state.terminated
        if ended and ended.finished_at is not None and ended.finished_at.year > 1:
            yield ended.finished_at


def _unready_since(pod: Pod) -> datetime | None:
    """Return when it was last ready; None if never, because the condition is then as old as its start."""
    started = pod.status.start_time or pod.metadata.creation_timestamp
    since = [c.last_transition_time for c in pod.status.conditions or () if c.type in _READY and c.status == "False"]
    known = [each for each in since if each is not None and (started is None or each > started + _SECOND)]
    return max(known, default=None)


DRAINERS: Final = {
    "karpenter.sh/disrupted": "karpenter",
    "karpenter.sh/disruption": "karpenter",
    "ToBeDeletedByClusterAutoscaler": "cluster-autoscaler",
}
"""Programs by the key of their taint."""


def drainer(taints: Iterable[str]) -> str:
    """Return the drainer by taints as `key`, or `key=value:effect`; empty if the node is not drained."""
    return next((DRAINERS[key] for taint in taints if (key := taint.partition("=")[0]) in DRAINERS), "")
