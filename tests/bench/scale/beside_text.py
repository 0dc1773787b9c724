"""The collector and Leadsman in figures: what a sample costs by each method, and what it stored."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from components.programs.collector import VERSION

from .ground import MIB
from .tables import table

RECEIVER: Final = f"Collector {VERSION}, its receiver alone"
EXPORTER: Final = f"Collector {VERSION}, into ClickHouse"
OURS: Final = "Leadsman: watch, work, land"
UP: Final = "Leadsman: up, engine included"
ENGINE: Final = "engine"
_PARTS: Final = {
    "its own": ("collector", "watch", "work", "land", "up"),
    ENGINE: (ENGINE,),
    "Kafka": ("Kafka",),
    "API server": ("API server",),
}
"""Columns, with the parts in each."""
_NAMED: Final = 0.5
"""Rows of a sample from which on a table is named."""


class Result(NamedTuple):
    """The result of one method in one round."""

    samples: float
    due: float
    cpu_seconds: Mapping[str, float]
    """CPU seconds by part."""
    bare_seconds: float
    """CPU time of decoding a sample and no more, right after it."""
    peak_bytes: int
    """The sum of what each part of it held at once, without engine, Kafka and API server."""

    @property
    def all_seconds(self) -> float:
        """CPU time of a sample, everything together."""
        return sum(self.cpu_seconds.values()) / self.samples

    def of(self, parts: Sequence[str]) -> float | None:
        """CPU time of a sample in those of the parts that it has, in ms; None if it has none."""
        its = [self.cpu_seconds[part] for part in parts if part in self.cpu_seconds]
        return sum(its) / self.samples * 1000 if its else None


class Round(NamedTuple):
    results: Mapping[str, Result]
    load: float


class Stored(NamedTuple):
    """A sample in a database, once all is merged."""

    rows: Mapping[str, float]
    """Bytes by table, the largest first."""
    bytes: float


class Outcome(NamedTuple):
    nodes: int
    pods: int
    seconds: float
    rounds: Sequence[Round]
    points: Mapping[str, float]
    """Metric points of a sample in the collector, by group of metrics."""
    metrics: int
    """Different names of metrics that it stored."""
    stored: Mapping[str, Stored]


def text(outcome: Outcome) -> str:
    """The outcome as Markdown."""
    by_method = {
        method: [each.results[method] for each in outcome.rounds] for method in (RECEIVER, EXPORTER, UP, OURS)
    }
    costs = [
        (
            method,
            _spread([each.all_seconds / each.bare_seconds for each in found], 1),
            _spread([each.all_seconds * 1000 for each in found], 2),
            *(_spread([each.of(parts) for each in found], 2) for parts in _PARTS.values()),
            f"{min(each.samples / each.due for each in found):.1%}",
            f"{max(each.peak_bytes for each in found) / MIB:,.0f}",
        )
        for method, found in by_method.items()
    ]
    head = ("", "times bare decoding", "CPU ms a sample", *(f"{each}, ms" for each in _PARTS), "samples", "MiB")
    bare = _spread([method.bare_seconds * 1e6 for found in by_method.values() for method in found], 0)
    loads = f"{min(each.load for each in outcome.rounds):.1f} to {max(each.load for each in outcome.rounds):.1f}"
    rounds = len(outcome.rounds)
    said = (
        f"{outcome.nodes:,} nodes of {outcome.pods} pods; {rounds} {'round' if rounds == 1 else 'rounds'} of"
        f" {outcome.seconds:.0f} s for each method, load {loads}. Bare decoding of a summary: {bare} µs."
        f" The collector has {sum(outcome.points.values()):,.0f} points of {outcome.metrics} metrics a sample:"
        f" {', '.join(f'{group} {points:,.0f}' for group, points in outcome.points.items())}."
    )
    stored = [
        (method, f"{sum(of.rows.values()):,.1f}", f"{of.bytes / 1024:,.1f}", _rows(of))
        for method, of in outcome.stored.items()
    ]
    kept = table(("", "rows a sample", "KiB on disk", "of them"), stored)
    return f"{said}\n\n{table(head, costs)}\n\n{kept}"


def _rows(stored: Stored) -> str:
    """The tables that matter, the largest first."""
    large = [(name, rows) for name, rows in stored.rows.items() if rows >= _NAMED]
    rest = sum(stored.rows.values()) - sum(rows for _, rows in large)
    named = [f"{name} {rows:,.1f}" for name, rows in large]
    return ", ".join([*named, f"{len(stored.rows) - len(large)} other tables {rest:,.1f}"] if rest else named)


def _spread(values: Sequence[float | None], digits: int) -> str:
    """The median, with the least and the most where there are several; nothing if there is none."""
    found = [value for value in values if value is not None]
    if not found:
        return ""
    median = f"{statistics.median(found):,.{digits}f}"
    return f"{median} ({min(found):,.{digits}f} to {max(found):,.{digits}f})" if len(found) > 1 else median
