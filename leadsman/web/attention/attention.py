"""Lists what needs attention, now and during the range, worst first. Pure: it reads only an overview."""

from collections.abc import Iterable, Iterator, Sequence
from shlex import quote
from typing import Final

from common.amounts import counted
from common.text import argument, plain
from leadsman.web.attention import kinds
from leadsman.web.attention.badges import Badge, Severity
from leadsman.web.attention.findings import findings, unguarded_margins
from leadsman.web.attention.item import Item, Step, distinct, incidents
from leadsman.web.attention.nodes import cordoned_by_event, last_sample, not_ready, problems, silent_nodes
from leadsman.web.attention.pods import MOST_TEXT, out_of_memory, resizes, terminating, waiting
from leadsman.web.reading.alerts import Alert, held
from leadsman.web.reading.ask import RowDict
from leadsman.web.reading.evidence import freshness
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.overview import Overview, Since
from leadsman.web.reading.words import sentence
from streams.fold.titles import CONTAINER_GC_FAILS, OUT_OF_MEMORY
from streams.rules.eviction.shortage import FAMILIES
from streams.rules.eviction.signals import RESOURCES

_OF_IMAGE_GC: Final = frozenset(name for kind in kinds.IMAGE_GC.values() for name in kind.alerts)
_OF_STATES: Final = frozenset({"NodeNotReady", "NodePressureLasting"}) | _OF_IMAGE_GC
"""Alerts about a state; their item lasts as long as the state."""
_SHORTAGES: Final = {"EvictionThresholdNear": "resource", "NodePressureLasting": "condition"}
"""The label that names the scarce resource, by alert."""
MOST_WARNINGS: Final = 5
"""Reasons that have an item of their own."""


def attention(view: Overview) -> list[Item]:
    """Return the items, worst first; items of one severity are in the order of these rules.

    A problem and its alert are one item. Missing current data comes first, because everything else is as of the last
    observation.
    """
    silence, found = list(_silence(view)), list(findings(view))
    items = [
        *silence,
        *not_ready(view),
        *cordoned_by_event(view),
        *problems(view),
        *out_of_memory(view),
        *waiting(view),
        *resizes(view),
        *terminating(view),
        *incidents([*found, *_forewarned(view, found)], view.culprits),
        *_warnings(view),
        *_without_statistics(view),
    ]
    items = _with_alerts(items, view)
    items += _without_news(view, items)
    return items[: len(silence)] + sorted(items[len(silence) :], key=lambda item: item.severity)


def _with_alerts(items: Iterable[Item], view: Overview) -> list[Item]:
    """Add firing alerts to the items about them. Alerts with the same name and no item share a new one.

    An alert that fires only because of `keep_firing` gets no item. An item that knows its start keeps it, because an
    alert can be earlier (a forecast) or later (a hold time). An item from old samples does not become current because
    of an alert from the same samples.
    """
    found, nodes = list(items), {node.name: node for node in view.nodes}
    stale = {name for name, node in nodes.items() if node.stale}
    left: dict[str, list[Alert]] = {}
    for alert in _loud(view):
        index = next((index for index, item in enumerate(found) if _is_about(alert, item)), None)
        if index is None:
            if alert.firing and not _is_over(alert, nodes.get(alert.node), view.image_gc):
                left.setdefault(alert.name, []).append(alert)
        else:
            item = found[index]
            found[index] = item._replace(
                severity=min(item.severity, Severity.of_alert(alert.severity)),
                now=item.now or not (alert.name in _OF_STATES or (item.signals and stale >= set(item.nodes))),
                since=item.since or alert.starts_at,
                alerts=distinct((*item.alerts, alert.name)),
            )
    return found + [_of_alerts(name, same) for name, same in left.items()]


def _loud(view: Overview) -> list[Alert]:
    return [alert for alert in held(view.alerts or (), view.evidence) if not alert.silenced]


def _forewarned(view: Overview, found: Sequence[Item]) -> Iterator[Item]:
    """Yield alerts about a scarce resource without a row of their own: they join other findings about it."""
    nodes = {node.name: node for node in view.nodes}
    left: dict[tuple[str, str], list[Alert]] = {}
    for alert in _loud(view):
        about = alert.labels.get(_SHORTAGES.get(alert.name, ""), "")
        is_known = about not in FAMILIES or any(_is_about(alert, item) for item in found)
        if alert.firing and not is_known and not _is_over(alert, nodes.get(alert.node), view.image_gc):
            left.setdefault((alert.name, about), []).append(alert)
    for (name, about), same in left.items():
        item, keys = _of_alerts(name, same), ((name, about),)
        yield item._replace(short_of=FAMILIES[about], fact=f"alert {name}", alert_keys=keys)


