"""What needs attention, now and during the range, the worst first: pure, from an overview."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from common.text import plain
from leadsman.web.attention.badges import Badge, Severity
from leadsman.web.attention.findings import findings
from leadsman.web.attention.item import Item, distinct
from leadsman.web.reading.alerts import Alert
from leadsman.web.reading.asked import RowDict
from leadsman.web.reading.evidence import freshness
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.overview import Overview
from leadsman.web.reading.words import some

_SEVERITIES: Final = {"critical": 0, "error": 0, "page": 0, "warning": 1}
MOST_WARNINGS: Final = 5
"""Reasons that have an item of their own."""
MOST_REASONS: Final = 4
"""Groups of pending pods that are listed."""
MOST_TEXT: Final = 300
"""Characters of a message."""


def attention(view: Overview) -> list[Item]:
    """The items, worst first; of one severity in the order of these rules. A problem and its alert are one item."""
    items = [
        *_silence(view),
        *_not_ready(view),
        *_out_of_memory(view),
        *_waiting(view),
        *findings(view),
        *_warnings(view),
        *_without_statistics(view),
        *_without_news(view),
    ]
    return sorted(_with_alerts(items, view.alerts or ()), key=lambda item: item.severity)


_TITLES_OF: Final = {
    "DeadLetters": (),
    "EvictionThresholdNear": ("threshold",),
    "ImageGCInsufficientFreed": ("Image GC frees too little",),
    "ImageGCInvalidCapacity": ("Image GC does not run",),
    "ImageGCRestartLoop": ("Image GC fails at every start",),
    "NodeOvercommitted": ("requested than allocatable",),
    "NUMASkewHigh": ("Uneven NUMA nodes",),
    "PodsEvicted": ("evicted", "rejected at admission"),
    "PressureOscillation": ("In and out of pressure",),
    "SchedulerBlindSpot": ("The scheduler:",),
    "StreamStalled": ("fell silent",),
}
"""Parts of the titles of the problems that an alert is about, the likeliest first."""


def _with_alerts(items: Iterable[Item], alerts: Iterable[Alert]) -> list[Item]:
    """The items with the alerts that fire about them; an alert about none is an item of its own."""
    found = list(items)
    firing = [alert for alert in alerts if alert.firing]
    for name in dict.fromkeys(alert.name for alert in firing):
        same = [alert for alert in firing if alert.name == name]
        severity = Severity(min(_SEVERITIES.get(alert.severity, Severity.NOTE) for alert in same))
        nodes, since = distinct(alert.node for alert in same), min(alert.starts_at for alert in same)
        place = _place(found, name, nodes)
        if place is None:
            text = same[0].summary if len(same) == 1 else f"{len(same)} of them fire. The last: {same[0].summary}"
            found.append(Item(severity, f"Alert {name}", text, nodes, "alerts", since=since))
        else:
            item = found[place]
            found[place] = item._replace(
                severity=min(item.severity, severity),
                nodes=distinct((*item.nodes, *nodes)),
                now=True,
                since=min(since, item.since or since),
                alerts=(*item.alerts, name),
            )
    return found


def _place(items: Sequence[Item], alert: str, nodes: Sequence[str]) -> int | None:
    """Which item tells the alert's problem, on a node of the alert where both name some."""
    for part in _TITLES_OF.get(alert, ()):
        for place, item in enumerate(items):
            if part in item.title and (not nodes or not item.nodes or set(nodes) & set(item.nodes)):
                return place
    return None


def named(node: NodeLine, items: Iterable[Item]) -> list[Badge]:
    """What a list says of a node that an item names: it is not simply ok."""
    serious = [item for item in items if item.severity < Severity.UNKNOWN and node.name in item.nodes]
    return [Badge(item.severity, item.title) for item in serious[:1]]


def _silence(view: Overview) -> Iterator[Item]:
    """The whole cluster is not heard of: nothing is known of how it is now."""
    evidence = view.evidence
    if evidence.stale:
        title = "Nothing is known of now" if view.scope.now else "Nothing was seen towards the end of the range"
        text = f"{freshness(evidence)}. All else here is how it was then."
        yield Item(Severity.UNKNOWN, title, text, (), "unknown", since=evidence.last_at)


