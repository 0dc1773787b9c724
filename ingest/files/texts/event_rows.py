"""Reads rows of Events in text of `kubectl describe`, below their object or pasted on their own
(rules: pasted-text).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any, Final, NamedTuple

from ingest.files.texts.ages import AGE, PrintTime, when
from ingest.messages.reasons import is_by_kubelet, without_rejection
from ingest.model.objects.base import UNKNOWN_NAME

HAS_ROWS: Final = re.compile(
    rb"^[ \t]+(?:Type[ \t]+Reason[ \t]+Age|FirstSeen[ \t]+LastSeen[ \t]+Count)[ \t]"
    rb"|^[ \t`*]*(?:Normal|Warning)[ \t]+[A-Z]\w+[ \t]+(?:\d+[ydhms])+[ \t]"
    rb"|^[ \t]*(?:\d+[ydhms])+[ \t]+(?:\d+[ydhms])+[ \t]+\d+[ \t]+\S.*[ \t](?:Normal|Warning)[ \t]+[A-Z]",
    re.MULTILINE,
)
ROWS_HEAD: Final = re.compile(r"\s+(?:Type\s+Reason\s+Age|FirstSeen\s+LastSeen\s+Count)\s.*")
_EMPHASIS: Final = re.compile(r"^\s*\*\*|\*\*\s*$|^\s*`|`\s*$")
"""Matches marks that a web page puts around a line."""
_RULE: Final = re.compile(r"[\s-]*")
_EMPTY: Final = re.compile(
    rf"\s*(?:Normal|Warning) +\S{{1,252}} +{AGE}(?: \(x\d{{1,9}} over {AGE}\))? +\S{{1,252}}\s*"
)
"""Matches a row without a message, such as that of kube-proxy's start."""
MORE: Final = re.compile(r"(?:\s{24,}|(?=fit failure ))(?P<text>\S.{0,2000})")
"""Matches a further line of a message: it is aligned with the message, or names a node as schedulers before 1.8
do.
"""
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
"""The form before 1.9: both ages in one column, and until 1.6 the source in braces."""
_OF_CONTAINER: Final = re.compile(r"spec\.\w+\{[^}]{1,252}\}: ")
OF_NODE: Final = re.compile(
    r"Node (?P<node>[a-z0-9][a-z0-9.-]{0,252}) (?:status is now: \w+|has been rebooted, boot id: \S+)"
)
"""Matches kubelet messages that name its node."""
REASONS_OF_NODE: Final = frozenset(
    {
        "ContainerGCFailed",
        "EvictionThresholdMet",
        "FreeDiskSpaceFailed",
        "ImageGCFailed",
        "InvalidDiskCapacity",
        "SystemOOM",
    }
)
"""Reasons that a kubelet uses only for its own node."""
_DIGITS: Final = 9
SCHEDULED: Final = re.compile(
    r"Successfully assigned (?P<ns>[a-z0-9][a-z0-9-]{0,62})/(?P<pod>[a-z0-9][a-z0-9.-]{0,252})"
    r" to (?P<node>[a-z0-9][a-z0-9.-]{0,252})"
)
"""Matches the scheduler's message about a pod that it placed; before 1.13 it has no namespace."""


class Row(NamedTuple):
    type: str
    reason: str
    message: str
    component: str
    host: str
    """The node of a kubelet, which kubectl before 1.20 prints."""
    ages: dict[str, str | None]

    def about(self, about: dict[str, Any], node: str, printed: PrintTime) -> dict[str, Any] | None:
        """Return the Event about an object on a node; None if it has no time."""
        host = self.host or (node if self.component == "kubelet" else "")
        return event_object(about, (self.type, self.reason, self.message), (self.component, host), self.ages, printed)


def event_row(line: str) -> Row | None:
    """Return the Event in a row; None for any other line."""
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


def event_rows(lines: Iterable[str]) -> Iterator[Row]:
    """Yield the Events in the rows of one section, each with all lines of its message."""
    before: Row | None = None
    for line in lines:
        row = event_row(line)
        if row is None and before is not None and (more := MORE.fullmatch(line)) is not None:
            before = before._replace(message=f"{before.message} {more['text'].strip()}")
        elif row is not None or line.strip():
            yield from [before] if before is not None else []
            before = row
    yield from [before] if before is not None else []


