"""Reports that a live source could not read something."""

from collections import Counter
from datetime import datetime
from typing import Final, TypeAlias

import msgspec

from common.clock import Clock
from ingest.model.observation import Observation, Origin
from ingest.model.records import Problem

Tally: TypeAlias = Counter[tuple[str, str]]
"""Counts what happened on each stream; each source has a bounded vocabulary of what can happen."""

REPEAT_SECONDS: Final = 300.0
AGENT: Final = "agent"
"""The resource of rows of `source_errors` about a silent agent."""


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    """The object of an observation of type ERROR: fields of a SourceErrorRecord, of which `error` is safe text."""

    error: str
    problem: Problem = "unreadable"
    since: datetime | None = None
    silent_seconds: float | None = None


def error_observation(
    clock: Clock, cluster: str, source: Origin, resource: str, report: Report, node: str = ""
) -> Observation:
    """An observation of type ERROR, seen now."""
    return Observation(
        ts=clock.now(),
        cluster=cluster,
        source=source,
        resource=resource,
        type="ERROR",
        node=node,
        object=msgspec.Raw(msgspec.json.encode(report)),
    )


def bookmark_observation(at: datetime, cluster: str, resource: str, *, since: datetime | None = None) -> Observation:
    """Report that a watch was complete at that time; if it began then, that it is complete `since` the beginning of
    its list.
    """
    return Observation(
        ts=at,
        cluster=cluster,
        source="list" if since else "watch",
        resource=resource,
        type="BOOKMARK",
        object=msgspec.Raw(msgspec.json.encode({"anew": True, "since": since} if since else {})),
    )


def agent_bookmark(at: datetime, cluster: str, node: str, resource: str) -> Observation:
    """Report that a node's agent read one of its resources, which proves that it was alive then."""
    return Observation(
        ts=at,
        cluster=cluster,
        source="agent",
        resource=resource,
        type="BOOKMARK",
        node=node,
        object=msgspec.Raw(b"{}"),
    )


class Failure:
    """Tracks whether one source fails, and whether to report that: at once, then every 5 minutes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reported_at = 0.0
        self.text = ""
        """Reason why it fails now; empty while it does not."""

    def recovered(self) -> None:
        self.text = ""

    def should_report(self, text: str) -> bool:
        now = self._clock.monotonic()
        if text == self.text and now - self._reported_at < REPEAT_SECONDS:
            return False
        self.text, self._reported_at = text, now
        return True
