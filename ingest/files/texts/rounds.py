"""Finds the eviction manager's rounds in a kubelet's log, which show the scarce resource (rules: kubelet-log)."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from typing import Final

from ingest.files.texts.klog import Line, Value
from ingest.files.texts.sentences import pods_of_sentence
from ingest.resources.kubelet_log import LOW_ON_SOMETHING, OWN_LIMIT, SAID, SUCCESS, TIMED_OUT, WAITING

_ROUND: Final = timedelta(seconds=60)
"""Duration of a round of the eviction manager, including the wait for its pod."""
_YEAR: Final = timedelta(days=366)
"""The length of the leap year in which klog's times are placed, because klog writes no year."""


def in_order(lines: Sequence[tuple[Line, int]]) -> list[tuple[Line, int]]:
    """Return the lines, oldest first, each with its index, because log stores answer newest first.

    If a line lacks a time, the order stays, or is reversed if most lines are older than the line above.
    """
    ages = [_after(line, above) for (above, _), (line, _) in pairwise(lines) if line.host == above.host]
    is_newest_first = sum(each < timedelta() for each in ages) > sum(each > timedelta() for each in ages)
    ordered = list(reversed(lines) if is_newest_first else lines)
    stamps = {place: line.at for line, place in lines if line.at is not None}
    return sorted(ordered, key=lambda each: stamps[each[1]]) if len(stamps) == len(lines) else ordered


def _after(line: Line, above: Line) -> timedelta:
    """Return how long after another line a line was written, by klog's own clock if both have it."""
    return next(_times_after(line, above), timedelta())


def _times_after(line: Line, above: Line) -> Iterator[timedelta]:
    """Yield the time between two lines by each clock that both have. klog writes no year, so a difference of half a
    year wraps around.
    """
    if line.local is not None and above.local is not None:
        after = line.local - above.local
        yield after if abs(after) < _YEAR / 2 else after + (_YEAR if after < timedelta() else -_YEAR)
    if line.at is not None and above.at is not None:
        yield line.at - above.at


def with_resources(lines: Sequence[Line]) -> list[Line]:
    """Return the lines, each eviction with the resource of the round before it: one round evicts one pod.

    A filtered log may lack the line that names the resource. Then the line that ranks the pod shows that the node was
    low on something. Without it, the message is empty, because the reason is unknown: a node under pressure also
    evicts pods for their own limits. In a log that names resources and started long before, the reason was the pod's
    own limit.
    """
    completed: list[Line] = []
    is_whole = any(SAID[each.said].kind == "must_evict" for each in lines)
    low: tuple[Value, Line] | None = None
    ranked: Line | None = None
    for line in lines:
        kind = SAID[line.said].kind
        if kind == "must_evict" or (kind == "threshold_met" and not is_whole):
            low = (line.values.get("resourceName", ""), line)
        elif kind in {"reclaimed", "none_evicted", "kubelet_start"}:
            low = ranked = None
        elif kind == "ranked":
            ranked = line
        elif kind == "evicted" and "message" not in line.values:
            if low is not None and _is_near(line, low[1]):
                values: dict[str, Value] = {"resourceName": low[0]}
            elif _is_ranked(line, ranked):
                values = {"message": LOW_ON_SOMETHING}
            else:
                values = {"message": OWN_LIMIT if is_whole and not _is_near(line, lines[0]) else ""}
            completed.append(line._replace(values={**line.values, **values}))
            low = ranked = None
            continue
        completed.append(line)
    return completed


def with_refusals(lines: Sequence[Line]) -> list[Line]:
    """Return the lines with an Event about each refusal in current words; old kubelets used those of evictions."""
    refused, completed = dict[str, Line](), list[Line]()
    for line in lines:
        kind, pod = SAID[line.said].kind, str(line.values.get("pod") or line.values.get("object"))
        if kind == "refused":
            refused[pod] = line
        is_refusal = kind == "event" and line.values.get("message") == LOW_ON_SOMETHING and pod in refused
        if is_refusal and _is_near(line, refused[pod]):
            conditions = " ".join(refused[pod].values.get("nodeCondition", []))
            said: dict[str, Value] = {"message": f"The node had condition: [{conditions}]. "}
            completed.append(line._replace(values={**line.values, **said}))
        else:
            completed.append(line)
    return completed


def each_pod(line: Line, evicted: dict[tuple[str, str], Line]) -> Iterator[Line]:
    """Yield a line, then an eviction of each pod in it that is not yet known.

    A line about waiting for pods is dropped, because their evictions replace it. `evicted` has the last eviction of
    each pod by host and `namespace/name`; it is changed. A round for pressure evicts one pod, so several pods were
    evicted for their own limits, also those of previous lines.
    """
    if line.said != WAITING:
        yield line
    if line.said in {WAITING, TIMED_OUT}:
        pods = line.values.get("pods", [])
        names = pods_of_sentence(pods) if isinstance(pods, str) else pods
        why: dict[str, Value] = {"message": OWN_LIMIT} if len(names) > 1 else {}
        for name in names:
            before = evicted.get((line.host, name))
            if before is None or not _is_near(line, before):
                yield line._replace(said=SUCCESS, values={"pod": name, **why})
            else:
                before.values.update(why | before.values)
    elif SAID[line.said].kind == "evicted" and isinstance(pod := line.values.get("pod"), str):
        evicted[line.host, pod] = line


def _is_ranked(line: Line, ranked: Line | None) -> bool:
    pods = ranked.values.get("pods", []) if ranked is not None else []
    return ranked is not None and line.values.get("pod") in pods and _is_near(line, ranked)


def _is_near(line: Line, before: Line) -> bool:
    return any(timedelta() <= each <= _ROUND for each in _times_after(line, before))
