"""Describes uncertain facts in sentences, each with the nodes concerned."""

from collections.abc import Iterator

from common.amounts import counted
from leadsman.web.reading.evidence import freshness, no_event, no_pod
from leadsman.web.reading.overview import Overview
from leadsman.web.reading.words import duration, plainly, timestamp


def unknowns(view: Overview) -> list[tuple[str, tuple[str, ...]]]:
    """Return a sentence and its nodes for everything that is assumed, a lower bound, missing or unreadable."""
    return [*_unseen(view), *uncertain(view), *_missing(view), *_sources(view)]


def uncertain(view: Overview) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the same for facts that are known, but not for sure."""
    unknown = view.unknown
    if nodes := unknown.assumed_thresholds:
        thresholds = f"The thresholds of {counted(len(nodes), 'node')} are assumed"
        yield f"{thresholds}, because no /configz was seen:", nodes
    if counts := unknown.lower_bounds:
        bounds = counted(counts, "event count is a lower bound", "event counts are lower bounds")
        yield f"{bounds}: Kubernetes drops repeats.", ()
    if texts := unknown.withheld:
        withheld = counted(texts, "text is", "texts are")
        yield (
            f"{withheld} withheld in whole or part (redact: strict): causes that only these texts name stay unknown.",
            (),
        )
    yield from _undated(*unknown.undated_lines)
    if evictions := unknown.without_rank:
        have = counted(evictions, "eviction has", "evictions have")
        yield f"{have} no predicted rank: there was no sample, or not every pod was known.", ()
    counted_only = [node for node in view.nodes if node.numa and node.numa["fidelity"] != "exact"]
    if counts_only := tuple(node.name for node in counted_only if node.cpu_manager_policy not in {"", "none"}):
        yield "Exact CPU IDs of exclusive pods are unknown (counts only) on:", counts_only
    if guessed := tuple(
        node.name for node in counted_only if not node.cpu_manager_policy and (node.numa or {}).get("exclusive_cpus")
    ):
        yield "It is unknown whether pods hold CPUs exclusively, because no CPU Manager policy was seen:", guessed
    for row in unknown.source_errors:
        if row["kind"] == "partial":
            left_out = counted(row["left_out"], "entry", "entries")
            since = f"{row['resource']}, since {timestamp(row['first_at'])} UTC"
            last = f"The last: {plainly(row['last_error'])}"
            yield f"Verdicts are partial: {left_out} did not fit into the state of a log ({since}). {last}", ()


def _undated(without_year: int, without_zone: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield how many log lines lack a year, and how many lack a zone: klog writes neither."""
    if without_year:
        lines = counted(without_year, "line of a log is", "lines of logs are")
        yield f"{lines} of an unknown year, because klog writes none: the latest possible is assumed.", ()
    if without_zone:
        lines = counted(without_zone, "line of a log is", "lines of logs are")
        yield (
            f"{lines} of an unknown zone, and perhaps of another year, which is taken from other files.",
            (),
        )


def _unseen(view: Overview) -> Iterator[tuple[str, tuple[str, ...]]]:
    evidence = view.evidence
    if evidence.stale:
        when = "towards the end of" if evidence.seen else "in"
        yield f"What happened {when} this range is unknown. {freshness(evidence)}.", ()
    if not evidence.pods_seen:
        yield no_pod(evidence), ()
    if not evidence.events_known:
        yield no_event(evidence), ()


def _missing(view: Overview) -> Iterator[tuple[str, tuple[str, ...]]]:
    unknown = view.unknown
    if unknown.without_samples:
        nodes = counted(len(unknown.without_samples), "node")
        yield (
            f"No statistics (/stats/summary) for {nodes} in this range, so no margins and no forecasts.",
            unknown.without_samples,
        )
    if names := tuple(node.name for node in view.nodes if not node.known and node.deleted_at is None):
        yield "Only references to these nodes were seen, not their Node objects:", names
    if view.nodes and unknown.nodes_with_numa < len(view.nodes):
        without = len(view.nodes) - unknown.nodes_with_numa
        yield f"No source reports the NUMA nodes' CPUs for {counted(without, 'node')}.", ()
    if view.alerts is None:
        yield "This database has no alerts.", ()


def _sources(view: Overview) -> Iterator[tuple[str, tuple[str, ...]]]:
    for row in view.unknown.source_errors:
        if row["kind"] == "partial":
            continue
        silence = row["longest_silence_seconds"]
        what = {
            "silent": f"was silent, for up to {duration(silence)}",
            "gap": "may have missed changes",
            "behind": "has messages that Kafka will delete before they are read",
        }.get(row["kind"], "could not be read")
        last = ". The last" if row["times"] > 1 else ""
        yield (
            f"{row['resource']} {what} ({counted(row['times'], 'time')}){last}: {plainly(row['last_error'])}",
            tuple(row["nodes"]),
        )
    for row in view.unknown.dead_letters:
        records = f"{counted(row['times'], 'record')} could not be understood ({row['error_type']})"
        yield f"{records}, as at {row['example_at']}: {row['example_reason']}", ()
