"""Summarises files or a sequence of observations, without replaying them."""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from common.amounts import counted
from common.durations import in_words
from common.errors import BadRecord
from common.text import plain
from ingest.files.lines import SourceError
from ingest.files.sources import collecting_errors, read_sources
from ingest.model.observation import Observation, Observed, Position, Unreadable, if_decodable
from ingest.model.records import NodeRecord, PodRecord, Record
from ingest.model.reports import Report
from ingest.normalize.normalize import normalize
from ingest.resources.table import OF_NODES

GAP_TIMES_USUAL: Final = 3
"""An interval between two samples of a node is a gap if it is more than this many times the median."""

_KEPT_INTERVALS: Final = 20
_KEPT_ERRORS: Final = 100


class Gap(NamedTuple):
    """A time in which a node was not sampled as often as usual."""

    cluster: str
    node: str
    resource: str
    start: datetime
    end: datetime
    usual_seconds: float
    """The median interval between this node's samples."""

    def __str__(self) -> str:
        seconds = (self.end - self.start).total_seconds()
        return f"no {self.resource} for {seconds:.0f} s, usually every {self.usual_seconds:.0f} s"


class Errors(NamedTuple):
    """Equal observations of type ERROR about the same subject."""

    cluster: str
    node: str
    resource: str
    error: str
    times: int
    first: datetime
    last: datetime


class Damage(NamedTuple):
    """Lines that are not observations, or whose object Leadsman does not understand, by type."""

    error_type: str
    lines: int
    first: Position
    reason: str


class Largest(NamedTuple):
    size_bytes: int
    position: Position
    resource: str


_SAMPLED: Final = frozenset(resource.name for resource in OF_NODES if resource.sampled)
_REPORT: Final = msgspec.json.Decoder(Report)


class _Intervals:
    """A histogram of the times between one node's samples, in tenths of a second, and the longest."""

    def __init__(self) -> None:
        self._last: datetime | None = None
        self._tenths: Counter[int] = Counter()
        self._longest: list[tuple[timedelta, datetime]] = []

    def add(self, ts: datetime) -> None:
        if self._last is not None:
            interval = ts - self._last
            self._tenths[round(interval.total_seconds() * 10)] += 1
            keep = heapq.heappush if len(self._longest) < _KEPT_INTERVALS else heapq.heappushpop
            keep(self._longest, (interval, self._last))
        self._last = ts

    def gaps(self, cluster: str, node: str, resource: str) -> list[Gap]:
        usual = self._median_seconds()
        return [
            Gap(cluster, node, resource, start, start + interval, usual)
            for interval, start in self._longest
            if interval.total_seconds() > GAP_TIMES_USUAL * usual > 0
        ]

    def _median_seconds(self) -> float:
        left = (self._tenths.total() + 1) // 2
        for tenths, count in sorted(self._tenths.items()):
            left -= count
            if left <= 0:
                return tenths / 10
        return 0.0


class Inspection:
    """Summarises an input. Times are aware UTC.

    Memory does not grow with the length of a capture, only with the number of nodes.
    """

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()
        """Counts by source, resource and type."""
        self.first: datetime | None = None
        self.last: datetime | None = None
        self.largest: Largest | None = None
        self.skipped: Counter[str] = Counter()
        """Objects of a dump that are not Leadsman's resources, by kind."""
        self.refused = ""
        """Unreadable files with the reasons."""
        self._clusters: set[str] = set()
        self._nodes: dict[tuple[str, str], str] = {}
        self._intervals: dict[tuple[str, str, str], _Intervals] = {}
        self._errors: dict[tuple[str, str, str, str], Errors] = {}
        self._unreadable: dict[str, Damage] = {}

    @property
    def observations(self) -> int:
        return self.counts.total()

    @property
    def clusters(self) -> tuple[str, ...]:
        return tuple(sorted(self._clusters))

    @property
    def nodes(self) -> Mapping[tuple[str, str], str]:
        """Return kubelet versions by cluster and node; empty for an unknown one."""
        return dict(sorted(self._nodes.items()))

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """Return the longest gaps of each node, in order of time."""
        found = (gap for key, each in self._intervals.items() for gap in each.gaps(*key))
        return tuple(sorted(found, key=lambda gap: (gap.start, gap.cluster, gap.node)))

    @property
    def errors(self) -> tuple[Errors, ...]:
        return tuple(self._errors.values())

    @property
    def unreadable(self) -> tuple[Damage, ...]:
        return tuple(sorted(self._unreadable.values()))

    def add(self, entry: Observed | Unreadable) -> None:
        if isinstance(entry, Unreadable):
            self._add_unreadable(entry)
            return
        if entry.is_implied:
            return
        seen = entry.observation
        self.counts[seen.source, seen.resource, seen.type] += 1
        self.first = min(filter(None, (self.first, seen.ts)))
        self.last = max(filter(None, (self.last, seen.ts)))
        self._clusters.add(seen.cluster)
        if self.largest is None or len(entry.raw) > self.largest.size_bytes:
            self.largest = Largest(len(entry.raw), entry.position, seen.resource)
        if seen.type == "ERROR":
            self._add_error(seen)
            return
        node, version = _node_of(self._records(entry)) or (seen.node, "")
        if node:
            self._nodes[seen.cluster, node] = version or self._nodes.get((seen.cluster, node), "")
        if seen.resource in _SAMPLED:
            self._intervals.setdefault((seen.cluster, seen.node, seen.resource), _Intervals()).add(seen.ts)

    def _add_unreadable(self, entry: Unreadable) -> None:
        first = self._unreadable.get(entry.error_type)
        self._unreadable[entry.error_type] = (
            Damage(entry.error_type, 1, entry.position, entry.reason)
            if first is None
            else first._replace(lines=first.lines + 1)
        )

    def _records(self, entry: Observed) -> list[Record]:
        """Return the records that a replay would use, and count its dead letters."""
        try:
            return normalize(entry.observation)
        except BadRecord as error:
            self._add_unreadable(Unreadable(entry.position, error.error_type, str(error), entry.raw))
            return []

    def _add_error(self, seen: Observation) -> None:
        report = if_decodable(_REPORT.decode, seen.object)
        error = plain(report.error) if report else ""
        key = (seen.cluster, seen.node, seen.resource, error)
        if key not in self._errors and len(self._errors) >= _KEPT_ERRORS:
            key = (seen.cluster, "", "", "other errors")
        known = self._errors.get(key) or Errors(*key, 0, seen.ts, seen.ts)
        self._errors[key] = known._replace(times=known.times + 1, last=seen.ts)


