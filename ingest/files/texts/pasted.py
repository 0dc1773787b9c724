"""Reads text that people paste from `kubectl describe` and `kubectl get`, as objects of a dump."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import Any, Final

import msgspec

from ingest.files.documents import FIELDS, Found
from ingest.files.texts.ages import PrintTime, time_of
from ingest.files.texts.columns import columns_of
from ingest.files.texts.described import (
    IS_DESCRIBED,
    IS_LEASED,
    IS_STATUS,
    described,
    is_of_kubelet,
    named_by_lease,
    newest_in,
    strip_common_indent,
    with_second_fields,
)
from ingest.files.texts.event_rows import HAS_ROWS, alone
from ingest.files.texts.exported import IS_EXPORTED, exported
from ingest.files.texts.fragments import Fragment, fragments, spans_left, strip_marks, strip_stars
from ingest.files.texts.headless import IS_IN_PROSE, IS_STATE, in_prose, without_head
from ingest.files.texts.headless_rows import row_without_head
from ingest.files.texts.tables import IS_TABLE, parse_tables
from ingest.files.texts.yaml_statuses import IS_YAML_STATUS, yaml_statuses
from ingest.model.observation import EARLIEST

_FORMS: Final = (
    *(IS_DESCRIBED, IS_LEASED, IS_TABLE, HAS_ROWS, IS_STATUS, IS_STATE, IS_EXPORTED, IS_YAML_STATUS, IS_IN_PROSE),
)
_NARROWEST: Final = 70
"""A text whose longest line is shorter than this was not wrapped by a terminal."""
_BROKEN: Final = 3
"""So many lines of exactly the same, greatest width show that a terminal wrapped the text."""
_SPACES: Final = re.compile(r"(?<![ \t])[ \t]+")


def is_pasted(head: bytes) -> bool:
    """Tell whether text contains output of `kubectl describe` or `kubectl get` for people."""
    if any(each.search(head) for each in _FORMS):
        return True
    text = _without_tabs(strip_marks(strip_stars(head).decode(errors="replace")))
    own = text.encode()
    if own != head and any(each.search(own) for each in _FORMS):
        return True
    return any(_may_be_read(fragment) for fragment in fragments(text.splitlines()))


def _may_be_read(fragment: Fragment) -> bool:
    """Tell whether a fragment can be read: by its command, or because a line is a table's head or a row."""
    command = fragment.command
    is_described = command.verb == "describe" and bool(command.name) and command.resource in {"nodes", "pods"}
    is_named = bool(command.resource and (command.template or command.columns))
    if is_described or is_named:
        return True
    return any(columns_of(each, command)[0] or row_without_head(each, command)[0] for each in fragment.lines)


def pasted_parts(data: bytes, at: datetime | None, modified_at: datetime) -> Iterator[Found]:
    """Yield the objects in text that was printed `at` a time; all times have a zone.

    Without `at`, text was printed at the newest time in it or later; without such a time, when the file was modified
    or earlier. The objects are read again if they show that the text was printed later than was assumed.
    """
    text = _whole_lines(_without_tabs(strip_marks(data.decode(errors="replace"))), modified_at)
    newest = newest_in(text)
    printed = (
        PrintTime(at, "")
        if at
        else PrintTime(newest, "earliest", modified_at)
        if newest
        else PrintTime(modified_at, "latest")
    )
    lines = with_second_fields(named_by_lease(strip_common_indent(text.splitlines())))
    found = list(_objects(lines, printed))
    if at is None and (own := _newest_own(found)) is not None and own > (newest or EARLIEST):
        newest, printed = own, PrintTime(own, "earliest", modified_at)
        found = list(_objects(lines, printed))
    if printed.bound == "earliest" and (later := _printed_after(found, printed.at)) > printed.at:
        found = list(_objects(lines, printed._replace(at=later)))
    for number, each in enumerate(found, start=1):
        raw = msgspec.json.encode(each)
        yield Found(f"object {number}", raw, FIELDS.decode(raw), each["kind"], "v1", at or newest)


