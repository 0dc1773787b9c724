"""One thing that needs attention; findings about one resource are joined into one, with its nodes and its cause."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final, NamedTuple

from common.amounts import counted, how_often
from common.text import argument, plain
from leadsman.web.attention.badges import Severity
from leadsman.web.reading.ask import RowDict
from leadsman.web.reading.overview import Since
from leadsman.web.reading.words import size

OWNERS: Final = 3
"""Number of owners that are named."""
NAME: Final = 120
_COMMAND_LAST: Final = re.compile(r"[:;,] (?:kubectl|leadsman) (?:[^.:;,]|[.:;,](?=\S))+\Z")
"""A command that ends a text. A full stop after it would be copied with it, and belong to its last name."""


class Step(NamedTuple):
    """The one thing to do next, without a stop at its end, and the saved question that shows more of it."""

    words: str = ""
    query: str = ""
    """The words after `leadsman query`."""

    def __bool__(self) -> bool:
        return bool(self.words)

    def __str__(self) -> str:
        words = f"{self.words}: leadsman query {self.query}" if self.query else self.words
        return words if _COMMAND_LAST.search(words) else f"{words}."


class Item(NamedTuple):
    """One thing to look at; `nodes` are all that it concerns."""

    severity: Severity
    title: str
    text: str
    nodes: tuple[str, ...]
    anchor: str
    """The section that has more."""
    now: bool = True
    """It lasts at the end; else it happened during the range."""
    since: datetime | None = None
    until: datetime | None = None
    alerts: tuple[str, ...] = ()
    """The alerts of the same problem that fire."""
    who: str = ""
    """Owners of the pods, and how often."""
    step: Step = Step()
    alert_keys: tuple[tuple[str, ...], ...] = ()
    """Names of alerts about the same problem, each with the labels' values that distinguish it from its like."""
    or_earlier: bool = False
    """It was so at `since` already, when it was first seen."""
    signals: tuple[str, ...] = ()
    """The eviction signals that it is about, as the kubelet spells them."""
    of_each: str = ""
    """Its title of one of its nodes, where the title counts over all of them."""

    short_of: str = ""
    """memory, disk or pids, where these run out: items about the same nodes are one card (`incidents`)."""
    fact: str = ""
    """It in a few words, for the title of that card."""
    is_condition: bool = False
    """It only says that a condition holds, for which other items give the reason."""
    is_cause: bool = False
    """Its step is known to be about the cause."""

    def begun(self, since: Since | None) -> "Item":
        """The same, lasting since then."""
        return self if since is None else self._replace(since=since.at, or_earlier=since.or_earlier)


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Each name once, in the order of the first, without the empty one."""
    return tuple(dict.fromkeys(name for name in names if name))


def owners_of(rows: Iterable[RowDict], column: str = "pods") -> str:
    """The owners of rows, the most first: `ReplicaSet leaky-98cbc7457 in shop, 5 times`."""
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
"""Pods of one command."""
_COMMAND: Final = 250
"""Characters of a command: pods whose names do not fit are left out of it, never cut."""


def incidents(items: Iterable[Item], culprits: Sequence[RowDict]) -> list[Item]:
    """Join the items about one resource that last, where the first of them stood; those that are over likewise.

    An item that is over joins those that last on one of its nodes. `culprits` has a row for each node and kind: the
    pod that grows most.
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
        until=None if now or not ends else max(ends),
        who=next((each.who for each in same if each.who), ""),
        step=next((each.step for each in same if each.is_cause), lead.step),
        alert_keys=tuple(dict.fromkeys(key for each in same for key in each.alert_keys)),
        signals=distinct(signal for each in same for signal in each.signals),
    )


def _with_culprits(item: Item, culprits: Sequence[RowDict]) -> Item:
    growing = [row for row in culprits if row["kind"] == item.short_of and row["node"] in item.nodes]
    if not item.now or not growing:
        return item
    workloads: dict[str, list[RowDict]] = {}
    for row in growing:
        name = f"{row['namespace']}/{row['owner'] or row['pod']}"
        workloads.setdefault(name, []).append(row)
    ranked = sorted(workloads.items(), key=lambda each: -sum(row["bytes_per_second"] for row in each[1]))
    shown = [_grows(name, rows, alone=len(item.nodes) == 1) for name, rows in ranked[:_CULPRITS]]
    if len(ranked) > _CULPRITS:
        shown.append(counted(len(ranked) - _CULPRITS, "more workload"))
    pods = [row for _, rows in ranked for row in rows]
    owned = [row for row in pods if row["owner"]]
    command = _delete_command(owned or pods)
    bare = (
        "nothing recreates it"
        if all(row["owner_known"] for row in pods)
        else "whether anything recreates it is unknown"
    )
    limit = "Give what grows a limit, or roll it back: its replacement may grow too. To stop it now"
    costs = "this asks no disruption budget and loses emptyDir data"
    step = Step(f"{f'{limit} ({costs})' if owned else f'Stop what grows ({costs}); {bare}'}: {command}")
    return item._replace(who="; ".join(shown), step=step if command else item.step)


def _grows(name: str, rows: Sequence[RowDict], *, alone: bool) -> str:
    pace = size(sum(row["bytes_per_second"] for row in rows) * 3600)
    return f"{plain(name)} grows {pace}/h" + ("" if alone else f" on {counted(len(rows), 'node')}")


def _delete_command(rows: Sequence[RowDict]) -> str:
    """Return the command that deletes up to _PODS pods, of the first namespace whose command fits."""
    for namespace, same in groupby(rows, key=lambda row: str(row["namespace"])):
        pods = [argument(row["pod"], _COMMAND) for row in same][:_PODS]
        while pods:
            command = f"kubectl delete pod -n {argument(namespace)} {' '.join(pods)}"
            if len(command) < _COMMAND:
                return command
            pods.pop()
    return ""
