"""Reads Events of Azure's Container insights from the CSV that Log Analytics exports of its table KubeEvents.

`Computer` is the node only in a kubelet's Events; in others it can be the machine that collected them.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from ingest.files.around import csv_rows
from ingest.files.texts.ages import PrintTime
from ingest.files.texts.event_rows import event_object

IS_EXPORTED: Final = re.compile(rb"\A(?=[^\n]*,)(?=[^\n]*\bObjectKind\b)(?=[^\n]*\bKubeEventType\b)[^\n]*\bReason\b")
_NEEDED: Final = frozenset({"ObjectKind", "KubeEventType", "Reason"})
_KINDS: Final = frozenset({"Node", "Pod"})
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,252}")
_PORTAL: Final = "%m/%d/%Y, %I:%M:%S.%f %p"
"""Time format of the portal's export, in UTC according to its headings. The API uses ISO 8601."""


def exported(lines: Sequence[str], printed: PrintTime) -> Iterator[dict[str, Any]]:
    """Yield the Events about nodes and pods in CSV lines, the first of which is the head; a truncated row yields
    none.
    """
    rows = csv_rows(lines)
    names = [each.removesuffix(" [UTC]") for each in next(rows, [])]
    if not set(names) >= _NEEDED:
        return
    for cells in rows:
        if len(cells) == len(names) and (event := event_of_row(dict(zip(names, cells, strict=True)), printed)):
            yield event


def event_of_row(row: dict[str, str], printed: PrintTime) -> dict[str, Any] | None:
    """Return the Event of a row of KubeEvents; None for a row about anything but a node or pod, or without a time."""
    kind, name, last = row.get("ObjectKind", ""), row.get("Name", ""), _time(row.get("LastSeen", ""))
    if kind not in _KINDS or not _NAME.fullmatch(name) or not last:
        return None
    namespace = row.get("Namespace", "") if kind == "Pod" else "default"
    about = {"kind": kind, "name": name, "namespace": namespace}
    about["uid"] = f"{namespace}/{name}" if kind == "Pod" else name
    component, count = row.get("SourceComponent", ""), row.get("Count", "").partition(".")[0]
    source = component, row.get("Computer", "").lower() if component == "kubelet" else ""
    ages = {
        "age": last,
        "first": _time(row.get("FirstSeen", "")),
        "count": count if count.isdecimal() and len(count) < len("1000000000") else None,
    }
    return event_object(
        about, (row.get("KubeEventType", ""), row.get("Reason", ""), row.get("Message", "")), source, ages, printed
    )


def _time(text: str) -> str | None:
    """Return the time as Go prints it; None for any other text."""
    for read in (datetime.fromisoformat, _of_portal):
        with suppress(ValueError, OverflowError):
            at = read(text.strip())
            at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
            return f"{at:%Y-%m-%d %H:%M:%S %z} UTC"
    return None


def _of_portal(text: str) -> datetime:
    return datetime.strptime(text, _PORTAL).replace(tzinfo=UTC)
