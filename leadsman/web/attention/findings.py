"""What needs attention by what Leadsman concluded: pure, from an overview."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from leadsman.web.attention.badges import OFTEN, SOON_SECONDS, Severity, is_uneven
from leadsman.web.attention.item import Item, distinct
from leadsman.web.attention.pods import evicted, rejected
from leadsman.web.reading.margins import Margin
from leadsman.web.reading.overview import Overview
from leadsman.web.reading.words import BLIND_VERDICTS, duration, sentence, some
from streams.rules.eviction.signals import RESOURCES


def findings(view: Overview) -> Iterator[Item]:
    """In the order of these rules."""
    for rule in (
        _thresholds_met,
        evicted,
        _image_gc,
        _blind_spots,
        _nearing,
        _pressure,
        rejected,
        _overcommitted,
        _numa,
        _sources,
    ):
        yield from rule(view)


NEXT_EVICTION: Final = "See which pods go first: leadsman query next_eviction."


def _thresholds_met(view: Overview) -> Iterator[Item]:
    """A card for each resource, since signals of one file system are met together; a soft one only of other nodes."""
    hard: dict[str, dict[str, list[Margin]]] = {}
    soft: dict[str, dict[str, list[Margin]]] = {}
    met_now = {node.name for node in view.nodes if not node.stale}
    for node in view.nodes:
        for margin in (each for each in node.margins if each.met):
            found = hard if margin.hard_met else soft
            found.setdefault(RESOURCES[margin.signal], {}).setdefault(node.name, []).append(margin)
    for resource, nodes in hard.items():
        yield _met(resource, "hard", nodes, Severity.CRITICAL, met_now)
    for resource, nodes in soft.items():
        left = {name: margins for name, margins in nodes.items() if name not in hard.get(resource, {})}
        if left:
            yield _met(resource, "soft", left, Severity.WARNING, met_now)


def _met(
    resource: str, which: str, nodes: Mapping[str, Sequence[Margin]], severity: Severity, met_now: AbstractSet[str]
) -> Item:
    signals = distinct(margin.signal for margins in nodes.values() for margin in margins)
    name, margins = next(iter(nodes.items()))
    words = "; ".join(f"{margin.signal}, {margin.words}" for margin in margins)
    return Item(
        severity,
        f"{signals[0]} is below its {which} threshold"
        if len(signals) == 1
        else f"{_BELOW[resource]} below {which} thresholds",
        f"{name}: {words}." if len(nodes) == 1 else f"{', '.join(signals)}, on {len(nodes)} nodes.",
        tuple(nodes),
        "nodes",
        now=not met_now.isdisjoint(nodes),
        step=NEXT_EVICTION,
        about=tuple(("EvictionThresholdNear", signal) for signal in signals),
    )


_BELOW: Final = {"memory": "Memory is", "ephemeral-storage": "Disks are", "inodes": "Inodes are", "pids": "PIDs are"}
_IMAGE_GC_ALERTS: Final = {
    "persistent": ("ImageGCInvalidCapacity", "ImageGCInsufficientFreed"),
    "restart_loop": ("ImageGCRestartLoop",),
    "insufficient_freed": ("ImageGCInsufficientFreed",),
}


def _image_gc(view: Overview) -> Iterator[Item]:
    titles = {
        "persistent": "Image GC does not run",
        "restart_loop": "Image GC fails at every start of the kubelet",
        "insufficient_freed": "Image GC frees too little",
    }
    for verdict, title in titles.items():
        nodes = [node.name for node in view.nodes if node.image_gc == verdict]
        if nodes:
            row = next(each for each in view.image_gc if each["node"] == nodes[0] and each["verdict"] == verdict)
            yield Item(
                Severity.CRITICAL,
                title,
                row["explanation"],
                tuple(nodes),
                "image-gc",
                since=row["ts"],
                step="See what it wanted and freed: leadsman query broken_image_gc.",
                about=tuple((name, "") for name in _IMAGE_GC_ALERTS[verdict]),
            )


def _blind_spots(view: Overview) -> Iterator[Item]:
    for verdict in dict.fromkeys(row["verdict"] for row in view.blind_spots):
        same = [row for row in view.blind_spots if row["verdict"] == verdict]
        if verdict != "inconclusive":
            title = f"The scheduler: {BLIND_VERDICTS.get(verdict, verdict)}"
            nodes, seen = distinct(row["node"] for row in same), [row["ts"] for row in same]
            text = same[0]["evidence"]
            yield Item(
                Severity.CRITICAL,
                title,
                text,
                nodes,
                "scheduler",
                False,
                min(seen),
                max(seen),
                step="Restart kube-scheduler, or add or delete any node: both rebuild its list.",
                about=(("SchedulerBlindSpot", ""),),
            )


def _nearing(view: Overview) -> Iterator[Item]:
    soon = [
        (margin.seconds, node.name, margin)
        for node in view.nodes
        if not node.stale
        for margin in node.margins
        if not margin.met and margin.seconds is not None and margin.seconds <= SOON_SECONDS
    ]
    acting = sorted(each for each in soon if not each[2].gc_first)
    if acting:
        _, name, first = acting[0]
        text = f"{name}: {first.signal}, {first.words}, {first.ahead}."
        yield Item(
            Severity.WARNING,
            "A threshold is near",
            text,
            distinct(each[1] for each in acting),
            "nodes",
            step=NEXT_EVICTION,
            about=(("EvictionThresholdNear", ""),),
        )
    saved = sorted(each for each in soon if each[2].gc_first)
    if saved:
        text = f"{saved[0][1]}: {saved[0][2].signal}, {saved[0][2].ahead}, but image GC acts before that."
        step = "Nothing to do unless image GC fails: leadsman query image_gc_now."
        yield Item(Severity.NOTE, "Image GC will act", text, distinct(each[1] for each in saved), "nodes", step=step)


def _pressure(view: Overview) -> Iterator[Item]:
    for condition in ("MemoryPressure", "DiskPressure", "PIDPressure"):
        under = [node for node in view.nodes if condition in node.pressure]
        if under:
            since = min(
                (node.pressure_since[condition] for node in under if condition in node.pressure_since), default=None
            )
            yield Item(
                Severity.WARNING,
                condition if len(under) == 1 else f"{condition} on {len(under)} nodes",
                "No new pods are placed there, and pods can be evicted.",
                tuple(node.name for node in under),
                "nodes",
                since=since,
                step="See what is left and what goes first: leadsman query thresholds.",
                about=(("NodePressureLasting", condition),),
            )
    swinging = [node for node in view.nodes if node.times_under_pressure >= OFTEN]
    if swinging:
        most = max(swinging, key=lambda node: node.times_under_pressure)
        text = f"{most.name} came under pressure {most.times_under_pressure} times."
        names = tuple(node.name for node in swinging)
        yield Item(
            Severity.WARNING,
            "In and out of pressure",
            text,
            names,
            "timeline",
            now=False,
            step="Find what fills it again: leadsman query pressure_oscillation.",
            about=(("PressureOscillation", ""),),
        )


def _overcommitted(view: Overview) -> Iterator[Item]:
    over: dict[str, list[str]] = {}
    for node in view.nodes:
        for resource, fit in node.fit.items():
            if fit.requested > fit.allocatable:
                over.setdefault(resource, []).append(node.name)
    for resource, nodes in over.items():
        text = f"Pods request more {resource} than {some(len(nodes), 'node')} can give."
        yield Item(
            Severity.WARNING,
            f"More {resource} requested than allocatable",
            text,
            tuple(nodes),
            "nodes",
            step="Move pods, or raise requests to what is used: leadsman query over_request.",
            about=(("NodeOvercommitted", f" {resource}, "),),
        )


def _numa(view: Overview) -> Iterator[Item]:
    late = view.late_joiners
    if late is not None and late["verdict"] == "late_joiners_emptier":
        names = (*late["youngest_nodes"], *late["oldest_nodes"])
        title = "Nodes that joined later stay emptier"
        step = "See by which placement pods would be even: leadsman query numa_whatif."
        yield Item(Severity.WARNING, title, sentence(late["explanation"]), names, "numa", step=step)
    nodes = [node for node in view.nodes if is_uneven(node)]
    if nodes:
        first = max(nodes, key=lambda node: (node.numa or {})["stranded_cpus"])
        numa = first.numa or {}
        largest = f"the largest exclusive pod that fits has {numa['largest_fit_cpus']}"
        text = f"{first.name}: {numa['free_cpus']} CPUs are free, {largest}."
        yield Item(
            Severity.WARNING,
            "Uneven NUMA nodes",
            text,
            tuple(node.name for node in nodes),
            "numa",
            step="See where exclusive CPUs are free: leadsman query numa_map.",
            about=(("NUMASkewHigh", ""), ("NUMAFragmented", "")),
        )


def _sources(view: Overview) -> Iterator[Item]:
    for row in view.unknown.source_errors:
        if row["kind"] == "silent":
            text = f"Nothing was heard for up to {duration(row['longest_silence_seconds'])}. {row['last_error']}"
            title, nodes = f"{row['resource']} fell silent", tuple(row["nodes"])
            yield Item(
                Severity.WARNING,
                title,
                text,
                nodes,
                "unknown",
                now=False,
                until=row["last_at"],
                step="Check that it answers and what Leadsman may read: leadsman validate.",
                about=(("StreamStalled", row["resource"]),),
            )
