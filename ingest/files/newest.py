"""Finds the newest time in the text of a JSON or YAML document."""

import re
from datetime import UTC, datetime
from typing import Final

from ingest.model.observation import EARLIEST, LATEST

_KEYS: Final = (
    "creationTimestamp|eventTime|finishedAt|firstTimestamp|lastHeartbeatTime|lastObservedTime|lastProbeTime"
    "|lastTimestamp|lastTransitionTime|lastUpdateTime|renewTime|startTime|startedAt|time"
)
_OF_DAY: Final = re.compile(rb"T\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")
"""Searches for the `T` first, which is many times faster than searching for the keys."""
_BEFORE: Final = re.compile(rb'(?<![\w\\])"?(?:' + _KEYS.encode() + rb')"?:\s*["\']?\d{4}-\d\d-\d\d\Z')
_BEFORE_BYTES: Final = 64
"""Maximum length of a key with its quotes, spaces and the date."""
_DAY_BYTES: Final = len("2026-11-26")


def newest_time(text: bytes) -> datetime | None:
    """Return the newest time in objects of Kubernetes, as JSON or YAML text; None if they have none.

    Only the fields in `_KEYS` count, with a time in UTC (`Z`). Fields that can be in the future, such as
    `deletionTimestamp` or the end of a certificate, are not among them.
    """
    newest, digits = None, b""
    for match in _OF_DAY.finditer(text):
        start, end = match.span()
        time = text[start - _DAY_BYTES : end - 1]
        if time > digits and _BEFORE.search(text, max(start - _BEFORE_BYTES, 0), start) and (ts := _time(time)):
            newest, digits = ts, time
    return newest


def _time(text: bytes) -> datetime | None:
    try:
        ts = datetime.fromisoformat(text[:26].decode()).replace(tzinfo=UTC)
    except ValueError:
        return None
    return ts if EARLIEST <= ts < LATEST else None
