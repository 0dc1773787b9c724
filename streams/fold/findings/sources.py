"""Sources that could not be read."""

from datetime import datetime
from typing import NamedTuple

from streams.fold.findings.row import row


@row(table="source_errors")
class SourceError(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    """The node that was asked; empty for the API server."""
    resource: str
    kind: str
    """silent, gap, behind, partial or unreadable."""
    silent_seconds: float | None
    error: str
    entries: int | None = None
    """How many entries of a state had no room, where the kind is partial."""


@row(table="dead_letters")
class DeadLetter(NamedTuple):
    cluster: str
    ts: datetime
    """The observation's; the epoch where it could not be read."""
    source: str
    position: str
    error_type: str
    reason: str
    payload: str
    """The first 64 KiB of what was received, as text."""
