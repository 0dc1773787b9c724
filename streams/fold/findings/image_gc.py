"""Image garbage collection."""

from datetime import datetime
from typing import Final, NamedTuple

from streams.fold.findings.row import row

BROKEN_GC: Final = ("persistent", "restart_loop", "insufficient_freed")
"""Verdicts about image GC that does not do its work."""


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
