"""Defines an item that needs attention. Findings about one resource are joined into one, with nodes and cause."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby, islice
from typing import Final, NamedTuple

from common.amounts import counted, how_often
from common.text import argument, plain
from leadsman.web.attention.badges import Severity
from leadsman.web.reading.ask import RowDict
from leadsman.web.reading.overview import Since
from leadsman.web.reading.words import size

OWNERS: Final = 3
"""Maximum number of owners that are named."""
NAME: Final = 120
COMMAND_LAST: Final = re.compile(
    r"[:;,] ((?:LEADSMAN_DB=\S+ )?(?:\S+ -m |\S*/)?(?:kubectl|leadsman) (?:[^.:;,]|[.:;,](?=\S))+)\Z"
)
"""A command at the end of a text. A full stop after it would be copied as part of its last name."""


class Step(NamedTuple):
    """The one thing to do next, without a full stop, and the saved question that shows more about it."""

    words: str = ""
    query: str = ""
    """The arguments after `leadsman query`."""

    def __bool__(self) -> bool:
        return bool(self.words)

    def __str__(self) -> str:
        words = f"{self.words}: leadsman query {self.query}" if self.query else self.words
        return words if COMMAND_LAST.search(words) else f"{words}."


class Item(NamedTuple):
    """One thing to look at; `nodes` lists all affected nodes."""

    severity: Severity
    title: str
    text: str
    nodes: tuple[str, ...]
    anchor: str
    """The section of the page with more about it."""
    now: bool = True
    """True if it lasts at the end, False if it happened during the range."""
    since: datetime | None = None
    until: datetime | None = None
    alerts: tuple[str, ...] = ()
    """The firing alerts about the same problem."""
    who: str = ""
    """Owners of the pods, with counts."""
    step: Step = Step()
    alert_keys: tuple[tuple[str, ...], ...] = ()
    """Names of alerts about the same problem, each with the label values that distinguish it from others of its
    name.
    """
    or_earlier: bool = False
    """True if `since` is only a bound: it began then or earlier."""
    is_bounded: bool = False
    """True if it happened between `since` and `until`, at an unknown time."""
    signals: tuple[str, ...] = ()
    """The eviction signals concerned, by the kubelet's names."""
    of_each: str = ""
    """Its title for a single node, if the title counts over all of them."""

    short_of: str = ""
    """The scarce resource: memory, disk or pids. Items about the same nodes become one card (`incidents`)."""
    fact: str = ""
    """A short text for the title of that card."""
    is_condition: bool = False
    """True if it only says that a condition holds, and other items give the reason."""
    is_cause: bool = False
    """True if its step is known to address the cause."""

    def begun(self, since: Since | None) -> "Item":
        """Return the item as lasting since then."""
        return self if since is None else self._replace(since=since.at, or_earlier=since.or_earlier)


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Return each name once, in order of first occurrence, without the empty one."""
    return tuple(dict.fromkeys(name for name in names if name))


def owners_of(rows: Iterable[RowDict], column: str = "pods") -> str:
    """Describe the owners of rows, most rows first: `ReplicaSet leaky-98cbc7457 in shop, 5 times`."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[f"{plain(' '.join(row['owner']), NAME)} in {plain(row['namespace'], NAME)}"] += row[column]
    shown = [f"{owner}, {how_often(times)}" for owner, times in counts.most_common(OWNERS)]
    if len(counts) > OWNERS:
        shown.append(counted(len(counts) - OWNERS, "more owner"))
    return "; ".join(shown)


def first_owner(rows: Iterable[RowDict], column: str = "pods") -> tuple[str, str]:
    kind, name = max(rows, key=lambda row: row[column])["owner"]
    return kind, name


def named_owner(rows: Iterable[RowDict], column: str = "pods") -> str:
    return plain(" ".join(first_owner(rows, column)), NAME)


_TITLES: Final = {"memory": "Memory", "disk": "Disk", "pids": "PIDs"}
_FACTS: Final = 3
_CULPRITS: Final = 3
_PODS: Final = 3
"""Maximum number of pods in one command."""
_COMMAND: Final = 300
"""Maximum length of a command. Pods whose names do not fit are left out of it; names are never shortened."""
_LIMIT: Final = "Give what grows a limit, or roll it back"
_COSTS_OF: Final = {
    "Job": "a Job starts its work again",
    "StatefulSet": "a pod with a local volume waits for its node",
}
_STAYING: Final = {
    "DaemonSet": f"{_LIMIT}: a deleted pod of a DaemonSet is recreated on its node at once",
    "Node": "Change the manifest of this static pod on its node: a deletion of the pod does not stop it",
}
"""Next steps for pods that a cordon does not keep away, by kind of owner."""


def incidents(items: Iterable[Item], culprits: Sequence[RowDict]) -> list[Item]:
    """Join lasting items about one resource, at the place of the first; ended ones separately.

    An ended item joins a lasting one if they share a node. `culprits` has a row for each node and kind: the pod that
    grows most.
    """
    found: list[Item] = []
    left = list(items)
    while left:
        first = left.pop(0)
        if not first.short_of:
            found.append(first)
            continue
        same = [first, *(each for each in left if each.short_of == first.short_of)]
        lasting = {name for each in same if each.now for name in each.nodes}
        same = [each for each in same if each.now == first.now or not lasting.isdisjoint(each.nodes)]
        left = [each for each in left if not any(each is one for one in same)]
        found.append(_with_culprits(_joined(same), culprits))
    return found


