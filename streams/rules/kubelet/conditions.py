"""Reads node conditions of node-problem-detector, cloud providers and network plugins."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from ingest.model.objects.base import Condition

_REPORTED_ELSEWHERE: Final = frozenset({"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"})
_GOOD: Final = re.compile(r"(?:Ready|Healthy|Available|Voter|O[Kk])$")
"""Suffixes of conditions that are True on a healthy node, such as `EtcdIsVoter`; others are True in trouble."""


class Problem(NamedTuple):
    type: str
    since: datetime | None
    words: str
    """Its reason and message."""


def problems(conditions: Iterable[Condition]) -> list[Problem]:
    """Return the conditions that report a problem. Unknown does not count: a silent kubelet has its own finding."""
    return [
        Problem(each.type, each.last_transition_time, ": ".join(filter(None, (each.reason, each.message.strip()))))
        for each in conditions
        if each.type not in _REPORTED_ELSEWHERE and each.status == ("False" if _GOOD.search(each.type) else "True")
    ]