def _whole_lines(text: str, modified_at: datetime) -> str:
    """Return text with the lines joined that a terminal wrapped, if more objects and conditions can then be read.

    The width alone proves nothing: lines of tables can be equally long, and prose can follow them.
    """
    lines = text.splitlines()
    width = max(map(len, lines), default=0)
    if width < _NARROWEST or sum(len(each) == width for each in lines) < _BROKEN:
        return text
    whole = "".join(each if len(each) == width else f"{each}\n" for each in lines)
    printed = PrintTime(modified_at, "latest")
    before, after = (_facts(_objects(each, printed)) for each in (lines, whole.splitlines()))
    return whole if after > before else text


def _facts(found: Iterable[Mapping[str, Any]]) -> int:
    return sum(1 + len(each.get("status", {}).get("conditions", ())) + _is_whole(each) for each in found)


def _is_whole(each: Mapping[str, Any]) -> bool:
    """Tell whether an object is an Event with all words of a kubelet's message."""
    return each["kind"] == "Event" and is_of_kubelet(each["reason"], each["message"])


def _objects(lines: list[str], printed: PrintTime) -> Iterator[dict[str, Any]]:
    """Yield the objects in any form; only if there are none, messages in sentences, which may quote another text."""
    found = list(_in_forms(lines, printed))
    yield from found or in_prose(lines, printed)


def _in_forms(lines: list[str], printed: PrintTime) -> Iterator[dict[str, Any]]:
    """Yield described objects, then those of the other lines: without a head, rows of Events, tables."""
    if lines and IS_EXPORTED.match(lines[0].encode()):
        yield from exported(lines, printed)
        return
    found = described(lines, printed)
    yield from found.objects
    for fragment in fragments(spans_left(lines, found.spans)):
        of_one = without_head(fragment, printed)
        yield from of_one or alone(fragment.lines, printed)
        yield from parse_tables(fragment, printed)
        yield from yaml_statuses(fragment.lines, printed)


def _newest_own(found: Iterable[Mapping[str, Any]]) -> datetime | None:
    """Return the newest time that objects themselves have, such as Events in custom columns; ages do not count."""
    times = chain.from_iterable(map(_own_times, found))
    return max(filter(None, map(time_of, times)), default=None)


def _own_times(each: Mapping[str, Any]) -> Iterator[str | None]:
    status = each.get("status", {})
    if not {"earliest", "latest"} & each.keys():
        yield each.get("lastTimestamp") if each["kind"] == "Event" else status.get("startTime")
    yield from (condition.get("lastHeartbeatTime") for condition in status.get("conditions", ()))


def _printed_after(found: Iterable[Mapping[str, Any]], at: datetime) -> datetime:
    """Return the earliest time at which text was printed: an Event of a kubelet about a pod follows the pod's start.

    `at` is the time from which ages of the Events were counted.
    """
    started: dict[str, datetime] = {}
    seen: list[tuple[str, datetime]] = []
    for each in found:
        if each["kind"] == "Pod" and (start := time_of(each["status"].get("startTime"))):
            started[each["metadata"]["uid"]] = start
        elif each["kind"] == "Event" and each["source"]["component"] == "kubelet" and "earliest" in each:
            seen.append((each["involvedObject"].get("uid", ""), datetime.fromisoformat(each["lastTimestamp"])))
    return max((at + (started[uid] - last) for uid, last in seen if uid in started), default=at)


def _without_tabs(text: str) -> str:
    """Return text with two spaces in place of tabs, with which kubectl before 1.9 separates columns.

    Tabs below a template stay, because an empty value may be between two of them.
    """
    if "\t" not in text:
        return text
    lines = text.splitlines()
    kept = set[int]()
    for each in fragments(lines):
        if each.command.template:
            kept.update(range(each.start, each.start + len(each.lines)))
    return "\n".join(line if number in kept else _spaced(line) for number, line in enumerate(lines))


def _spaced(line: str) -> str:
    return _SPACES.sub(lambda found: "  " if "\t" in found[0] else found[0], line)