def _joined(same: Sequence[Item]) -> Item:
    if len(same) == 1:
        return same[0]
    same = sorted(same, key=lambda each: (each.severity, not each.now))
    lead = same[0]
    facts = distinct(each.fact for each in same)
    since = min((each for each in same if each.since), key=lambda each: str(each.since), default=lead)
    ends = [each.until for each in same if each.until is not None]
    now = any(each.now for each in same)
    return lead._replace(
        title=f"{_TITLES[lead.short_of]}: {', '.join(facts[:_FACTS])}",
        text=" ".join(dict.fromkeys(each.text for each in same if each.text and not each.is_condition)),
        nodes=distinct(name for each in same for name in each.nodes),
        anchor="nodes" if now else lead.anchor,
        now=now,
        since=since.since,
        or_earlier=since.or_earlier,
        is_bounded=all(each.is_bounded for each in same),
        until=None if now or not ends else max(ends),
        who=next((each.who for each in same if each.who), ""),
        step=next((each.step for each in same if each.is_cause), lead.step),
        alert_keys=tuple(dict.fromkeys(key for each in same for key in each.alert_keys)),
        signals=distinct(signal for each in same for signal in each.signals),
    )


def _with_culprits(item: Item, culprits: Sequence[RowDict]) -> Item:
    growing = [row for row in culprits if row["kind"] == item.short_of and row["node"] in item.nodes]
    if not growing or not (item.now or item.signals):  # a threshold that is met by an old last sample is over, too
        return item
    workloads: dict[str, list[RowDict]] = {}
    for row in growing:
        name = f"{row['namespace']}/{row['owner'] or row['pod']}"
        workloads.setdefault(name, []).append(row)
    ranked = sorted(workloads.items(), key=lambda each: -sum(row["bytes_per_second"] for row in each[1]))
    ages = [row["ago"] for row in growing]
    verb, ago = ("grew", f", {ages[0]}") if all(ages) else ("grows", "")
    shown = [_grows(name, verb, rows, alone=len(item.nodes) == 1) for name, rows in ranked[:_CULPRITS]]
    if len(ranked) > _CULPRITS:
        shown.append(counted(len(ranked) - _CULPRITS, "more workload"))
    step = _ending([row for _, rows in ranked for row in rows])
    if step and ago:
        step = step._replace(words=f"If it still grows, {step.words[0].lower()}{step.words[1:]}")
    return item._replace(who="; ".join(shown) + ago, step=step or item.step)


def _ending(rows: Sequence[RowDict]) -> Step:
    """Return how to end growing pods: first pods that another node can take, then pods without an owner, else by
    owner. The scheduler counts requests, not use, so it can place a replacement on the same node unless that is
    cordoned.
    """
    movable = [row for row in rows if row["owner"] and row["owner_kind"] not in _STAYING]
    if chosen := _of_a_command(movable):
        return Step(f"{_LIMIT}: its replacement may grow too. To stop it now ({_costs(chosen)}): {_command(chosen)}")
    if chosen := _of_a_command([row for row in rows if not row["owner"]]):
        known = all(row["owner_known"] for row in chosen)
        again = "nothing recreates it" if known else "whether anything recreates it is unknown"
        return Step(f"Stop what grows ({_costs(chosen)}); {again}: {_command(chosen)}")
    return Step(next((_STAYING[row["owner_kind"]] for row in rows if row["owner_kind"] in _STAYING), ""))


def _comes_back(pods: Sequence[RowDict]) -> bool:
    return any(row["owner"] or not row["owner_known"] for row in pods)


def _costs(pods: Sequence[RowDict]) -> str:
    kinds = {row["owner_kind"] for row in pods}
    costs = ["this ignores disruption budgets and loses emptyDir data"]
    costs += [words for kind, words in _COSTS_OF.items() if kind in kinds]
    return "; ".join([*costs, "uncordon later"] if _comes_back(pods) else costs)


def _grows(name: str, verb: str, rows: Sequence[RowDict], *, alone: bool) -> str:
    pace = size(sum(row["bytes_per_second"] for row in rows) * 3600)
    return f"{plain(name)} {verb} {pace}/h" + ("" if alone else f" on {counted(len(rows), 'node')}")


def _of_a_command(rows: Sequence[RowDict]) -> Sequence[RowDict]:
    """Return up to _PODS pods of the first namespace for which a command fits."""
    for _, same in groupby(rows, key=lambda row: str(row["namespace"])):
        pods = list(islice(same, _PODS))
        while pods:
            if len(_command(pods)) < _COMMAND:
                return pods
            pods.pop()
    return ()


def _command(pods: Sequence[RowDict]) -> str:
    """Return the command that deletes pods of a namespace; nodes to which they could return are cordoned first."""
    names = " ".join(argument(row["pod"], _COMMAND) for row in pods)
    delete = f"kubectl delete pod -n {argument(pods[0]['namespace'])} {names}"
    nodes = " ".join(argument(node, _COMMAND) for node in distinct(row["node"] for row in pods))
    return f"kubectl cordon {nodes} && {delete}" if _comes_back(pods) else delete
