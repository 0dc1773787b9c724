"""What happened, in a form that a person likes to read: printed after a replay."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from common.text import plain
from leadsman.web.attention.unknown import assumed_thresholds, lower_bounds, without_rank
from leadsman.web.reading.evidence import nothing_found, read_evidence
from leadsman.web.reading.overview import read_spans
from leadsman.web.reading.scope import ALL, Asked, choose
from sql.database.open import Database

LINES: Final = 40
_COLOURS: Final = {
    "eviction": "red",
    "limit": "red",
    "rejection": "magenta",
    "pod_end": "red",
    "pressure": "yellow",
    "image_gc": "cyan",
    "numa": "blue",
    "scheduler": "magenta",
    "node": "red",
    "pending": "yellow",
    "warning": "yellow",
    "kubelet": "dim",
    "unknown": "dim",
}
_NODES: Final = """
SELECT uniqExact(node), arrayStringConcat(arraySort(groupUniqArray(kubelet_version)), ', ')
FROM nodes WHERE cluster = {cluster:String} AND NOT deleted
"""
_SAMPLES: Final = """
SELECT count(), min(ts), max(ts) FROM node_samples WHERE cluster = {cluster:String}
"""
_TIMELINE: Final = """
SELECT ts, node, kind, what FROM story WHERE cluster = {cluster:String} ORDER BY ts, node, kind, what
LIMIT {lines:UInt32}
"""
_COUNT: Final = "SELECT count() FROM story WHERE cluster = {cluster:String}"
_UNKNOWN: Final = (
    (lower_bounds, "SELECT countIf(occurrences_lower_bound) FROM node_events WHERE cluster = {cluster:String}"),
    (
        assumed_thresholds,
        """
        SELECT uniqExact(node)
        FROM (
            SELECT node, argMax(thresholds_assumed, ts) AS assumed
            FROM eviction_signals WHERE cluster = {cluster:String} GROUP BY node
        )
        WHERE assumed
        """,
    ),
    (
        without_rank,
        """
        SELECT countIf(cause = 'pressure' AND predicted_rank IS NULL)
        FROM pod_evictions WHERE cluster = {cluster:String}
        """,
    ),
)
"""How many each is about, and the sentence."""
NEXT: Final = (
    ("story", "this list, for all nodes or one"),
    ("prediction_accuracy", "how accurate the forecasts were"),
    ("time_to_thresholds", "which threshold each node meets first, and when"),
    ("fit", "requests against capacity and use"),
    ("pressure_oscillation", "which nodes swing in and out of pressure"),
)


def print_story(database: Database, clusters: Iterable[str], console: Console, command: str | None) -> None:
    """Print the story of each cluster: where, what in order of time, what is not known; then what to ask next.

    `command` is how the reader calls this program on this database; None where the database will be gone.
    """
    for cluster in clusters:
        _print_cluster(database, cluster, console, command)
    if command is not None:
        _next(console, command)


def _print_cluster(database: Database, cluster: str, console: Console, command: str | None) -> None:
    parameters = {"cluster": cluster}
    _heading(database, cluster, console)
    rows = database.query(_TIMELINE, {**parameters, "lines": LINES}).rows
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    day = None
    for ts, node, kind, what in rows:
        if ts.date() != day:
            day = ts.date()
            table.add_row(Text(f"{day:%Y-%m-%d}", style="bold"), "", "")
        table.add_row(f"{ts:%H:%M:%S}", plain(node), Text(plain(what, 2000), style=_COLOURS.get(kind, "")))
    console.print(Padding(table, (0, 0, 0, 2)))
    total = database.query(_COUNT, parameters).rows[0][0]
    if not total:
        console.print(f"  {_nothing(database, cluster)}")
    if total > LINES:
        more = "leadsman look -o json" if command is None else f"{command} query story"
        console.print(f"  ... and {total - LINES} more: {more}")
    _unknown(database, cluster, console)


def _nothing(database: Database, cluster: str) -> str:
    """What may be concluded of a cluster without a line."""
    span = next((each for each in read_spans(database) if each.cluster == cluster), None)
    if span is None:
        return "Nothing is known: no node, sample, Event or pod of this cluster was seen."
    return nothing_found(read_evidence(database, choose([span], Asked(last=ALL))))


def _heading(database: Database, cluster: str, console: Console) -> None:
    parameters = {"cluster": cluster}
    nodes, versions = database.query(_NODES, parameters).rows[0]
    samples, first, last = database.query(_SAMPLES, parameters).rows[0]
    where = f"Cluster {plain(cluster)}: {nodes} node{'' if nodes == 1 else 's'}"
    if versions:
        where += f" ({plain(versions)})"
    if samples:
        where += f", {samples} samples from {_time(first)} to {_time(last)} UTC"
    console.print()
    console.print(Text(where + ".", style="bold"))


def _time(ts: datetime) -> str:
    return f"{ts:%Y-%m-%d %H:%M:%S}"


def _unknown(database: Database, cluster: str, console: Console) -> None:
    counts = [(sentence, database.query(sql, {"cluster": cluster}).rows[0][0]) for sentence, sql in _UNKNOWN]
    found = [sentence(count) for sentence, count in counts if count]
    if found:
        console.print(Text("Uncertain", style="bold"))
    for each in found:
        console.print(f"  {each}.")


def _next(console: Console, command: str) -> None:
    console.print(Text("Ask next", style="bold"))
    for name, question in (*NEXT, ("", "every saved question")):
        console.print(f"  {command} query {name:20}  {question}", soft_wrap=True)
