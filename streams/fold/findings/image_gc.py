"""Image garbage collection."""

from datetime import datetime
from typing import Final, NamedTuple

from streams.fold.findings.row import row

BROKEN_GC: Final = ("persistent", "restart_loop", "insufficient_freed")
"""Verdicts about image GC that does not do its work."""
GC_VERDICTS: Final = {
    "benign_startup": "failed once at the start",
    "restart_loop": "fails at every start of the kubelet",
    "persistent": "does not run",
    "insufficient_freed": "frees too little",
    "recovered": "works again",
}
"""The verdicts in words, as they follow "Image GC"."""


@row(table="image_gc", composed=("what",))
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

    @property
    def what(self) -> str:
        return f"Image GC {GC_VERDICTS.get(self.verdict, self.verdict)}: {self.explanation}"
