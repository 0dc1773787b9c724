"""What needs attention of pods: evicted, rejected, OOM killed, pending. Pure, from an overview."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from common.amounts import some
from common.text import plain
from ingest.resources.rejections import UNSEEN_BY_SCHEDULER
from leadsman.web.attention.badges import Severity
from leadsman.web.attention.item import Item, distinct, first_owner, whose
from leadsman.web.reading.asked import RowDict
from leadsman.web.reading.overview import Overview
from leadsman.web.reading.words import sentence
from streams.alerting.rejections import because

MOST_REASONS: Final = 4
"""Groups of pending pods that are listed."""
MOST_TEXT: Final = 300
"""Characters of a message."""
_RESOURCES: Final = {"ephemeral-storage": "ephemeral storage", "pids": "process ids"}


def evicted(view: Overview) -> Iterator[Item]:
    """Under pressure, and for limits of their own: a card each."""
    if rows := [row for row in view.evicted if row["cause"] == "pressure"]:
        counts: Counter[str] = Counter()
        for row in rows:
            counts[row["resource"]] += row["pods"]
        ((resource, _),) = counts.most_common(1)
        outside = resource == "ephemeral-storage" and sum(row["unexplained"] for row in rows) * 2 > counts.total()
        yield _ended(
            Severity.CRITICAL, f"{some(counts.total(), 'pod')} evicted{_for(counts)}", rows, "pods"
        )._replace(
            text="Pods use almost none of what filled the disk." if outside else "",
            step="Check system logs, images and host paths: leadsman query disk_unexplained."
            if outside
            else _EVICTION_STEPS.get(resource, "See each of them: leadsman query evicted_pods."),
            about=(("PodsEvicted", "low on"),),
        )
    if rows := [row for row in view.evicted if row["cause"] == "limit"]:
        pods = sum(row["pods"] for row in rows)
        limits = "its own limit" if pods == 1 else "their own limits"
        yield _ended(Severity.WARNING, f"{some(pods, 'pod')} evicted for {limits}", rows, "pods")._replace(
            text="They used more local storage than they may."
            if pods > 1
            else "It used more local storage than it may.",
            step=f"Raise the limit of {first_owner(rows)}, or find what fills it.",
            about=(("PodsEvicted", "for a limit of their own"),),
        )


_EVICTION_STEPS: Final = {
    "memory": "Compare what pods use with what they request: leadsman query over_request.",
    "ephemeral-storage": "Find what fills the disk: leadsman query ephemeral_storage.",
    "inodes": "Find what makes many small files: leadsman query evicted_pods.",
    "pids": "Find what forks: leadsman query evicted_pods.",
}


def _for(counts: Counter[str]) -> str:
    """For what: `: 5 for ephemeral storage, 1 for memory`."""
    each = [(_RESOURCES.get(resource, resource), pods) for resource, pods in counts.most_common()]
    if len(each) == 1:
        return f" for {each[0][0]}"
    return ": " + ", ".join(f"{pods} for {resource}" for resource, pods in each)


def rejected(view: Overview) -> Iterator[Item]:
    """A card for each reason."""
    rows = [row for row in view.killed if row["cause"] == "admission"]
    for reason in dict.fromkeys(row["conditions"] or row["reason"] for row in rows):
        same = [row for row in rows if (row["conditions"] or row["reason"]) == reason]
        pods = sum(row["pods"] for row in same)
        why = because(reason)
        runaway = (("TopologyAdmissionRunaway", ""),) if reason in UNSEEN_BY_SCHEDULER else ()
        numa = next((row["explanation"] for row in view.numa_failures if row["reason"] == reason), "")
        yield _ended(Severity.WARNING, f"{some(pods, 'pod')} rejected at admission", same, "pods")._replace(
            text=f"{sentence(why)} {'The last: ' + sentence(numa) if numa else ''}".strip(),
            step=f"Scale {first_owner(same)} down until it fits: leadsman query numa_largest_fit."
            if numa or runaway
            else "Remove the cause or cordon the node: leadsman query pod_ends --param cause=admission.",
            about=(("PodsRejected", f"because {why}"), *runaway),
        )


def out_of_memory(view: Overview) -> Iterator[Item]:
    if rows := [row for row in view.killed if row["cause"] == "oom_kill"]:
        kills = sum(row["times"] for row in rows)
        containers = len({(row["namespace"], row["owner"], row["container"]) for row in rows})
        text = "The kernel killed them at their memory limit, or because the node had none left."
        yield _ended(
            Severity.WARNING, f"{some(kills, 'OOM kill')} of {some(containers, 'container')}", rows, "times"
        )._replace(
            text=text if kills > 1 else text.replace("them at their", "it at its"),
            step=f"Raise the memory limit of {first_owner(rows, 'times')}, or find its leak.",
            about=(("ContainersOOMKilled", ""),),
        )


def _ended(severity: Severity, title: str, rows: Sequence[RowDict], counted: str) -> Item:
    """From the first to the last on these nodes."""
    first, last = min(row["first_at"] for row in rows), max(row["last_at"] for row in rows)
    nodes = distinct(row["node"] for row in rows)
    return Item(severity, title, "", nodes, "timeline", False, first, last, who=whose(rows, counted))


def waiting(view: Overview) -> Iterator[Item]:
    """Pending pods, with the reasons of those that most wait for."""
    if not view.waiting:
        return
    pods = sum(row["pods"] for row in view.waiting)
    listed = [
        f"{_group(row)}: {plain(row['why'], MOST_TEXT).rstrip('.') or 'no reason was seen'}"
        for row in view.waiting[:MOST_REASONS]
    ]
    more = len(view.waiting) - len(listed)
    text = ". ".join(listed) + (f". And {some(more, 'more group')}." if more else ".")
    since = min(row["first_since"] for row in view.waiting)
    nodes = distinct(row["node"] for row in view.waiting)
    first = view.waiting[0]
    step = (
        f"Read the Events of its pods: kubectl describe pod -n {plain(first['namespace'])} {plain(first['pod'])}."
        if first["node"]
        else "See where each would fit: leadsman query pending_fit."
    )
    yield Item(Severity.WARNING, f"{some(pods, 'pod')} Pending", text, nodes, "scheduler", since=since, step=step)


def _group(row: RowDict) -> str:
    if row["pods"] == 1:
        who = f"{plain(row['namespace'])}/{plain(row['pod'])}"
    else:
        owner = plain(row["owner"]).replace("/", " ", 1)
        who = f"{row['pods']}{' of ' + owner if owner else ''} in {plain(row['namespace'])}"
    return f"{who} on {plain(row['node'])}" if row["node"] else who
