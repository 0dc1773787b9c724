"""Reads logs of kubelets and schedulers in a dump; lines get their times once all objects are known."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import combinations
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import xxhash

from ingest.files.history import Fact
from ingest.files.lines import named
from ingest.files.recognize import Thing, node_in_path
from ingest.files.texts.kubelet_log import DatedLine, DumpEvent, Log, Pod, grouped, object_key, placed, read_log
from ingest.files.texts.scheduler_log import (
    SchedulerLog,
    is_schedulers_log,
    read_attempts,
    scheduler_events,
    with_times,
)
from ingest.model.objects.base import UNKNOWN_NAME, Condition, in_utc
from ingest.model.objects.event import Event, EventTimes, event_time
from ingest.model.observation import EARLIEST, LATEST, UNDECODABLE, Position
from ingest.resources.events import EVENTS
from ingest.resources.kubelet_log import KUBELET_LOG
from ingest.resources.nodes import NODES
from ingest.resources.pods import PODS
from ingest.resources.scheduler_log import SCHEDULER_LOG

_NODE_IN_NAME: Final = re.compile(r"(?P<node>[a-z0-9][a-z0-9.-]{0,252})\.kubelet\.log(?:\.\w+)*")
_BETWEEN: Final = re.compile(r"[-_.]")
_EVENT: Final = msgspec.json.Decoder(Event)


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _PodOnNode(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


class _Status(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] | None = None

    @property
    def evicted(self) -> str:
        """Return the message of an eviction, even if only a condition has it, because the pod's process exited with
        0.
        """
        if self.reason == "Evicted":
            return self.message
        ends = (each.message for each in self.conditions or () if each.reason == "TerminationByKubelet")
        return next((each for each in ends if each.startswith("The node was low on ")), "")


class _Pod(EventTimes, frozen=True):
    """A pod; an Event about its creation can stand in for its creation time."""

    status: _Status | None = None


_POD: Final = msgspec.json.Decoder(_Pod)
_POD_ON_NODE: Final = msgspec.json.Decoder(_PodOnNode)


class _File(NamedTuple):
    path: Path
    log: Log
    saved_at: datetime
    digest: int
    """64 bits of the whole file."""


class Logs:
    """The logs of a dump: call `add` for each, then read `newest` and `uids`, then call `facts`."""

    def __init__(self) -> None:
        self._files: list[_File] = []
        self._schedulers: dict[int, tuple[Path, SchedulerLog]] = {}
        """Keyed by 64 bits of the whole file: the same log under two names counts once."""
        self.texts: set[int] = set()
        """64 bits for each line that is read, the same in a part of its log."""

    def add(self, path: Path, data: bytes, saved_at: datetime = EARLIEST) -> int:
        """Read a log, and return the number of known lines. EARLIEST means an unknown time of saving.

        The same log under two names counts once, unless the names are of different nodes.
        """
        log, digest = read_log(data), xxhash.xxh3_64_intdigest(data)
        same = [each for each in self._files if each.digest == digest]
        if same and not (_named(path) and all(map(_named, {each.path for each in same}))):
            path = path if _named(path) else same[0].path
            self._files = [each._replace(path=path) if each.digest == digest else each for each in self._files]
            return len(log.lines)
        self.texts.update(xxhash.xxh3_64_intdigest(repr(each).encode(errors="replace")) for each in log.alone)
        by_host: defaultdict[str, list[int]] = defaultdict(list)
        for number, each in enumerate(log.lines):
            by_host[each.line.host].append(number)
        for host, numbers in by_host.items():
            lines = [log.lines[number] for number in numbers]
            node = log.node if len(by_host) == 1 else ""
            of_host = log._replace(lines=lines, host=host, node=node, alone=())
            self._files.append(_File(path, of_host, saved_at, digest))
        return len(log.lines)

    def add_scheduler(self, path: Path, data: bytes) -> int:
        """Read a scheduler's log, and return the number of attempts in it."""
        log = read_attempts(data) if is_schedulers_log(data) else None
        if log is None or not log.attempts:
            return 0
        self._schedulers.setdefault(xxhash.xxh3_64_intdigest(data), (path, log))
        self.texts.update(xxhash.xxh3_64_intdigest(repr(each).encode(errors="replace")) for each in log.attempts)
        return len(log.attempts)

    @property
    def newest(self) -> datetime | None:
        """Return the newest time that the logs state in full; a time without a year needs the rest of the dump."""
        return max(filter(None, (each.log.newest for each in self._files)), default=None)

    @property
    def hosts(self) -> set[str]:
        """Return the nodes named by the logs themselves; an empty name for a log that names none."""
        return {each.log.node or each.log.host for each in self._files}

    @property
    def nodes_of_pods(self) -> dict[str, set[str]]:
        """Return the nodes of the logs with lines about a pod, by `namespace/name`."""
        found = defaultdict[str, set[str]](set)
        for each in self._files:
            if host := each.log.node or each.log.host:
                for line, _, _ in each.log.lines:
                    if isinstance(pod := line.values.get("pod"), str):
                        found[pod].add(host)
        return found

    @property
    def uids(self) -> dict[str, set[str]]:
        """Return the UIDs of pods in known lines, by `namespace/name`."""
        found = defaultdict[str, set[str]](set)
        for each in self._files:
            for line, uid, _ in each.log.lines:
                pod = line.values.get("pod") or line.values.get("object")
                if uid and isinstance(pod, str):
                    found[pod].add(uid)
        return found

    def facts(
        self,
        known: Iterable[Fact],
        newest: datetime,
        node_of: Callable[[Path, str], str],
        *,
        is_dated: bool,
        given: str = "",
    ) -> Iterator[Fact]:
        """Yield each line as a fact with the time of that line.

        The first of these that is known is the node of a log:

        1. the node that the log registers,
        2. the node of its host, unless the caller has `given` one,
        3. a node in its path; if one is `given`, only a path that was made to name it counts,
        4. the `given` node,
        5. the only node of its pods, if the log has no host,
        6. `node_of(path, host)`.

        A log without a node yields nothing. `newest` is the newest time of the dump. With `is_dated`, an object in
        the dump has that time.
        """
        if not (self._files or self._schedulers):
            return
        known = list(known)
        of_dump, uids = list(_dump_events(known)), _pods_by_name(known)
        events, mentioned = grouped(of_dump), _mentioned_pods(known, of_dump)
        for path, tried in self._schedulers.values():
            attempts = list(with_times(tried, newest, uids))
            for number, (at, attempt) in enumerate(attempts, start=1):
                raw = msgspec.json.encode(attempt)
                thing = Thing("list", SCHEDULER_LOG.name, "SNAPSHOT", raw, has_own_time=True)
                yield Fact(
                    thing, "", at, Position(named(path), f"attempt {number} of the scheduler"), is_from_text=True
                )
            has_year = is_dated or all(each.year is not None or each.line.at for each in tried.attempts)
            for event in scheduler_events(attempts, mentioned, is_dated=has_year):
                yield _event_fact(event, Position(named(path), "the scheduler's lines about a pod"))
        nodes = sorted(
            {fact.thing.identity[2] for fact in known if fact.thing.resource == NODES.name and fact.thing.identity}
        )
        on_nodes = _nodes_of_pods(known)
        mixed = {path for path, times in Counter(each.path for each in self._files).items() if times > 1}
        for path, log, saved_at, _ in self._files:
            named_so = _named(path) or ("" if given else _in_path(path, nodes))
            of_host = "" if given else _of_host(log.host, nodes) or (log.host if path in mixed else "")
            of_pods = "" if log.host else _of_pods(log, on_nodes)
            node = log.node or of_host or named_so or given or of_pods or node_of(path, log.host)
            if node:
                lines = placed(log, node, newest, events, uids, is_dated=is_dated, saved_at=saved_at)
                for number, each in enumerate(lines, start=1):
                    yield _fact(
                        each, node, Position(named(path), f"line {number} about evictions, images or admission")
                    )


