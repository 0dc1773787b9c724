"""The rows of Events in text of `kubectl describe`, below their object or pasted alone (rules: pasted-text)."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any, Final, NamedTuple

from ingest.files.texts.ages import AGE, Printed, when

HAS_ROWS: Final = re.compile(
    rb"^[ \t]+(?:Type[ \t]+Reason[ \t]+Age|FirstSeen[ \t]+LastSeen[ \t]+Count)[ \t]", re.MULTILINE
)
_HEAD: Final = re.compile(r"\s+(?:Type\s+Reason\s+Age|FirstSeen\s+LastSeen\s+Count)\s.*")
_RULE: Final = re.compile(r"[\s-]*")
_ROW: Final = re.compile(
    rf"(?P<type>Normal|Warning) +(?P<reason>\S{{1,252}}) +(?P<age>{AGE})"
    rf"(?: \(x(?P<count>\d{{1,9}}) over (?P<first>{AGE})\))? +"
    r"(?P<component>[^\s,]{1,252})(?:, (?P<host>\S{1,252}))? +(?P<message>\S.*)"
)
_OLD_ROW: Final = re.compile(
    rf"(?P<first>{AGE}) +(?P<age>{AGE}) +(?P<count>\d{{1,9}}) +"
    r"(?:\{(?P<component>[^\s}]{1,252})(?: (?P<host>[^\s}]{1,252}))? *\}"
    r"|(?P<component_7>[^\s,]{1,252})(?:, (?P<host_7>\S{1,252}))?) +"
    r"(?:spec\.\w+\{[^}]{1,252}\} +)?(?P<type>Normal|Warning) +(?P<reason>\S{1,252}) +(?P<message>\S.*)"
)
"""The form before 1.9: both ages in a column, and until 1.6 the source in braces."""
_OF_CONTAINER: Final = re.compile(r"spec\.\w+\{[^}]{1,252}\}: ")
_OF_NODE: Final = re.compile(
    r"Node (?P<node>[a-z0-9][a-z0-9.-]{0,252}) (?:status is now: \w+|has been rebooted, boot id: \S+)"
)
_REASONS_OF_NODE: Final = frozenset(
    {
        "ContainerGCFailed",
        "EvictionThresholdMet",
        "FreeDiskSpaceFailed",
        "ImageGCFailed",
        "InvalidDiskCapacity",
        "SystemOOM",
    }
)
"""Reasons that a kubelet gives only about its own node."""
SCHEDULED: Final = re.compile(
    r"Successfully assigned (?P<ns>[a-z0-9][a-z0-9-]{0,62})/(?P<pod>[a-z0-9][a-z0-9.-]{0,252})"
    r" to (?P<node>[a-z0-9][a-z0-9.-]{0,252})"
)
"""Matches the scheduler's words about a pod that it placed; before 1.13 they have no namespace."""


class Row(NamedTuple):
    type: str
    reason: str
    message: str
    component: str
    host: str
    """The node of a kubelet that kubectl before 1.20 prints."""
    ages: dict[str, str | None]

    def about(self, about: dict[str, Any], node: str, printed: Printed) -> dict[str, Any] | None:
        """The Event about an object on a node; None without a time."""
        host = self.host or (node if self.component == "kubelet" else "")
        return event_object(about, (self.type, self.reason, self.message), (self.component, host), self.ages, printed)


def event_row(line: str) -> Row | None:
    """The Event in a row; None for any other line."""
    text = line.strip()
    found = _ROW.fullmatch(text) or _OLD_ROW.fullmatch(text)
    if found is None:
        return None
    each = found.groupdict()
    return Row(
        type=each["type"],
        reason=each["reason"],
        message=_OF_CONTAINER.sub("", each["message"], count=1),
        component=each["component"] or each.get("component_7") or "",
        host=each["host"] or each.get("host_7") or "",
        ages={name: each[name] for name in ("age", "count", "first")},
    )


def alone(lines: list[str], printed: Printed) -> Iterator[dict[str, Any]]:
    """Yield the Events of each section that was pasted without its object, if its rows name that.

    A section is about one object: a node by the words of its kubelet, or a pod by the scheduler's.
    """
    rows: list[Row] | None = None
    for line in [*lines, ""]:
        row = event_row(line) if rows is not None else None
        if row is not None and rows is not None:
            rows.append(row)
        elif _HEAD.fullmatch(line) or (rows is not None and not _RULE.fullmatch(line)) or not line.strip():
            yield from _of_one_object(rows or [], printed)
            rows = [] if _HEAD.fullmatch(line) else None


def _of_one_object(rows: list[Row], printed: Printed) -> Iterator[dict[str, Any]]:
    pods = {found.groups() for each in rows if (found := SCHEDULED.fullmatch(each.message)) is not None}
    nodes = {found["node"] for each in rows if (found := _OF_NODE.fullmatch(each.message)) is not None}
    nodes |= {each.host for each in rows if each.host and each.reason in _REASONS_OF_NODE}
    if len(pods) == 1 and not nodes:
        ((namespace, name, node),) = pods
        about = {"kind": "Pod", "namespace": namespace, "name": name, "uid": f"{namespace}/{name}"}
    elif len(nodes) == 1 and not pods:
        (node,) = nodes
        about = {"kind": "Node", "name": node, "uid": node}
    else:
        return
    yield from events_of(rows, about, node, printed)


def events_of(rows: Iterable[Row], about: dict[str, Any], node: str, printed: Printed) -> Iterator[dict[str, Any]]:
    """Yield the Events in the rows of one section about an object on a node."""
    found = (row.about(about, node, printed) for row in rows)
    return each_named([event for event in found if event is not None])


def each_named(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Give the Events of one section that say the same names of their own, by their places from the newest on.

    So another text of some time before or after gives them the same names.
    """
    seen: Counter[str] = Counter()
    for event in sorted(events, key=lambda each: str(each["lastTimestamp"]), reverse=True):
        name = event["metadata"]["name"]
        own = f"{name}.{seen[name]}" if seen[name] else name
        seen[name] += 1
        yield event | {"metadata": event["metadata"] | {"name": own}}


def event_object(
    about: dict[str, Any],
    told: tuple[str, str, str],
    source: tuple[str, str],
    ages: re.Match[str] | dict[str, str | None],
    printed: Printed,
) -> dict[str, Any] | None:
    """An Event by its type, reason and message, its component and host, and `age`, `count` and `first`.

    None without a time.
    """
    times = when(ages["age"] or "", printed)
    if not times:
        return None
    first = when(ages["first"], printed, is_last=False) if ages["first"] else {}
    first = first or {"firstTimestamp": times["lastTimestamp"]}
    namespace = about.get("namespace", "default")
    told_hash = sha256(told[2].strip().encode(errors="replace")).hexdigest()[:16]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about['name']}.{told[1]}.{told_hash}", "namespace": namespace},
        "involvedObject": about,
        "type": told[0],
        "reason": told[1],
        "message": told[2].strip(),
        "count": min(int(ages["count"] or 1), 2**31 - 1),
        "source": {"component": source[0], "host": source[1]},
        **first,
        **times,
    }
