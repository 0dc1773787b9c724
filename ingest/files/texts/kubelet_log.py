"""Reads a kubelet's log lines about evictions, image GC and admission, with time, node and pod (rules: kubelet-log).
klog writes neither a year nor a zone. The zone is known from the file (the journal, times in its lines), else from
Events of the dump with the same reason and object. The year is known from the file, else from the dump's newest time.
A time that is still unknown becomes bounds.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from ingest.files.texts.clocks import EAST, WEST, clock_of, year_at
from ingest.files.texts.klog import Line, Value, lines_with, parse
from ingest.files.texts.rounds import each_pod, in_order, with_refusals, with_resources
from ingest.files.texts.sentences import BEGINNINGS
from ingest.model.objects.event import Event
from ingest.model.observation import EARLIEST, LATEST
from ingest.resources import kubelet_log as resource
from ingest.resources.kubelet_log import SAID, VALUES

_FILES: Final = (
    rb"eviction_manager|image_gc_manager|kubelet|kubelet_[a-z_]+|kuberuntime_[a-z]+|pod_workers|pod_startup_latency_tracker"
    rb"|pod_container_deletor|container_manager_linux|topology_manager|cpu_manager|memory_manager|status_manager"
    rb"|kubelet_node_status|preemption|desired_state_of_world_populator"
)
_OF_KUBELET: Final = re.compile(
    rb"(?:^|[ /\"])(?:" + _FILES + rb')\.go:\d+(?:\] |")'
    rb"|^[^\n]{0,200} kube(?:let|nswrapper)(?:\[\d{1,10}\])?: "
    rb'|"(?:SYSLOG_IDENTIFIER|_COMM)" ?: ?"kube(?:let|nswrapper)"',
    re.MULTILINE,
)
"""Source files that only a kubelet has, or its name in a journal."""
_FORM: Final = re.compile(
    rb"^(?:[^\n\"{]{0,300})?[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [\w.-]+:\d+\]"
    rb'|^\S{20,40}[ \t]+\{[^}\n]{0,1000}\}[ \t]+(?:[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} |\{"ts":\d)'
    rb'|^[^\n{]{0,200}\{"ts":\d[\d.]*,"caller":"|^\{[^\n]{0,4000}"__REALTIME_TIMESTAMP" ?:',
    re.MULTILINE,
)
_NEEDLES: Final = re.compile(
    "|".join(re.escape(each) for each in sorted((*SAID, *BEGINNINGS), reverse=True)).encode()
)
_UIDS: Final = tuple(
    re.compile(each)
    for each in (
        rb'pod="(?P<ns>[^"/\n]{1,63})/(?P<pod>[^"\n]{1,253})"[^\n]{0,300}? podUID="?(?P<uid>[0-9a-f-]{32,36})',
        rb'podUID="?(?P<uid>[0-9a-f-]{32,36})"? pod="(?P<ns>[^"/\n]{1,63})/(?P<pod>[^"\n]{1,253})"',
        rb'podUID="?(?P<uid>[0-9a-f-]{32,36})"? podNamespace="(?P<ns>[^"\n]{1,63})" podName="(?P<pod>[^"\n]{1,253})"',
        rb'pod="(?P<ns>[^"/\n]{1,63})/(?P<pod>[^"\n]{1,253})" event=\{"?(?:ID|Id)"?:"?(?P<uid>[0-9a-f-]{32,36})',
        rb'"pod":\{"name":"(?P<pod>[^"\n]{1,253})","namespace":"(?P<ns>[^"\n]{1,63})"\},"podUID":"(?P<uid>[0-9a-f-]{32,36})',
        rb'"podUID":"(?P<uid>[0-9a-f-]{32,36})","pod":\{"name":"(?P<pod>[^"\n]{1,253})","namespace":"(?P<ns>[^"\n]{1,63})"\}',
    )
)
_STARTS: Final = re.compile(
    rb"[Tt]opology [Aa]dmit [Hh]andler|SyncLoop ADD|[Nn]o sandbox for pod|No ready sandbox|ContainerStarted"
    rb"|VerifyControllerAttachedVolume|\bMountVolume|Observed pod startup duration"
)
"""Matches a kubelet's log text about a pod that it starts."""
_REST: Final = 600
"""Distance from a pod's UID, in bytes, within which its line may say that the pod starts."""
_REGISTERED: Final = re.compile(
    rb'(?:registered node\\?"[^\n]{0,40}?node\\?"?[=:](?:\{"name":)?\\?"'
    rb"|(?:kubelet_node_status|kubelet)\.go:\d+\] "
    rb"(?:Successfully registered node |Recording \w+ event message for node )"
    rb'|"Recording event message for node" node="'
    rb'|msg="Running kubelet [^"\n]{0,8000}?--hostname-override=)([a-z0-9][a-z0-9.-]{0,252})'
)
"""The name under which a kubelet registers its node and reports status, or with which K3s starts it."""
_MACHINE: Final = re.compile(rb"^Running on machine: ([A-Za-z0-9][\w.-]{0,252})\s*$", re.MULTILINE)
"""The second line of a log file that klog writes itself."""
_ZONE_STEP: Final = timedelta(minutes=15)
_SAME: Final = timedelta(seconds=5)
"""Tolerance for an Event, which has whole seconds and is written a little later than the line."""
_QUARTER: Final = int(_ZONE_STEP.total_seconds())
_NEAR: Final = int(_SAME.total_seconds()) + 1
ROUNDED: Final = timedelta(seconds=1)
"""Tolerance for a pod's creation time, which has whole seconds."""
_NEWER: Final = timedelta(days=1)
"""A log may be saved this much later than the objects of its dump."""
_MOST_PAIRS: Final = 1_000_000
"""Maximum number of pairs of a line and an Event's time that are compared to find zones of logs."""