def _is_over(alert: Alert, node: NodeLine | None, image_gc: Iterable[RowDict]) -> bool:
    """Tell whether the last row about its subject shows that the alert cannot hold with any settings."""
    if node is None:
        return False
    if alert.name == "NodeNotReady":
        return node.ready is True
    if alert.name == "NodePressureLasting":
        return node.known and alert.labels.get("condition", "") not in {"", *node.pressure}
    if alert.name in _OF_IMAGE_GC:
        episodes = (
            row for row in image_gc if (row["node"], row["reason"]) == (node.name, alert.labels.get("reason"))
        )
        return next((row["verdict"] == "recovered" for row in episodes), False)
    if alert.name != "EvictionThresholdNear" or node.stale:
        return False
    of_it = [each for each in node.margins if RESOURCES[each.signal] == alert.resource]
    bare = unguarded_margins(node.margins)
    return bool(of_it) and not any(each.met or each.seconds is not None or each.signal in bare for each in of_it)


def _is_about(alert: Alert, item: Item) -> bool:
    """Tell whether an alert and an item are about one problem: on a node of the item, if both name nodes."""
    labels = {"", *alert.labels.values()}
    is_same = any(name == alert.name and labels.issuperset(values) for name, *values in item.alert_keys)
    return is_same and (not alert.node or not item.nodes or alert.node in item.nodes)


def _of_alerts(name: str, same: Sequence[Alert]) -> Item:
    summary = sentence(same[0].summary)
    text = summary if len(same) == 1 else f"{len(same)} of them are firing. The latest: {summary}"
    severity = min(Severity.of_alert(alert.severity) for alert in same)
    nodes, since = distinct(alert.node for alert in same), min(alert.starts_at for alert in same)
    return Item(
        severity,
        f"Alert {name}",
        text,
        nodes,
        "alerts",
        since=since,
        alerts=(name,),
        step=Step(same[0].description.removesuffix(".") or f"Read its runbook, {name}"),
    )


def named(node: NodeLine, items: Iterable[Item]) -> list[Badge]:
    """Return the badges of a node that an item names, so that the node does not look ok."""
    serious = [item for item in items if item.severity < Severity.UNKNOWN and node.name in item.nodes]
    return [
        Badge(item.severity, item.title if len(item.nodes) == 1 else item.of_each or item.title)
        for item in serious[:1]
    ]


def _silence(view: Overview) -> Iterator[Item]:
    """Yield an item if there is no current data about the cluster at all."""
    evidence = view.evidence
    if evidence.stale:
        before = f"Nothing was seen {'towards the end of' if evidence.seen else 'in'} the range"
        title = "No current data" if view.scope.now else before
        text = f"{freshness(evidence)}. Everything below is as of that time."
        yield kinds.NO_DATA.item(title, text, (), since=evidence.last_at)


_KERNEL: Final = frozenset({"OOMKilling", "SystemOOM"})
_WARNINGS: Final = {
    "OOMKilling": "The kernel killed processes that ran out of memory",
    "SystemOOM": OUT_OF_MEMORY,
    "BackOff": "Crash loop: containers end and are restarted again and again",
    "ContainerGCFailed": CONTAINER_GC_FAILS,
    "Failed": "Containers could not be started",
    "CgroupV1": "The node uses cgroup v1",
    "FailedAttachVolume": "Volumes could not be attached",
    "FailedCreate": "Pods could not be created",
    "FailedCreatePodSandBox": "Pod sandboxes could not be created",
    "FailedMount": "Volumes could not be mounted",
    "FailedScheduling": "Pods could not be scheduled",
    "NodeNotReady": "A node was not Ready",
    "Evicted": "Pods were evicted",
    "MissingClusterDNS": "Pods use the node's DNS: the kubelet knows no cluster DNS",
    "NetworkNotReady": "The network of a node is not ready",
    "Unhealthy": "Probes failed",
}
"""Reasons of Events in words."""
_STEPS: Final = {
    "ContainerGCFailed": Step("Look at the container runtime of the node"),
}


def _warnings(view: Overview) -> Iterator[Item]:
    pending = {uid for row in view.waiting for uid in row["uids"]}
    rows = [row for row in view.warnings if not pending.issuperset(row["uids"])]
    for row in rows:
        if row["reason"] in _KERNEL:
            yield _of_events(row)
    rows = [row for row in rows if row["reason"] not in _KERNEL]
    for row in rows[:MOST_WARNINGS]:
        yield _of_events(row)
    if rest := rows[MOST_WARNINGS:]:
        text = ", ".join(f"{row['reason']} ({row['times']})" for row in rest)
        title = f"Warnings for {counted(len(rest), 'more reason')}"
        first, last = min(row["first_at"] for row in rest), max(row["last_at"] for row in rest)
        yield kinds.WARNING_EVENTS.item(title, f"{text}.", (), now=False, since=first, until=last)


