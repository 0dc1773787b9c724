"""Prints a readable account of what a replay or a look found."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from common.amounts import counted, size
from common.text import plain
from leadsman.cli.present.findings import Findings, findings_in
from leadsman.cli.present.layout import shared_domain
from leadsman.web.attention.badges import Severity
from leadsman.web.attention.item import COMMAND_LAST, Item, Step
from leadsman.web.attention.unknown import uncertain
from leadsman.web.reading.ask import RowDict, ask
from leadsman.web.reading.evidence import gaps, looked_at
from leadsman.web.reading.overview import Overview, read_spans
from leadsman.web.reading.scope import Span
from leadsman.web.reading.words import clock, timestamp
from sql.database.open import Database
from sql.schema.story import story
from streams.alerting.words import shorten_list

LINES: Final = 40
EVERY_LINE: Final = 2**32 - 1
MOST: Final = 1200
"""Maximum number of characters of a part of a card."""
_SEVERITIES: Final = {
    Severity.CRITICAL: "bold red",
    Severity.WARNING: "yellow",
    Severity.UNKNOWN: "dim",
    Severity.NOTE: "dim",
}
_COLOURS: Final = {
    "eviction": "red",
    "limit": "red",
    "rejection": "magenta",
    "pod_end": "red",
    "pressure": "yellow",
    "unguarded": "red",
    "image_gc": "cyan",
    "numa": "blue",
    "scheduler": "magenta",
    "node": "red",
    "kubelet": "dim",
}
_HARMLESS: Final = frozenset({"kubelet", "settings"})
"""Kinds of story lines that are not problems."""
_NODES: Final = """
SELECT count(), arrayStringConcat(arraySort(groupUniqArray(version)), ', ')
FROM
(
    SELECT node, argMax(kubelet_version, ts) AS version
    FROM nodes WHERE cluster = {cluster:String}
    GROUP BY node HAVING NOT argMax(deleted, ts)
)
"""
_SAMPLES: Final = """
SELECT count(), min(ts), max(ts) FROM node_samples WHERE cluster = {cluster:String}
"""
OF_CARDS: Final = frozenset({"pending", "warning", "unknown"})
"""Kinds of story lines that a card already covers."""
_TIMELINE: Final = """
SELECT ts, node, kind, what, countIf(NOT has({harmless:Array(String)}, kind)) OVER (), count() OVER ()
FROM [story]
WHERE cluster = {cluster:String}
    AND ({namespace:String} = '' OR empty(namespaces) OR has(namespaces, {namespace:String}))
