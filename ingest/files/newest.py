"""When a dump was taken, by the times in its own objects."""

import re
from datetime import UTC, datetime
from typing import Final

from ingest.model.observation import EARLIEST, LATEST

_KEYS: Final = (
    "creationTimestamp|eventTime|finishedAt|firstTimestamp|lastHeartbeatTime|lastObservedTime|lastProbeTime"
    "|lastTimestamp|lastTransitionTime|lastUpdateTime|renewTime|startTime|startedAt|time"
)
_TIME: Final = re.compile(
    rb'(?<![\w\\])"?(?:' + _KEYS.encode() + rb')"?:\s*["\']?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?)Z'
)


def newest_time(text: bytes) -> datetime | None:
    """Return the newest time in objects of Kubernetes, as JSON or YAML text; None where they have none.

    Times that are in the future by their meaning (`deletionTimestamp`, the end of a certificate) are ignored.
    """
    times = {match[1] for match in _TIME.finditer(text)}
    for newest in sorted(times, reverse=True):
        try:
            ts = datetime.fromisoformat(newest[:26].decode()).replace(tzinfo=UTC)
        except ValueError:
            continue
        if EARLIEST <= ts < LATEST:
            return ts
    return None
