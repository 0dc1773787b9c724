"""Reads attempts to place pods in a scheduler's log: results from -v=2 on, scores at -v=10 (rules: scheduler-log).
klog writes neither a year nor a zone. A scheduler's clock is assumed to show UTC unless its file shows another zone.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import islice
from typing import Final, NamedTuple

from msgspec.structs import replace

from ingest.files.texts.clocks import clock_of, year_at
from ingest.files.texts.klog import Line, Value, lines_with, parse
from ingest.files.texts.kubelet_log import ROUNDED, Pod, dated
from ingest.model.numbers import within_int64
from ingest.model.objects.event import Event, EventMetadata, EventSource, ObjectReference
from ingest.model.observation import EARLIEST, LATEST
from ingest.model.scheduler import Attempt

_OF_SCHEDULER: Final = re.compile(
    rb"(?:schedule_one|scheduling_queue|active_queue|backoff_queue|generic_scheduler|scheduler/scheduler)\.go:\d"
    rb"|[IWE]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ (?:factory\.go:\d+\] \"?Unable to schedule |scheduler\.go:\d+\] pod )"
)
"""Source files that only a scheduler has."""
_PROGRAMS: Final = ("scheduler", "k3s", "rke2", "microk8s")
_BEGUN: Final = "Attempting to schedule pod"
_NO_FIT: Final = "Unable to schedule pod; no fit; waiting"
_NO_NODES: Final = "Unable to schedule pod; no nodes are registered to the cluster; waiting"
_BOUND: Final = "Successfully bound pod to node"
_SCORED: Final = "Plugin scored node for pod"
_TOTAL: Final = "Calculated node's final score for pod"
_TRIED: Final = "Check the potential node for preemption"
_REFUSALS: Final = {
    "node had untolerated taints": "TaintToleration",
    "Node doesn't have required topology label for spread constraint": "PodTopologySpread",
    "Node failed spreadConstraint: matchNum + selfMatchNum - minMatchNum > maxSkew": "PodTopologySpread",
    "Won't schedule pod onto node due to volume (mismatch on label key)": "VolumeZone",
}
"""Lines of plugins that filter out a node; most plugins log nothing."""
_SAID: Final = frozenset({_BEGUN, _NO_FIT, _NO_NODES, _BOUND, _SCORED, _TOTAL, _TRIED, *_REFUSALS})
_POD_NAME: Final = r"[a-z0-9-]{1,63}/[a-z0-9.-]{1,253}"
_POD: Final = rf"(?P<pod>{_POD_NAME})"
_NODE: Final = r'"?(?P<node>[a-z0-9.-]{1,253})"?'
_OLD: Final = (
    (_BEGUN, re.compile(rf"Attempting to schedule pod: {_POD}")),
    (
        _NO_FIT,
        re.compile(
            rf"Unable to schedule (?P<pod>{_POD_NAME.replace('/', '[/ ]')}): no fit: (?P<err>0/.+); waiting",
            re.DOTALL,
        ),
    ),
    (_NO_NODES, re.compile(rf"Unable to schedule {_POD}: no nodes are registered to the cluster; waiting")),
    (
        _BOUND,
        re.compile(
            rf"pod {_POD} is bound successfully on node {_NODE}, (?P<evaluatedNodes>\d{{1,9}}) nodes evaluated, "
            r"(?P<feasibleNodes>\d{1,9}) nodes were found feasible"
        ),
    ),
    (_TRIED, re.compile(rf"Node {_NODE} is a potential node for preemption\.")),
)
"""Sentences up to 1.18. The last one does not name the pod, and older schedulers write no slash in its name."""
_NEEDLES: Final = re.compile(
    rb"Attempting to schedule pod|Unable to schedule |Successfully bound pod to node| is bound successfully on node "
    rb"|Plugin scored node for pod|Calculated node's final score for pod|potential node for preemption"
    rb"|" + "|".join(map(re.escape, _REFUSALS)).encode()
)
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}")
_IS_POD: Final = re.compile(_POD_NAME)
_NAME: Final = re.compile(r"[\w./-]{1,253}")
_MOST_LINES: Final = 1_000_000
_MOST_OPEN: Final = 1000
"""Maximum number of attempts without a result that are remembered."""
_MOST_NODES: Final = 500
_MOST_PLUGINS: Final = 64
_AHEAD: Final = timedelta(days=1)


class LoggedAttempt(NamedTuple):
    attempt: Attempt
    line: Line
    year: int | None


class SchedulerLog(NamedTuple):
    attempts: list[LoggedAttempt]
    offset: timedelta


class _Open(NamedTuple):
    scores: dict[str, int]
    plugins: dict[str, dict[str, int]]
    visited: list[str]
    refused: dict[str, str]


def is_schedulers_log(data: bytes) -> bool:
    """Tell whether text is a scheduler's log, by the source files in its lines."""
    return _OF_SCHEDULER.search(data) is not None


def read_attempts(data: bytes) -> SchedulerLog:
    """Read the attempts that have a result."""
    years, offset = clock_of(data)
    attempts: list[LoggedAttempt] = []
    begun: dict[str, _Open] = {}
    pod = ""
    for start, end in islice(lines_with(_NEEDLES, data), _MOST_LINES):
        line = parse(data[start:end], _PROGRAMS)
        if line is None or not (line.at or line.local):
            continue
        said, values = _in_later_words(line)
        named = _text(values.get("pod"))
        pod = named if _IS_POD.fullmatch(named) else "" if named else pod
        if not pod:
            continue
        if said in {_NO_FIT, _NO_NODES, _BOUND}:
            attempt = _result(said, values, pod, begun.pop(pod, None))
            if attempt.text or attempt.node:
                attempts.append(LoggedAttempt(attempt, line, year_at(years, end)))
        elif said in _SAID:
            if said == _BEGUN or pod not in begun:
                begun.pop(pod, None)
                begun[pod] = _Open({}, {}, [], {})
            _note(said, values, begun[pod])
            if len(begun) > _MOST_OPEN:
                del begun[next(iter(begun))]
    return SchedulerLog(attempts, offset or timedelta())