class DumpEvent(NamedTuple):
    """An Event of the dump, as compared with log lines."""

    reason: str
    about: str
    """Kind and name of its object; a pod's with the namespace."""
    first: datetime
    last: datetime
    count: int  # type: ignore[assignment]  # tuple.count is not used


class Events(NamedTuple):
    """Events of a dump by reason and object."""

    same: Mapping[tuple[str, str], Sequence[DumpEvent]]
    times: Mapping[tuple[str, str], Mapping[int, Iterable[datetime]]]
    """Their first and last times, by the second within a quarter of an hour, which is the same in every zone."""
    pairs: Iterator[object]
    """Comparisons left: each compared pair takes one, so that many similar events cannot take endless time."""


class Pod(NamedTuple):
    """A pod of the dump; `EARLIEST` means that its creation time is unknown."""

    uid: str
    created: datetime
    evicted: str = ""
    """Its status message if it was evicted, else empty."""


class KnownLine(NamedTuple):
    """A log line with a known text."""

    line: Line
    uid: str
    """UID of its pod, if the log has it."""
    year: int | None
    """The year on the node's wall clock, if the file has it."""


class Log(NamedTuple):
    lines: Sequence[KnownLine]
    node: str
    """The name under which the kubelet registered its node; empty if the log lacks it."""
    host: str
    offset: timedelta | None
    """Difference between the node's wall clock and UTC."""
    alone: Sequence[Line] = ()
    """The known lines, not yet completed by other lines."""

    @property
    def newest(self) -> datetime | None:
        """Return the newest time that is known without the rest of the dump."""
        known = (each.line.at for each in self.lines if each.line.at is not None)
        return max((at for at in known if EARLIEST <= at < LATEST), default=None)


class DatedLine(NamedTuple):
    at: datetime
    line: resource.Line


def is_kubelets_log(data: bytes) -> bool:
    """Tell whether text is a kubelet's log, by its form and by the source files in its lines."""
    return _FORM.search(data[: 1 << 18]) is not None and _OF_KUBELET.search(data) is not None


def without_lines(data: bytes) -> str:
    """Describe a kubelet's log without known lines."""
    is_strange = any(parse(data[start:end]) is None for start, end in lines_with(_NEEDLES, data))
    if is_strange:
        return "a kubelet's log in an unknown form"
    return "kubelet's log without evictions, image GC and refusals"


def read_log(data: bytes) -> Log:
    """Read the known lines of a kubelet's log; other lines are skipped."""
    uids, (years, offset) = _uids(data), clock_of(data)
    lines: list[KnownLine] = []
    parsed = ((parse(data[start:end]), end) for start, end in lines_with(_NEEDLES, data))
    found = [
        (line, end) for line, end in parsed if line is not None and line.said in SAID and (line.at or line.local)
    ]
    evicted: dict[tuple[str, str], Line] = {}
    for each, end in in_order(found):
        for line in each_pod(each, evicted):
            own = line.values.get("podUID")
            pod = line.values.get("pod") or line.values.get("object")
            uid = own if isinstance(own, str) and own else _uid_at(data, uids, pod, end)
            lines.append(KnownLine(line, uid, year_at(years, end)))
    node = registered[1].decode() if (registered := _REGISTERED.search(data)) else ""
    offset = offset if offset is not None else _offset_of_lines(each.line for each in lines)
    lines = _of_machines(data, lines)
    host = next((each.line.host for each in lines if each.line.host), "")
    return Log(_with_resources(lines), node, host, offset, [line for line, _ in found])