def alone(lines: list[str], printed: PrintTime) -> Iterator[dict[str, Any]]:
    """Yield the Events of each section that was pasted without its object.

    A section is about one object: a node by its kubelet's messages, or a pod by the scheduler's. Rows without a head
    are a section each, because `grep` finds those of many objects.
    """
    rows: list[str] | None = None
    loose: list[dict[str, Any]] = []
    for line in [*lines, ""]:
        row = event_row(_EMPHASIS.sub("", line))
        is_of_section = row is not None or (MORE.fullmatch(line) or _EMPTY.fullmatch(line)) is not None
        if is_of_section and rows is not None:
            rows.append(_EMPHASIS.sub("", line))
        elif row is not None:
            loose += _of_one_object([row], printed)
        elif ROWS_HEAD.fullmatch(line) or (rows is not None and not _RULE.fullmatch(line)) or not line.strip():
            yield from each_named(loose)
            yield from _of_one_object(list(event_rows(rows or [])), printed)
            loose.clear()
            rows = [] if ROWS_HEAD.fullmatch(line) else None


def _of_one_object(rows: list[Row], printed: PrintTime) -> Iterator[dict[str, Any]]:
    pods = {found.groups() for each in rows if (found := SCHEDULED.fullmatch(each.message)) is not None}
    nodes = {found["node"] for each in rows if (found := OF_NODE.fullmatch(each.message)) is not None}
    nodes |= {each.host for each in rows if each.host and each.reason in REASONS_OF_NODE}
    if len(pods) == 1 and not nodes:
        ((namespace, name, node),) = pods
        about = {"kind": "Pod", "namespace": namespace, "name": name, "uid": f"{namespace}/{name}"}
    elif len(nodes) == 1 and not pods:
        (node,) = nodes
        about = {"kind": "Node", "name": node, "uid": node}
    elif not pods and not nodes and any(each.reason in REASONS_OF_NODE for each in rows):
        node, about = UNKNOWN_NAME, {"kind": "Node", "name": UNKNOWN_NAME, "uid": UNKNOWN_NAME}
    elif not pods and not nodes and any(map(_is_about_a_pod, rows)):
        hosts = {each.host for each in rows if each.component == "kubelet" and each.host}
        node = hosts.pop() if len(hosts) == 1 else UNKNOWN_NAME
        ended = [each.message for each in rows if is_by_kubelet(each.reason)]
        about = unknown_pod(ended or [each.message for each in rows])
    else:
        return
    yield from events_of(rows, about, node, printed)


def _is_about_a_pod(row: Row) -> bool:
    """Tell whether only a pod has such an Event from its kubelet or a scheduler."""
    is_refused = row.component == "kubelet" and is_by_kubelet(row.reason)
    return is_refused or (row.reason == "FailedScheduling" and row.component.endswith("scheduler"))


def without_status_words(message: str) -> str:
    """Return a kubelet's message without the prefix that the status of a pod adds."""
    return without_rejection(message.strip()).strip()


def unknown_pod(words: Iterable[str], namespace: str = UNKNOWN_NAME) -> dict[str, Any]:
    """Return the object of Events about a pod without a name: its UID is a digest of the messages."""
    digest = sha256("\n".join(sorted(map(without_status_words, words))).encode(errors="replace")).hexdigest()[:16]
    return {"kind": "Pod", "namespace": namespace, "name": UNKNOWN_NAME, "uid": f"{UNKNOWN_NAME}/{digest}"}


def events_of(rows: Iterable[Row], about: dict[str, Any], node: str, printed: PrintTime) -> Iterator[dict[str, Any]]:
    """Yield the Events in the rows of one section about an object on a node."""
    found = (row.about(about, node, printed) for row in rows)
    return each_named([event for event in found if event is not None])


def each_named(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Give the Events of one section that say the same distinct names, counted from the newest.

    So another text from some time before or after gives them the same names.
    """
    seen: Counter[str] = Counter()
    for event in sorted(events, key=lambda each: str(each["lastTimestamp"]), reverse=True):
        name = event["metadata"]["name"]
        own = f"{name}.{seen[name]}" if seen[name] else name
        seen[name] += 1
        yield event | {"metadata": event["metadata"] | {"name": own}}


def event_object(
    about: dict[str, Any],
    words: tuple[str, str, str],
    source: tuple[str, str],
    ages: re.Match[str] | dict[str, str | None],
    printed: PrintTime,
) -> dict[str, Any] | None:
    """Return an Event by type, reason, message, component, host, `age`, `count` and `first`; None without a date."""
    times = when(ages["age"] or "", printed)
    if not times:
        return None
    first = when(ages["first"], printed, is_last=False) if ages["first"] else {}
    first = first or {"firstTimestamp": times["lastTimestamp"]}
    namespace = about.get("namespace", "default")
    words_hash = sha256(words[2].strip().encode(errors="replace")).hexdigest()[:16]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about['name']}.{words[1]}.{words_hash}", "namespace": namespace},
        "involvedObject": about,
        "type": words[0],
        "reason": words[1],
        "message": words[2].strip(),
        "count": int(count) if len(count := ages["count"] or "1") <= _DIGITS else 2**31 - 1,
        "source": {"component": source[0], "host": source[1]},
        **first,
        **times,
    }