def _of_events(row: RowDict) -> Item:
    reason = row["reason"]
    what = f"{_WARNINGS[reason]} ({reason})" if reason in _WARNINGS else reason
    placed = row.get("placed", 0)
    if placed and placed == row["objects"]:
        what = f"Pods were placed late ({reason})"
    later = f" {counted(placed, 'pod was', 'pods were')} placed later." if placed else ""
    objects, last = counted(row["objects"], "object"), _last_object(row)
    where = last if row["objects"] == 1 else f"{objects}. The last, {last}"
    most = f" One Event counts {row['most']:,} in all." if row["most"] > row["times"] else ""
    kind = kinds.KERNEL_KILLS if reason in _KERNEL else kinds.WARNING_EVENTS
    return kind.item(
        f"{what}, {'at least ' * bool(row['lower_bound'])}{counted(row['times'], 'time')}",
        f"{where}: {sentence(plain(row['last_message'], MOST_TEXT))}{most}{later}",
        row["nodes"],
        now=False,
        since=row["first_at"],
        until=row["last_at"],
        step=_last_output(row) if reason == "BackOff" else _STEPS.get(reason, kind.step),
        alert_keys=((reason,),),
        of_each=what,
    )


def _last_object(row: RowDict) -> str:
    namespace = "" if row["last_kind"] == "Node" else f"{row['last_namespace']}/"
    return f"{row['last_kind']} {namespace}{row['last_name']}"


def _last_output(row: RowDict) -> Step:
    pod = f"-n {argument(row['last_namespace'])} {argument(row['last_name'])}"
    return Step(f"Read its last output: kubectl logs --previous {pod}")


def _without_statistics(view: Overview) -> Iterator[Item]:
    known = [node for node in view.nodes if node.known]
    down = silent_nodes(view)
    up = [node for node in known if node.name not in down]
    # the card of a kubelet that does not report says this too; if no node was sampled, that is not the reason
    silent = known if up and all(node.stale for node in known) else [node for node in up if node.stale]
    if silent and (view.evidence.aged or not view.evidence.stale):
        nodes, seen = tuple(node.name for node in silent), [node.last_sample_at for node in silent]
        sampled = [at for at in seen if at is not None]
        # a node that was never sampled lacks statistics for as long as it was watched
        since = (
            Since(min(sampled)) if len(sampled) == len(seen) else Since(min(sampled, default=view.scope.since), True)
        )
        share = "" if view.node else f" of {len(nodes)} of {counted(len(known), 'node')}"
        title = f"No recent statistics{share}"
        their = "Its" if len(nodes) == 1 else "Their"
        text = f"{last_sample(silent)}{their} free room and upcoming pressure are unknown."
        was_polled = any(row["resource"] == "stats/summary" for row in view.unknown.source_errors)
        is_off = view.scope.now is not None and not any(node.last_sample_at for node in view.nodes)
        step = (
            _UNREAD if was_polled else _ASK if is_off else _save_summary(next(node.name for node in up if node.stale))
        )
        yield kinds.NO_STATISTICS.item(title, text, nodes, "stats/summary", step=step).begun(since)


_UNREAD: Final = Step("See which kubelets could not be read", "source_errors")
_ASK: Final = Step("Let Leadsman ask the kubelets: start it with --kubelet=direct or --kubelet=proxy")


def _save_summary(node: str) -> Step:
    """Return the next step for a dump without answers of kubelets."""
    name = plain(node)
    path, file = quote(f"/api/v1/nodes/{name}/proxy/stats/summary"), quote(f"{name}.summary.json")
    return Step(f"Save each kubelet's statistics next to the dump: kubectl get --raw {path} > {file}")


def _without_news(view: Overview, items: Sequence[Item]) -> Iterator[Item]:
    """Yield alerts whose state is unknown, because data is missing, and that have no item."""
    stale = {node.name for node in view.nodes if node.stale}
    lost = [alert for alert in view.alerts or () if alert.unknown and (alert.node in stale or view.evidence.stale)]
    if view.evidence.aged:
        lost = [alert for alert in lost if not any(_is_about(alert, item) for item in items)]
    if lost:
        names = ", ".join(dict.fromkeys(alert.name for alert in lost))
        title = f"{counted(len(lost), 'alert')} without data"
        text = f"It is unknown whether {'it still holds' if len(lost) == 1 else 'they still hold'}: {names}."
        nodes, since = distinct(alert.node for alert in lost), min(alert.ends_at or alert.starts_at for alert in lost)
        yield kinds.ALERTS_WITHOUT_DATA.item(title, text, nodes, since=since)