ORDER BY ts, node, kind, what LIMIT {lines:UInt32}
SETTINGS query_plan_merge_expressions = 0, query_plan_lift_up_union = 0, optimize_use_projections = 0
"""
"""Each row has the number of all such objects, and of those with a problem."""
_OF_NUMA: Final = ("numa_fleet", "numa_skew")
NEXT: Final = (
    ("story", "this list, for all nodes or one"),
    ("prediction_accuracy", "how accurate the forecasts were"),
    ("next_eviction", "which threshold each node meets first, when, and which pod is evicted"),
    ("fit", "requests against capacity and use"),
    ("pressure_history", "when and for how long each node was under pressure"),
)


def print_story(
    database: Database,
    clusters: Iterable[str] | None,
    console: Console,
    command: str | None,
    lines: int = LINES,
    namespace: str = "",
    stored_by: str = "",
) -> list[Findings]:
    """Print the story of each cluster: what was read, what happened in order of time, what is unknown, then which
    questions to ask next. With None, print all clusters, the latest first. Return the findings of each known cluster.
    `command` is how the user calls this program on this database; None if the database is temporary. Then `stored_by`
    is the command that stores the same in a database. With a `namespace`, pods and objects of other namespaces are
    left out.
    """
    database = database.noting_empty_tables()
    spans = {span.cluster: span for span in read_spans(database)}
    asked_spans = [(cluster, spans.get(cluster)) for cluster in (spans if clusters is None else clusters)]
    found = [
        _print_cluster(database, cluster, span, console, command, lines, namespace, stored_by)
        for cluster, span in asked_spans
    ]
    if command is not None:
        console.print(Text("Ask next", style="bold"))
        _command(f"{command} query NAME", console)
        table = _table(2)
        for row in (*NEXT, ("", "without a name: every saved question")):
            table.add_row(*row)
        console.print(Padding(table, (0, 0, 0, 2)))
    known = [each for each in found if each is not None]
    if stored_by and any(item.step.query for each in known for item in each.items):
        console.print(Text("Before you run a query above, store this in a database", style="bold"))
        _command(stored_by, console)
    return known


def print_first(database: Database, console: Console, namespace: str = "") -> None:
    """Print what is wrong by the data so far, without the list of events."""
    database = database.noting_empty_tables()
    for span in read_spans(database):
        found = findings_in(database, span, namespace)
        _heading(database, span.cluster, console)
        _sections(found, None, console)
        if not found.wrong:
            _nothing(found, console)


def _print_cluster(
    database: Database,
    cluster: str,
    span: Span | None,
    console: Console,
    command: str | None,
    lines: int,
    namespace: str,
    stored_by: str,
) -> Findings | None:
    parameters = {"cluster": cluster, "namespace": namespace}
    _heading(database, cluster, console)
    if span is None:
        _line("Nothing is known: no node, sample, Event or pod of this cluster was seen.", console)
        return None
    found = findings_in(database, span, namespace)
    if namespace:
        evidence = found.view.evidence
        what = "Pods" if evidence.pods or evidence.events else "No pods were seen"
        _line(f"{what} of namespace {plain(namespace)}; nodes and the cluster as a whole.", console)
    _sections(found, command or ("leadsman" if stored_by else None), console)
    given = {**parameters, "lines": lines, "harmless": sorted(_HARMLESS)}
    lines_of = story(database, OF_CARDS)
    rows = database.query(_TIMELINE.replace("[story]", lines_of), given, described=False).rows if lines_of else ()
    wrong, total = rows[0][-2:] if rows else (0, 0)
    if not found.wrong and not wrong:
        _nothing(found, console)
    _timeline([row[:4] for row in rows], console)
    if found.view.evidence.numa_in_range and not found.view.evidence.sampled_nodes:
        _numa_nodes([row for name in _OF_NUMA for row in ask(database, name, found.view.scope, node="")], console)
    if total > lines:
        _line(f"... and {total - lines} more:", console)
        _command("leadsman look -o wide" if command is None else f"{command} query story", console)
    seen = found.view.evidence
    # statistics of known nodes, and bad input, are reported separately
    missing = gaps(seen._replace(sampled_nodes=seen.nodes or seen.sampled_nodes, bad=0))
    _uncertain(found.view, missing if seen.seen or found.items else (), console)
    return found


def _nothing(found: Findings, console: Console) -> None:
    """State what was looked at without a finding; if there is little evidence, a card says so."""
    if found.view.evidence.seen or not found.items:
        _line(looked_at(found.view.evidence), console)


def _line(text: str, console: Console) -> None:
    console.print(Padding(Text(plain(text, MOST)), (0, 0, 0, 2)))


def _command(command: str, console: Console, indent: int = 2) -> None:
    """Print a command on a line of its own, which no terminal's width folds: it can be pasted."""
    console.print(Text(" " * indent + command), soft_wrap=True)


def _sections(found: Findings, command: str | None, console: Console) -> None:
    until = f"At the end, {timestamp(found.view.scope.until)} UTC"
    for now, heading in ((True, until), (False, "Earlier")):
        of_then = [item for item in found.items if item.now is now]
        of_then = [item._replace(step=_typed(item.step, command)) for item in of_then]
        _section(heading, of_then, found.view, console)


def _typed(step: Step, command: str | None) -> Step:
    """Return a step that asks the same database; without one, it asks no question of a database that will be gone."""
    words = f"{step.words}: {command} query {step.query}" if command and step.query else step.words
    return Step(words)


def _section(heading: str, items: Sequence[Item], view: Overview, console: Console) -> None:
    if not items:
        return
    console.print(Text(heading, style="bold"))
    before = max(len(item.severity.label) for item in items) + 2
    for item in items:
        words, command = words_of(item, view), ""
        found = COMMAND_LAST.search(words)
        if found and before + 2 + cell_len(words) > console.width:  # a command in several lines cannot be pasted
            words, command = words[: found.start() + 1], found[1]
        table = _table(2)
        table.columns[0].min_width = before - 2
        table.add_row(Text(item.severity.label, style=_SEVERITIES[item.severity]), Text(words))
        console.print(Padding(table, (0, 0, 0, 2)))
        if command:
            _command(command, console, before + 2)


