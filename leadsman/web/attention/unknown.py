"""Uncertain facts, in sentences with the nodes that each concerns."""

from collections.abc import Iterator

from common.amounts import counted
from leadsman.web.reading.evidence import NO_EVENT, NO_POD, freshness
from leadsman.web.reading.overview import Overview
from leadsman.web.reading.words import duration, plainly, timestamp


def unknowns(view: Overview) -> list[tuple[str, tuple[str, ...]]]:
    """A sentence and its nodes for everything that is assumed, a lower bound, missing or unreadable."""
    return [*_unseen(view), *_assumed(view), *_missing(view), *_sources(view)]


def assumed_thresholds(nodes: int) -> str:
    return f"The thresholds of {counted(nodes, 'node')} are assumed to be the defaults: no /configz was seen"


def lower_bounds(counts: int) -> str:
    bounds = counted(counts, "event count is a lower bound", "event counts are lower bounds")
    return f"{bounds}: Kubernetes drops repeats"


def without_rank(evictions: int) -> str:
    have = counted(evictions, "eviction has", "evictions have")
    return f"{have} no predicted rank: there was no sample, or not every pod was known"


def partial(left_out: int) -> str:
    return f"Verdicts are partial: {counted(left_out, 'entry', 'entries')} had no room in a log's state"


def withheld(texts: int) -> str:
    of = counted(texts, "text is", "texts are")
    return f"{of} withheld in whole or part (redact: strict): causes that only they name are not known"


def _unseen(view: Overview) -> Iterator[tuple[str, tuple[str, ...]]]:
    evidence = view.evidence
    if evidence.stale:
        when = "towards the end of" if evidence.seen else "in"
        yield f"What happened {when} this range. {freshness(evidence)}.", ()
    if not evidence.pods_seen:
        yield NO_POD, ()
    if not evidence.events_seen:
        yield NO_EVENT, ()


def _assumed(view: Overview) -> Iterator[tuple[str, tuple[str, ...]]]:
    unknown = view.unknown
    if unknown.assumed_thresholds:
        yield f"{assumed_thresholds(len(unknown.assumed_thresholds))}:", unknown.assumed_thresholds
    if unknown.lower_bounds:
        yield f"{lower_bounds(unknown.lower_bounds)}.", ()
    if unknown.withheld:
        yield f"{withheld(unknown.withheld)}.", ()
    if unknown.without_rank:
        yield f"{without_rank(unknown.without_rank)}.", ()
    guessed = tuple(node.name for node in view.nodes if node.numa and node.numa["fidelity"] != "exact")
    if guessed:
        yield "Exact CPU IDs of exclusive pods are unknown (counts only) on:", guessed


def _missing(view: Overview) -> Iterator[tuple[str, tuple[str, ...]]]:
    unknown = view.unknown
    if unknown.without_samples:
        nodes = counted(len(unknown.without_samples), "node")
        yield (
            f"No statistics (/stats/summary) of {nodes} in this range: no margins, no forecasts.",
            unknown.without_samples,
        )
    known = sum(node.known for node in view.nodes)
    if view.nodes and known < len(view.nodes):
        names = tuple(node.name for node in view.nodes if not node.known)
        yield "Node objects were not seen, only references to them:", names
    if view.nodes and unknown.nodes_with_numa < len(view.nodes):
        without = len(view.nodes) - unknown.nodes_with_numa
        yield f"No source reports the NUMA nodes' CPUs for {counted(without, 'node')}.", ()
    if view.alerts is None:
        yield "This database has no alerts.", ()


def _sources(view: Overview) -> Iterator[tuple[str, tuple[str, ...]]]:
    for row in view.unknown.source_errors:
        if row["kind"] == "partial":
            since = f"{row['resource']}, since {timestamp(row['first_at'])} UTC"
            yield f"{partial(row['left_out'])} ({since}). The last: {plainly(row['last_error'])}", ()
            continue
        silence = row["longest_silence_seconds"]
        what = {
            "silent": f"was silent, for up to {duration(silence)}",
            "gap": "may have missed changes",
            "behind": "has messages that Kafka will delete before they are read",
        }.get(row["kind"], "could not be read")
        yield (
            f"{row['resource']} {what} ({counted(row['times'], 'time')}). The last: {plainly(row['last_error'])}",
            tuple(row["nodes"]),
        )
    for row in view.unknown.dead_letters:
        records = f"{counted(row['times'], 'record')} could not be understood ({row['error_type']})"
        yield f"{records}, as at {row['example_at']}: {row['example_reason']}", ()