def _fact(each: DatedLine, node: str, position: Position) -> Fact:
    raw = msgspec.json.encode(each.line)
    thing = Thing("kubelet", KUBELET_LOG.name, "SNAPSHOT", raw, node, has_own_time=True)
    return Fact(thing, node, each.at, position, is_from_text=True)


def _event_fact(event: Event, position: Position) -> Fact:
    raw = msgspec.json.encode({"apiVersion": "v1", "kind": "Event", **msgspec.to_builtins(event)})
    about = event.metadata
    identity = (EVENTS.name, about.namespace, about.name, "")
    thing = Thing("list", EVENTS.name, "ADDED", raw, identity=identity, has_own_time=True)
    return Fact(thing, "", event.last_timestamp, position, is_from_text=True)


def _mentioned_pods(facts: Iterable[Fact], events: Iterable[DumpEvent]) -> set[str]:
    """Return the pods that are in a dump, and those about which its Events say that no node was found, as
    `namespace/name`.
    """
    objects = (each.thing.identity for each in facts if each.thing.resource == PODS.name and each.thing.identity)
    about = (each.about.removeprefix("Pod/") for each in events if each.reason == "FailedScheduling")
    return {*("/".join(identity[1:3]) for identity in objects), *about}


def _named(path: Path) -> str:
    """Return the node by a path that names it on purpose: `nodes/NODE/kubelet.log` or `NODE.kubelet.log`."""
    match = _NODE_IN_NAME.fullmatch(path.name)
    return node_in_path(path) or (match["node"] if match else "")


