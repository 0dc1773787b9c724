"""Builds items from Leadsman's findings. Pure: it reads only an overview."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from datetime import timedelta
from typing import Final

from common.amounts import counted, how_often
from leadsman.web.attention import kinds
from leadsman.web.attention.badges import OFTEN
from leadsman.web.attention.item import Item, Step, distinct
from leadsman.web.attention.pods import evicted, rejected
from leadsman.web.reading.margins import Margin
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.overview import Overview, Since, earliest, first
from leadsman.web.reading.words import duration, plainly, sentence, unit
from streams.fold.findings import BLIND_VERDICTS, BROKEN_GC, image_gc_head
from streams.fold.titles import capital, free_cpus
from streams.rules.eviction.shortage import FAMILIES, WHILE_UNDER_PRESSURE
from streams.rules.eviction.signals import CONSEQUENCES, RESOURCES, Reading, describe_signal, is_low, unguarded_of
from streams.rules.values.wording import amount_left


def findings(view: Overview) -> Iterator[Item]:
    for rule in (
        _thresholds_met,
        _unguarded,
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


def _thresholds_met(view: Overview) -> Iterator[Item]:
    """Yield a card for each resource, because signals of one file system are met together; for soft thresholds, only
    of other nodes. Nodes with only old samples get separate cards, which are over.
    """
    for fresh in (True, False):
        hard: dict[str, dict[str, list[Margin]]] = {}
        soft: dict[str, dict[str, list[Margin]]] = {}
        for node in (each for each in view.nodes if each.stale is not fresh):
            for margin in (each for each in node.margins if each.met):
                met = hard if margin.hard_met else soft
                met.setdefault(RESOURCES[margin.signal], {}).setdefault(node.name, []).append(margin)
        for resource, nodes in hard.items():
            yield _met(view, resource, "hard", nodes, now=fresh)
        for resource, nodes in soft.items():
            left = {name: margins for name, margins in nodes.items() if name not in hard.get(resource, {})}
            if left:
                yield _met(view, resource, "soft", left, now=fresh)


def _unguarded(view: Overview) -> Iterator[Item]:
    """Yield a card for each resource with a signal that runs out without a threshold on its file system."""
    by_resource: dict[str, dict[str, Margin]] = {}
    for node in view.nodes:
        low = [each for each in node.margins if is_low(each.available, each.capacity)]
        if node.stale or not low:
            continue
        bare = unguarded_margins(node.margins)
        for margin in low:
            if margin.signal in bare:
                by_resource.setdefault(RESOURCES[margin.signal], {}).setdefault(node.name, margin)
    for resource, nodes in by_resource.items():
        name, margin = min(nodes.items(), key=lambda each: each[1].available / max(1, each[1].capacity))
        left = amount_left(unit(margin.signal) == "bytes", margin.available, margin.capacity)
        step = f"Find what uses it; add {margin.signal} to evictionHard, and keep its other keys"
        yield kinds.UNGUARDED.item(
            f"{_BELOW[resource]} nearly used up, without a threshold",
            f"{_of(view, name, f'{describe_signal(margin.signal)}: {left}')}. {CONSEQUENCES[resource]}",
            nodes,
            resource,
            step=Step(step, "unguarded_signals"),
            signals=(margin.signal,),
        )


def unguarded_margins(margins: Iterable[Margin]) -> frozenset[str]:
    """Return the signals of one node that have no threshold, if no other signal of the file system has one."""
    return unguarded_of(
        Reading(each.signal, each.available, each.capacity, each.threshold is not None) for each in margins
    )


def _met(view: Overview, resource: str, which: str, nodes: Mapping[str, Sequence[Margin]], *, now: bool) -> Item:
    signals = distinct(margin.signal for margins in nodes.values() for margin in margins)
    name, margins = min(nodes.items(), key=lambda each: min(margin.room for margin in each[1]))
    what = [describe_signal(signal) for signal in signals]
    are = "are below their" if unit(signals[0]) != "bytes" else "is below its"
    by_state: dict[str, list[str]] = {}
    for margin in margins:
        by_state.setdefault(margin.stands, []).append(describe_signal(margin.signal))
    alone = "; ".join(f"{', '.join(names)}: {stands}" for stands, names in by_state.items())
    return (
        (kinds.HARD_MET if which == "hard" else kinds.SOFT_MET)
        .item(
            f"{capital(what[0])} {are} {which} threshold"
            if len(signals) == 1
            else f"{_BELOW[resource]} below {which} thresholds",
            f"{'The lowest: ' if len(nodes) > 1 else ''}{_of(view, name, alone)}.",
            nodes,
            now=now,
            alert_keys=_threshold_keys([resource]),
            signals=signals,
            short_of=FAMILIES[resource],
            fact=f"{'inodes ' if resource == 'inodes' else ''}below the {which} threshold{_on(view, nodes)}",
        )
        .begun(first(view.begun, which, signals, nodes))
    )


def _threshold_keys(resources: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    keys = dict.fromkeys(("EvictionThresholdNear", resource) for resource in resources)
    return (*keys, *((("EvictionTooLate",),) if ("EvictionThresholdNear", "memory") in keys else ()))


def _on(view: Overview, nodes: Sized) -> str:
    return "" if view.node else f" on {counted(len(nodes), 'node')}"


def _of(view: Overview, node: str, text: str) -> str:
    """Return a text about one node, whose name is left out on the page of that node."""
    return capital(text) if view.node else f"{node}, {text}"


_BELOW: Final = {"memory": "Memory is", "ephemeral-storage": "Disks are", "inodes": "Inodes are", "pids": "PIDs are"}
_GONE: Final = "That node is gone.", "Those nodes are gone."
_NO_NEWS: Final = "It is unknown whether it still does: there is no data since."


def _image_gc(view: Overview) -> Iterator[Item]:
    """Yield a card for each verdict and headline.

    Without new data it is over, like its alert, although it may continue.
    """
    for verdict in BROKEN_GC:
        latest = {each["node"]: each for each in reversed(view.image_gc) if each["verdict"] == verdict}
        for goes_on in (True, False):
            heads: dict[str, list[str]] = {}
            for node in view.nodes:
                if node.image_gc == verdict and node.image_gc_goes_on is goes_on:
                    head = image_gc_head(verdict, latest[node.name]["reason"], goes_on=goes_on)
                    heads.setdefault(head, []).append(node.name)
            for head, nodes in heads.items():
                rows = [latest[name] for name in nodes]
                of_whom = f"on {nodes[0]}" if len(nodes) > 1 else ""
                of_when = "" if goes_on else "as last reported"
                begins = capital(", ".join(filter(None, (of_whom, of_when))))
                text = ": ".join(filter(None, (begins, rows[0]["explanation"])))
                if not goes_on:
                    is_gone = all(row["is_gone"] for row in rows)
                    text = f"{text} {_GONE[len(nodes) > 1] if is_gone else _NO_NEWS}"
                until = None if goes_on else max(row["last_at"] for row in rows)
                since = min(row["ts"] for row in rows)
                yield kinds.IMAGE_GC[verdict].item(head, text, nodes, now=goes_on, since=since, until=until)


def _blind_spots(view: Overview) -> Iterator[Item]:
    for verdict in dict.fromkeys(row["verdict"] for row in view.blind_spots):
        same = [row for row in view.blind_spots if row["verdict"] == verdict]
        if verdict != "inconclusive":
            title = f"The scheduler {BLIND_VERDICTS.get(verdict, verdict)}"
            nodes, seen = distinct(row["node"] for row in same), [row["ts"] for row in same]
            text = sentence(same[0]["evidence"])
            yield kinds.BLIND_SPOT.item(title, text, nodes, now=False, since=min(seen), until=max(seen))


def _nearing(view: Overview) -> Iterator[Item]:
    soon = [
        (margin.seconds, node.name, margin)
        for node in view.nodes
        if not node.stale
        for margin in node.margins
        if margin.near and margin.seconds is not None
    ]
    acting = sorted(each for each in soon if not each[2].gc_first)
    for family in dict.fromkeys(_family(each[2]) for each in acting):
        same = [each for each in acting if _family(each[2]) == family]
        _, name, nearest = same[0]
        nodes = distinct(each[1] for each in same)
        yield kinds.NEAR.item(
            "A threshold is near",
            _of(view, name, f"{nearest.nearest}."),
            nodes,
            alert_keys=_threshold_keys(RESOURCES[each[2].signal] for each in same),
            signals=(nearest.signal,),
            short_of=family,
            fact=f"near {'the' if view.node else 'a'} threshold{_on(view, nodes)}",
        ).begun(_near_since(view, same))
    saved = sorted(each for each in soon if each[2].gc_first)
    if saved:
        _, name, first_saved = saved[0]
        text = _of(view, name, f"{first_saved.nearest}, but image GC acts before that.")
        nodes = distinct(each[1] for each in saved)
        item = kinds.GC_WILL_ACT.item("Image GC will act", text, nodes, signals=(first_saved.signal,))
        yield item.begun(_near_since(view, saved))


def _family(margin: Margin) -> str:
    return FAMILIES[RESOURCES[margin.signal]]


def _near_since(view: Overview, near: Sequence[tuple[float | None, str, Margin]]) -> Since | None:
    """Return since when the near signal of each node has been near."""
    return earliest(first(view.begun, "near", (margin.signal,), (name,)) for _, name, margin in near)


_NOT_REPORTED: Final = "It is unknown whether this goes on: the kubelet no longer reports."


def _pressure(view: Overview) -> Iterator[Item]:
    for condition in ("MemoryPressure", "DiskPressure", "PIDPressure"):
        every = [node for node in view.nodes if condition in node.pressure]
        silent = [node for node in every if node.not_ready and node.ready is None]
        for under in ([node for node in every if node not in silent], silent):
            if not under:
                continue
            begun = earliest(
                Since(node.pressure_since[condition], condition in node.pressure_or_earlier)
                for node in under
                if condition in node.pressure_since
            )
            goes_on = under is not silent
            yield kinds.PRESSURE.item(
                condition if len(under) == 1 else f"{condition} on {counted(len(under), 'node')}",
                WHILE_UNDER_PRESSURE if goes_on else _NOT_REPORTED,
                (node.name for node in under),
                condition,
                now=goes_on,
                of_each=condition,
                short_of=FAMILIES[condition],
                fact=f"{condition}{_on(view, under)}",
                is_condition=goes_on,
            ).begun(begun)
    yield from _swinging([node for node in view.nodes if node.times_under_pressure >= OFTEN], one=bool(view.node))


def _swinging(nodes: Sequence[NodeLine], *, one: bool) -> Iterator[Item]:
    for condition in dict.fromkeys(node.swings for node in nodes):
        swinging = [node for node in nodes if node.swings == condition]
        most = max(swinging, key=lambda node: node.times_under_pressure)
        who = "The node" if one else most.name
        text = f"{who} came under {condition or 'pressure'} {how_often(most.times_under_pressure)}."
        spans = [node.under_pressure for node in swinging if node.under_pressure is not None]
        since, until = min((span[0] for span in spans), default=None), max((span[1] for span in spans), default=None)
        names = [node.name for node in swinging]
        yield kinds.SWINGS.item(
            "In and out of pressure",
            text,
            names,
            now=False,
            since=since,
            until=until,
            short_of=FAMILIES.get(condition, ""),
            fact="in and out of pressure",
        )


def _overcommitted(view: Overview) -> Iterator[Item]:
    counts = Counter(resource for node in view.nodes for resource in node.overcommitted)
    nodes = tuple(node.name for node in view.nodes if node.overcommitted)
    if nodes:
        each = [f"{_REQUESTED.get(name, name)} on {counted(count, 'node')}" for name, count in counts.most_common()]
        text = f"Pods request more than nodes can allocate: {', '.join(each)}."
        item = kinds.OVERCOMMITTED.item("More requested than allocatable", text, nodes)
        yield item.begun(first(view.begun, "over", counts, nodes))


_REQUESTED: Final = {"cpu": "CPUs", "ephemeral-storage": "ephemeral storage"}


def _numa(view: Overview) -> Iterator[Item]:
    late = view.late_joiners
    if late is not None and late["verdict"] == "late_joiners_emptier":
        text = sentence(late["explanation"])
        item = kinds.LATE_JOINERS.item("Nodes that joined later stay emptier", text, late["youngest_nodes"])
        yield item.begun(first(view.begun, "late", ("",), ("",)))
    nodes = [node for node in view.nodes if node.uneven]
    if nodes:
        most = max(nodes, key=lambda node: (node.numa or {})["stranded_cpus"])
        numa = most.numa or {}
        text = _of(view, most.name, f"{free_cpus(numa['free_cpus'], numa['largest_fit_cpus'])}.")
        names = tuple(node.name for node in nodes)
        yield kinds.UNEVEN.item("Uneven NUMA nodes", text, names).begun(first(view.begun, "uneven", ("",), names))


def _sources(view: Overview) -> Iterator[Item]:
    for row in view.unknown.source_errors:
        if row["kind"] == "silent":
            silence = row["longest_silence_seconds"]
            text = f"No data for up to {duration(silence)}. {sentence(plainly(row['last_error']))}"
            since = min(row["first_at"], row["last_at"] - timedelta(seconds=silence or 0))
            title, nodes, resource = f"{row['resource']} fell silent", row["nodes"], row["resource"]
            yield kinds.SILENT_SOURCE.item(title, text, nodes, resource, now=False, since=since, until=row["last_at"])