def _node_of(records: Sequence[Record]) -> tuple[str, str] | None:
    """Return the node whose existence an API object shows, and the version of its kubelet."""
    for record in records:
        if isinstance(record, NodeRecord):
            return record.object.metadata.name, record.object.status.node_info.kubelet_version
        if isinstance(record, PodRecord):
            return record.node, ""
    return None


SHOWN_ROWS: Final = 20
"""Number of rows shown of each table; the rest is counted."""


def inspect(paths: Sequence[Path], **options: Any) -> Inspection:
    """Read `paths` with options of `read_sources`, and summarise them.

    Raises SourceError like it if there is no content.
    """
    found, refused = Inspection(), list[SourceError]()
    for entry in collecting_errors(read_sources(paths, skipped=found.skipped, **options), refused):
        found.add(entry)
    if refused and not found.observations:
        raise refused[0]
    found.refused = "; ".join(map(str, refused))
    return found


def render(inspection: Inspection) -> RenderableType:
    """Return tables for a terminal or a file, in which names from a cluster are plain text, never markup."""
    sections: list[RenderableType] = [_overview(inspection)]
    counts = [(*key, f"{count:,}") for key, count in sorted(inspection.counts.items())]
    nodes = [(cluster, node, version or "not seen") for (cluster, node), version in inspection.nodes.items()]
    gaps = [(_time(gap.start), _time(gap.end), gap.cluster, gap.node, gap) for gap in inspection.gaps]
    errors = [
        (each.times, _time(each.first), _time(each.last), each.node or each.cluster, each.resource, each.error)
        for each in inspection.errors
    ]
    damage = [(each.error_type, each.lines, each.first, each.reason) for each in inspection.unreadable]
    sections += _table("Observations", ("source", "resource", "type", "count"), counts)
    sections += _table("Nodes", ("cluster", "node", "kubelet"), nodes)
    sections += _table("Gaps", ("from", "to", "cluster", "node", "what is missing"), gaps)
    sections += _table(
        "Sources that could not be read", ("count", "first", "last", "node", "resource", "error"), errors
    )
    sections += _table("Unreadable", ("what", "count", "first at", "why"), damage)
    sections += _table("Other objects of the dump, left out", ("kind", "count"), sorted(inspection.skipped.items()))
    return Group(*sections)


def _overview(inspection: Inspection) -> RenderableType:
    lines = [f"{counted(inspection.observations, 'observation')}, {counted(len(inspection.nodes), 'node')}"]
    if inspection.first is not None and inspection.last is not None:
        seconds = (inspection.last - inspection.first).total_seconds()
        lines.append(f"from {_time(inspection.first)} to {_time(inspection.last)}, {in_words(seconds)}")
    if inspection.clusters:
        lines.append("cluster " + ", ".join(plain(cluster, 80) for cluster in inspection.clusters[:SHOWN_ROWS]))
    if inspection.largest is not None:
        size, position, resource = inspection.largest
        lines.append(f"the largest is {size:,} bytes: {plain(resource)} at {plain(position)}")
    return Text("\n".join(lines))


def _table(title: str, columns: Sequence[str], rows: Sequence[Iterable[object]]) -> list[RenderableType]:
    if not rows:
        return []
    table = Table(*columns, title=title, title_justify="left", box=None, pad_edge=False)
    for row in rows[:SHOWN_ROWS]:
        table.add_row(*(Text(plain(cell)) for cell in row))
    left = len(rows) - SHOWN_ROWS
    return [Text(), table, Text(f"and {left:,} more")] if left > 0 else [Text(), table]


def _time(ts: datetime) -> str:
    return ts.strftime("%Y-%m-%dT%H:%M:%SZ")
