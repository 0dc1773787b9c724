"""Summarize what files hold, as text for a terminal."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from common.durations import in_words
from common.text import plain
from ingest.files.inspection import Inspection, summarize
from ingest.files.lines import SourceError
from ingest.files.sources import Progress, noting, read_sources

SHOWN_ROWS: Final = 20
"""Rows of each table that are shown; the rest is counted."""


def inspect(
    paths: Sequence[Path],
    *,
    cluster: str = "default",
    node: str = "",
    at: datetime | None = None,
    progress: Progress | None = None,
) -> Inspection:
    """Read `paths` as `read_sources` does, and sum up what they hold; its `SourceError` where that is nothing."""
    skipped: Counter[str] = Counter()
    refused: list[SourceError] = []
    entries = read_sources(paths, cluster=cluster, node=node, at=at, progress=progress, skipped=skipped)
    found = summarize(noting(entries, refused), skipped)
    if refused and not found.observations:
        raise refused[0]
    return found._replace(refused="; ".join(map(str, refused)))


def render(inspection: Inspection) -> RenderableType:
    """Return tables for a terminal or a file; what a cluster named is plain text in them, never markup."""
    sections: list[RenderableType] = [_overview(inspection)]
    counts = [(*key, f"{count:,}") for key, count in inspection.counts.items()]
    nodes = [(cluster, node, version or "not seen") for (cluster, node), version in inspection.nodes.items()]
    gaps = [(_time(gap.begin), _time(gap.end), gap.cluster, gap.node, gap) for gap in inspection.gaps]
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
    sections += _table("Other objects of the dump, left out", ("kind", "count"), list(inspection.skipped.items()))
    return Group(*sections)


def _overview(inspection: Inspection) -> RenderableType:
    lines = [f"{_count(inspection.observations, 'observation')}, {_count(len(inspection.nodes), 'node')}"]
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


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _time(ts: datetime) -> str:
    return ts.strftime("%Y-%m-%dT%H:%M:%SZ")