def _in_later_words(line: Line) -> tuple[str, Mapping[str, Value]]:
    for said, pattern in _OLD if line.said not in _SAID else ():
        if found := pattern.match(line.said):
            values = found.groupdict()
            return said, values | {"pod": values["pod"].replace(" ", "/")} if values.get("pod") else values
    return line.said, line.values


def _note(said: str, values: Mapping[str, Value], begun: _Open) -> None:
    """Add the content of a line about a node."""
    score = _text(values.get("score"))
    node, plugin = (_name(values.get(name)) for name in ("node", "plugin"))
    is_known = node in begun.plugins or len(begun.plugins) < _MOST_NODES
    if said == _SCORED and is_known and _NUMBER.fullmatch(score):
        of_node = begun.plugins.setdefault(node, {})
        if len(of_node) < _MOST_PLUGINS:
            of_node[plugin] = within_int64(int(score))
    elif said in _REFUSALS and node and len(begun.refused) < _MOST_NODES:
        begun.refused[node] = _REFUSALS[said]
    elif said in {_TOTAL, _TRIED} and len(begun.visited) < _MOST_NODES and node:
        begun.visited.append(node)
        if said == _TOTAL and _NUMBER.fullmatch(score):
            begun.scores[node] = within_int64(int(score))


def _result(said: str, values: Mapping[str, Value], pod: str, begun: _Open | None) -> Attempt:
    text = {_NO_FIT: _text(values.get("err")), _NO_NODES: "no nodes available to schedule pods"}.get(said, "")
    begun = begun or _Open({}, {}, [], {})
    return Attempt(
        pod=pod,
        text=text,
        node=_name(values.get("node")) if said == _BOUND else "",
        evaluated=_number(values.get("evaluatedNodes")),
        feasible=_number(values.get("feasibleNodes")),
        scores=begun.scores,
        plugins=begun.plugins,
        visited=tuple(begun.visited),
        refused=begun.refused,
    )


def _text(value: Value | None) -> str:
    return value if isinstance(value, str) else ""


def _name(value: Value | None) -> str:
    text = _text(value)
    return text if _NAME.fullmatch(text) else ""


def _number(value: Value | None) -> int | None:
    text = _text(value)
    return within_int64(int(text)) if _NUMBER.fullmatch(text) and not text.startswith("-") else None


def with_times(log: SchedulerLog, newest: datetime, pods: Mapping[str, Pod]) -> Iterator[tuple[datetime, Attempt]]:
    """Yield the attempts with their times, and the UIDs of those of the dump's `pods` that existed then.

    An unknown year is the one nearest to `newest`, the newest time of the dump.
    """
    for attempt, line, year in log.attempts:
        at = line.at or dated(line.local, year, newest, newest + _AHEAD, log.offset)
        if at is not None and EARLIEST <= at < LATEST:
            pod = pods.get(attempt.pod)
            uid = pod.uid if pod is not None and pod.created <= at + ROUNDED else ""
            yield at, replace(attempt, at=at, uid=uid)


def scheduler_events(
    attempts: Iterable[tuple[datetime, Attempt]], known: Container[str], *, is_dated: bool
) -> Iterator[Event]:
    """Yield the Events that a scheduler writes with these lines, about pods that are not `known` by `namespace/name`.

    There is one for each pod and text, and one for the placement of a pod that failed before. Without `is_dated`,
    their year is the latest possible.
    """
    failed = dict[tuple[str, str], tuple[datetime, datetime, int]]()
    placed = dict[str, tuple[datetime, str]]()
    for at, attempt in attempts:
        if attempt.pod in known:
            continue
        if attempt.text:
            key = attempt.pod, attempt.text
            first, last, count = failed.get(key, (at, at, 0))
            failed[key] = min(first, at), max(last, at), count + 1
        else:
            placed[attempt.pod] = at, attempt.node
    for (pod, text), (first, last, count) in failed.items():
        event = _event(pod, ("Warning", "FailedScheduling", text), first, last, count)
        yield event if is_dated else replace(event, latest=last)
    for pod in sorted({pod for pod, _ in failed} & placed.keys()):
        at, node = placed[pod]
        event = _event(pod, ("Normal", "Scheduled", f"Successfully assigned {pod} to {node}"), at, at, 1)
        yield event if is_dated else replace(event, latest=at)


def _event(pod: str, words: tuple[str, str, str], first: datetime, last: datetime, count: int) -> Event:
    namespace, _, name = pod.partition("/")
    digest = sha256(words[2].encode(errors="replace")).hexdigest()[:16]
    return Event(
        metadata=EventMetadata(name=f"{name}.{words[1]}.{digest}", namespace=namespace),
        type=words[0],
        reason=words[1],
        message=words[2],
        involved_object=ObjectReference(kind="Pod", namespace=namespace, name=name, uid=pod),
        source=EventSource(component="default-scheduler"),
        first_timestamp=first,
        last_timestamp=last,
        count=count,
    )