def _of_machines(data: bytes, lines: list[KnownLine]) -> list[KnownLine]:
    """Give lines without a host the only machine in the file."""
    machines = {found[1].decode() for found in _MACHINE.finditer(data)}
    if len(machines) != 1:
        return lines
    (host,) = machines
    return [each if each.line.host else each._replace(line=each.line._replace(host=host)) for each in lines]


def _with_resources(lines: Sequence[KnownLine]) -> list[KnownLine]:
    """Give lines about an eviction the resource that the same kubelet named before."""
    by_host: defaultdict[str, list[int]] = defaultdict(list)
    for number, each in enumerate(lines):
        by_host[each.line.host].append(number)
    mended = list(lines)
    for numbers in by_host.values():
        for number, line in zip(
            numbers, with_resources(with_refusals([lines[n].line for n in numbers])), strict=True
        ):
            mended[number] = lines[number]._replace(line=line)
    return mended


def _uids(data: bytes) -> Mapping[str, list[tuple[int, str]]]:
    """Return the places at which the log names UIDs of pods."""
    found: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for pattern in _UIDS:
        for each in pattern.finditer(data):
            name = b"/".join((each["ns"], each["pod"])).decode(errors="replace")
            found[name].append((each.start(), each["uid"].decode()))
    return {name: sorted(each) for name, each in found.items()}


def _uid_at(data: bytes, uids: Mapping[str, list[tuple[int, str]]], pod: Value | None, end: int) -> str:
    """Return the UID last named in or before a line, else the next one, unless a new pod starts there."""
    known = uids.get(pod, []) if isinstance(pod, str) else []
    if not known:
        return ""
    if before := bisect_right(known, (end, "")):
        return known[before - 1][1]
    at, uid = known[0]
    start, last = data.rfind(b"\n", max(at - _REST, 0), at) + 1, data.find(b"\n", at, at + _REST)
    is_new = _STARTS.search(data, max(start, at - _REST), last if last >= 0 else at + _REST)
    return "" if is_new else uid


def _offset_of_lines(lines: Iterable[Line]) -> timedelta | None:
    """Return the zone according to lines with two times: klog's and another one with a zone."""
    seen = Counter(
        offset
        for line in lines
        if line.at is not None and line.local is not None and (offset := _offset(line.local, line.at)) is not None
    )
    return seen.most_common(1)[0][0] if seen else None


def _offset(local: datetime, at: datetime) -> timedelta | None:
    """Return the zone in which the wall clock showed `local` at a time; None if no zone on earth fits."""
    for year in (at.year, at.year - 1, at.year + 1):
        if (dated := _in_year(local, year)) is None:
            continue
        difference = dated.replace(tzinfo=UTC) - at
        offset = round(difference / _ZONE_STEP) * _ZONE_STEP
        if -WEST <= offset <= EAST and abs(difference - offset) <= _SAME:
            return offset
    return None


def _in_year(local: datetime, year: int) -> datetime | None:
    try:
        return local.replace(year=year)
    except ValueError:
        return None  # 29 February of another year


def object_key(event: Event) -> str:
    """Return a key of an Event's object for comparisons."""
    about = event.involved_object or event.regarding
    return "" if about is None else f"{about.kind}/{about.namespace if about.kind == 'Pod' else ''}/{about.name}"


