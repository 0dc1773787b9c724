"""Image garbage collection."""

from datetime import datetime
from typing import NamedTuple

from streams.fold.findings.row import row


@row(table="image_gc")
class ImageGc(NamedTuple):
    cluster: str
    ts: datetime
    """The first occurrence of the episode."""
    node: str
    verdict: str
    result: str
    reason: str
    usage_percent: int | None
    high_percent: int
    low_percent: int
    wanted_bytes: int | None
    freed_bytes: int | None
    occurrences: int
    occurrences_lower_bound: bool
    last_at: datetime
    explanation: str
    settings_assumed: bool
    updated_at: datetime