def _of_host(host: str, nodes: Sequence[str]) -> str:
    """Return the node of a host if exactly one matches; either name may have a domain. `nodes` are sorted."""
    if not host:
        return ""
    ends = [found.start() for found in re.finditer(r"\.", host)]
    found = {host[:end] for end in (*ends, len(host)) if _is_in(host[:end], nodes)}
    after = bisect_left(nodes, f"{host}.")
    found.update(each for each in nodes[after : after + 2] if each.startswith(f"{host}."))
    return found.pop() if len(found) == 1 else ""


def _of_pods(log: Log, on_nodes: Mapping[str, set[str]]) -> str:
    """Return the only node that the pods of a log were on."""
    pods = (line.values.get("pod") for line, _, _ in log.lines)
    found = set().union(*(on_nodes.get(pod, ()) for pod in pods if isinstance(pod, str)))
    return found.pop() if len(found) == 1 else ""


def _nodes_of_pods(facts: Iterable[Fact]) -> dict[str, set[str]]:
    found = defaultdict[str, set[str]](set)
    for fact in facts:
        if fact.thing.resource == PODS.name and fact.thing.identity:
            with suppress(*UNDECODABLE):
                if node := _POD_ON_NODE.decode(fact.thing.raw).spec.node_name.replace(UNKNOWN_NAME, ""):
                    found["/".join(fact.thing.identity[1:3])].add(node)
    return found


def _in_path(path: Path, nodes: Sequence[str]) -> str:
    """Return the node whose name is part of the name of a file or its folder, such as `kubelet-NODE.log`."""
    found = {
        part[start + 1 : end]
        for part in (path.name, path.parent.name)
        for start, end in combinations([-1, *(each.start() for each in _BETWEEN.finditer(part)), len(part)], 2)
    }
    return max((each for each in found if _is_in(each, nodes)), key=len, default="")


def _is_in(name: str, nodes: Sequence[str]) -> bool:
    return nodes[(place := bisect_left(nodes, name)) : place + 1] == [name]


def _dump_events(facts: Iterable[Fact]) -> Iterator[DumpEvent]:
    for fact in facts:
        if fact.thing.resource != EVENTS.name:
            continue
        try:
            event = _EVENT.decode(fact.thing.raw)
        except UNDECODABLE:
            continue
        last = event_time(event)
        first = in_utc(event.first_timestamp or event.deprecated_first_timestamp)
        if last is not None and EARLIEST <= last < LATEST:
            first = first if first is not None and EARLIEST <= first < LATEST else last
            series = event.series.count if event.series else 0
            count = max(1, series, event.count or 0, event.deprecated_count or 0)
            yield DumpEvent(event.reason, object_key(event), min(first, last), last, count)


def _pods_by_name(facts: Iterable[Fact]) -> dict[str, Pod]:
    """Return pods by `namespace/name`, from objects and from Events, except names that several pods had."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    created, evicted = dict[str, datetime](), dict[str, str]()
    for fact in facts:
        if fact.thing.resource == PODS.name and fact.thing.identity:
            _, namespace, name, uid = fact.thing.identity
            found[f"{namespace}/{name}"].add(uid)
            with suppress(*UNDECODABLE):
                pod = _POD.decode(fact.thing.raw)
                if (at := in_utc(pod.metadata.creation_timestamp)) is not None:
                    created[uid] = at
                if pod.status is not None and (text := pod.status.evicted):
                    evicted[uid] = text
        elif fact.thing.resource == EVENTS.name:
            try:
                event = _EVENT.decode(fact.thing.raw)
            except UNDECODABLE:
                continue
            about = event.involved_object or event.regarding
            if about is not None and about.kind == "Pod" and about.uid:
                found[f"{about.namespace}/{about.name}"].add(about.uid)
    only = {name: uids.pop() for name, uids in found.items() if len(uids) == 1}
    return {name: Pod(uid, created.get(uid, EARLIEST), evicted.get(uid, "")) for name, uid in only.items()}