def _timeline(rows: Sequence[Sequence[Any]], console: Console) -> None:
    if not rows:
        return
    table = _table(3)
    day = None
    domain = shared_domain([node for _, node, _, _ in rows if node])
    for ts, node, kind, what in rows:
        if ts.date() != day:
            day = ts.date()
            table.add_row(Text(f"{day:%Y-%m-%d}", style="bold"), "", "")
        words = Text(plain(what, 2000), style=_COLOURS.get(kind, ""))
        table.add_row(f"{ts:%H:%M:%S}", plain(node.removesuffix(domain)), words)
    console.print(Text("What happened", style="bold"))
    console.print(Padding(table, (0, 0, 0, 2)))
    if domain:
        _line(f"All node names end in {domain}.", console)


def _numa_nodes(rows: Sequence[RowDict], console: Console) -> None:
    """Print the free resources of each NUMA node, because pasted text about NUMA nodes alone shows nothing else."""
    table = _table(3)
    by_numa_node = {row["node"] for row in rows if "numa_node" in row} | {""}
    rows = [row for row in rows if "numa_node" in row or row["node"] not in by_numa_node]
    for row in rows[:LINES]:
        number = row.get("numa_node", -1)
        table.add_row(plain(row["node"]), f"NUMA node {number}" if number >= 0 else "all NUMA nodes", _room(row))
    if rows:
        console.print(Text("NUMA nodes", style="bold"))
        console.print(Padding(table, (0, 0, 0, 2)))
    if len(rows) > LINES:
        _line(f"... and {len(rows) - LINES} more.", console)


def _room(row: RowDict) -> str:
    cpus, free = row.get("cpus", row.get("allocatable_cpus")), row.get("free", row.get("free_cpus"))
    memory, available = row.get("memory_allocatable"), row.get("memory_available")
    held = {"exclusive": row.get("exclusive", row.get("exclusive_cpus")), "reserved": row.get("reserved")}
    parts = [f"{free} of {counted(cpus, 'CPU')} free"] if cpus is not None and free is not None else []
    parts += [f"{count} {name}" for name, count in held.items() if count]
    parts += (
        [f"{size(available)} of {size(memory)} memory free"] if memory is not None and available is not None else []
    )
    return ", ".join(parts) or "nothing is known"


def _table(columns: int) -> Table:
    """Return a table without lines that folds a long word, such as a command's path, and never shortens it."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in range(columns):
        table.add_column(overflow="fold")
    return table


def words_of(item: Item, view: Overview) -> str:
    """Word a card for a terminal; say so if a time is only a bound."""
    times, at, until = "", item.since, item.until
    if at is not None:
        when = clock(at) if at.date() == view.scope.until.date() else timestamp(at)
        lasting = until is not None and not item.now and until > at
        between = "between " if lasting and item.is_bounded else ""
        later = " or later" if item.is_bounded and until == at and not item.now else ""  # no end is known
        times = f", {'since ' if item.now else between}{when}{' or earlier' if item.or_earlier else later}"
        if until is not None and lasting:
            end = clock(until) if until.date() == at.date() else timestamp(until)
            times += f" {'and' if item.is_bounded else 'to'} {end}"
            if item.is_bounded and item.or_earlier:  # no start is known
                last = clock(until) if until.date() == view.scope.until.date() else timestamp(until)
                times = f", {last} or earlier"
    where = f"On {shorten_list(item.nodes)}." if item.nodes and len(view.nodes) > 1 else ""
    parts = (
        f"{item.title}{times}.",
        item.who and f"{item.who}.",
        item.text,
        where,
        str(item.step) if item.step else "",
    )
    return " ".join(plain(part, MOST) for part in parts if part)


def _heading(database: Database, cluster: str, console: Console) -> None:
    parameters = {"cluster": cluster}
    nodes, versions = database.query(_NODES, parameters).rows[0]
    samples, first, last = database.query(_SAMPLES, parameters).rows[0]
    where = f"Cluster {plain(cluster)}: {nodes} node{'' if nodes == 1 else 's'}"
    if versions:
        where += f" ({plain(versions)})"
    if samples:
        where += f", {samples} sample{'' if samples == 1 else 's'} from {timestamp(first)} to {timestamp(last)} UTC"
    console.print()
    console.print(Text(where + ".", style="bold"))


def _uncertain(view: Overview, missing: Iterable[str], console: Console) -> None:
    found = list(missing)
    found += [f"{words} {shorten_list(nodes)}." if nodes else words for words, nodes in uncertain(view)]
    if found:
        console.print(Text("Uncertain", style="bold"))
    for each in found:
        _line(each, console)