def _not_ready(view: Overview) -> Iterator[Item]:
    known = [node for node in view.nodes if node.known]
    refused = tuple(node.name for node in known if node.ready is False)
    silent = tuple(node.name for node in known if node.ready is None)
    of = f"of {some(len(known), 'node')}"
    if refused:
        text = "Its kubelet reports a problem." if len(refused) == 1 else "Their kubelets report a problem."
        action = " New pods do not go there: kubectl describe node tells the reason."
        yield Item(Severity.CRITICAL, f"{len(refused)} {of} not Ready", text + action, refused, "nodes")
    if silent:
        text = "The kubelet does not report, or the Node has no condition Ready. Whether its pods run is not known."
        yield Item(Severity.CRITICAL, f"{len(silent)} {of} with Ready unknown", text, silent, "nodes")


_OUT_OF_MEMORY: Final = ("OOMKilling", "SystemOOM")


def _out_of_memory(view: Overview) -> Iterator[Item]:
    for row in view.warnings:
        if row["reason"] in _OUT_OF_MEMORY:
            yield _of_events(Severity.CRITICAL, f"Out of memory ({row['reason']})", row)


def _warnings(view: Overview) -> Iterator[Item]:
    others = [row for row in view.warnings if row["reason"] not in _OUT_OF_MEMORY]
    for row in others[:MOST_WARNINGS]:
        yield _of_events(Severity.WARNING, row["reason"], row)
    if rest := others[MOST_WARNINGS:]:
        text = ", ".join(f"{row['reason']} ({row['times']})" for row in rest)
        title = f"Warnings of {some(len(rest), 'more reason')}"
        yield Item(Severity.WARNING, title, f"{text}.", (), "timeline", now=False)


def _of_events(severity: Severity, what: str, row: RowDict) -> Item:
    title = f"{what}, {'at least ' * bool(row['lower_bound'])}{some(row['times'], 'time')}"
    objects = (
        row["last_object"] if row["objects"] == 1 else f"{row['objects']:,} objects. The last, {row['last_object']}"
    )
    text = f"{objects}: {plain(row['last_message'], MOST_TEXT)}"
    return Item(severity, title, text, tuple(row["nodes"]), "timeline", False, row["first_at"], row["last_at"])


def _waiting(view: Overview) -> Iterator[Item]:
    """Pending pods, with the reasons of those that most wait for."""
    if not view.waiting:
        return
    pods = sum(row["pods"] for row in view.waiting)
    listed = [
        f"{_group(row)}: {plain(row['why'], MOST_TEXT) or 'no reason was seen'}"
        for row in view.waiting[:MOST_REASONS]
    ]
    more = len(view.waiting) - len(listed)
    text = ". ".join(listed) + (f". And {some(more, 'more group')}." if more else ".")
    since = min(row["first_since"] for row in view.waiting)
    nodes = distinct(row["node"] for row in view.waiting)
    yield Item(Severity.WARNING, f"{some(pods, 'pod')} Pending", text, nodes, "scheduler", since=since)


def _group(row: RowDict) -> str:
    if row["pods"] == 1:
        who = f"{row['namespace']}/{row['pod']}"
    else:
        who = f"{row['pods']}{' of ' + row['owner'] if row['owner'] else ''} in {row['namespace']}"
    return f"{who} on {row['node']}" if row["node"] else who


def _without_statistics(view: Overview) -> Iterator[Item]:
    """Of a cluster that is heard of otherwise."""
    nodes = tuple(node.name for node in view.nodes if node.known and node.stale)
    if nodes and not view.evidence.stale:
        ages = {node.sample_age for node in view.nodes if node.known and node.stale and node.sample_age}
        last = f"The last sample: {min(ages)}. " if len(ages) == 1 else ""
        title = f"No recent statistics of {len(nodes)} of {some(len(view.nodes), 'node')}"
        yield Item(Severity.UNKNOWN, title, f"{last}Their room and pressure ahead are not known.", nodes, "unknown")


def _without_news(view: Overview) -> Iterator[Item]:
    """Alerts of which nobody knows whether they still hold, while there is no data."""
    stale = {node.name for node in view.nodes if node.stale}
    lost = [alert for alert in view.alerts or () if alert.unknown and (alert.node in stale or view.evidence.stale)]
    if lost:
        names = ", ".join(dict.fromkeys(alert.name for alert in lost))
        title = f"{some(len(lost), 'alert')} without data"
        text = f"Whether {'it still holds' if len(lost) == 1 else 'they still hold'} is not known: {names}."
        nodes, since = distinct(alert.node for alert in lost), min(alert.ends_at or alert.starts_at for alert in lost)
        yield Item(Severity.UNKNOWN, title, text, nodes, "alerts", since=since)