def grouped(events: Iterable[DumpEvent]) -> Events:
    """Index Events for `placed`."""
    same: defaultdict[tuple[str, str], list[DumpEvent]] = defaultdict(list)
    times: defaultdict[tuple[str, str], defaultdict[int, dict[datetime, None]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for each in events:
        same[each.reason, each.about].append(each)
        for at in (each.first, each.last):
            times[each.reason, each.about][_second(at)][at] = None
    return Events(dict(same), dict(times), iter(range(_MOST_PAIRS)))


def placed(
    log: Log,
    node: str,
    newest: datetime,
    events: Events,
    uids: Mapping[str, Pod],
    *,
    is_dated: bool,
    saved_at: datetime = EARLIEST,
) -> Iterator[DatedLine]:
    """Yield the lines of a log with their times.

    `newest` is the newest time that the dump has; without `is_dated` it is only the file's own age, which is always
    `saved_at`. `uids` are those of the dump's pods by `namespace/name`, without names that several had.
    """
    offset = log.offset if log.offset is not None else _offset_by_events(log, node, events)
    limit = newest + _NEWER + (EAST if offset is None else timedelta())
    lines = []
    for line, uid, year in log.lines:
        at = line.at or dated(line.local, year, newest, max(limit, saved_at + (limit - newest)), offset)
        if at is None or not EARLIEST <= at < LATEST:
            continue
        pod = line.values.get("pod") or line.values.get("object")
        entry = resource.Line(
            said=line.said, at=at, values={name: each for name, each in line.values.items() if name in VALUES}
        )
        if line.at is None:
            entry = _bounded(entry, at, offset, is_dated=year is not None or (is_dated and at <= limit))
        if isinstance(pod, str):
            of_dump = uids.get(pod)
            is_it = of_dump is not None and of_dump.created <= (entry.latest or at) + ROUNDED
            known = uid or (of_dump.uid if of_dump is not None and is_it else "")
            entry = msgspec.structs.replace(entry, uid=known or (pod if "/" in pod else ""))
            if of_dump is not None and of_dump.evicted and of_dump.uid == known and entry.values.get("message") == "":
                entry = msgspec.structs.replace(entry, values={**entry.values, "message": of_dump.evicted})
        lines.append(DatedLine(at, entry))
    yield from _mark_reported(lines, node, events)


def dated(
    local: datetime | None, year: int | None, newest: datetime, limit: datetime, offset: timedelta | None
) -> datetime | None:
    """Return when a clock showed this time: in its year, else as near to `newest` as possible, and not after
    `limit`.
    """
    if local is None:
        return None
    years = [year] if year is not None else range(newest.year - 8, newest.year + 2)
    dated = (_in_year(local, each) for each in years)
    found = (each.replace(tzinfo=UTC) - (offset or timedelta()) for each in dated if each is not None)
    return min((at for at in found if year is not None or at <= limit), key=lambda at: abs(at - newest), default=None)


def _bounded(line: resource.Line, at: datetime, offset: timedelta | None, *, is_dated: bool) -> resource.Line:
    if offset is not None and is_dated:
        return line
    latest = at if offset is not None else at + WEST
    earliest = None if not is_dated else at - EAST
    return msgspec.structs.replace(line, earliest=earliest, latest=latest)


def _second(at: datetime) -> int:
    return int(at.replace(tzinfo=UTC).timestamp()) % _QUARTER


def _offset_by_events(log: Log, node: str, events: Events) -> timedelta | None:
    """Return the zone in which most lines and Events about the same agree; None if two zones fit equally well."""
    votes: Counter[timedelta] = Counter()
    for line, uid, _ in log.lines:
        same = resource.event_of(resource.Line(line.said, line.values, uid=uid), node, EARLIEST)
        if same is None or line.local is None:
            continue
        times, second = events.times.get((same.reason, object_key(same)), {}), _second(line.local)
        near = (at for each in range(-_NEAR, _NEAR + 1) for at in times.get((second + each) % _QUARTER, ()))
        pairs = zip(near, events.pairs, strict=False)
        votes.update({each for at, _ in pairs if (each := _offset(line.local, at)) is not None})
    best = votes.most_common(2)
    return best[0][0] if best and (len(best) == 1 or best[0][1] > best[1][1]) else None


def _mark_reported(lines: list[DatedLine], node: str, events: Events) -> Iterator[DatedLine]:
    """Yield all lines; an Event with a count of N marks the N lines nearest to its first or last time as reported."""
    by_about: defaultdict[tuple[str, str], list[tuple[datetime, int]]] = defaultdict(list)
    for number, each in enumerate(lines):
        if (same := resource.event_of(each.line, node, each.at)) is not None:
            by_about[same.reason, object_key(same)].append((each.at, number))
    reported: set[int] = set()
    for about, left in by_about.items():
        slack = _SAME if not any(lines[number].line.latest for _, number in left) else EAST
        left.sort()
        for event in events.same.get(about, ()):
            for _ in range(event.count):
                if (place := _nearest(left, event, slack)) is None:
                    break
                reported.add(left.pop(place)[1])
    for number, each in enumerate(lines):
        yield each._replace(line=msgspec.structs.replace(each.line, is_reported=True)) if number in reported else each


def _nearest(lines: Sequence[tuple[datetime, int]], event: DumpEvent, slack: timedelta) -> int | None:
    """Return the line, of lines in order of time, that is nearest to an Event's first or last time."""

    def distance(place: int) -> tuple[timedelta, int]:
        at, number = lines[place]
        return min(abs(at - event.first), abs(at - event.last)), number

    after = {bisect_left(lines, (at, -1)) for at in (event.first, event.last)}
    before = {bisect_left(lines, (lines[each - 1][0], -1)) for each in after if each}
    near = (each for each in after | before if each < len(lines))
    within = (each for each in near if event.first - slack <= lines[each][0] <= event.last + slack)
    return min(within, key=distance, default=None)
