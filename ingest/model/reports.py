"""Reports that a live source could not read something, or that a stream went silent. Pure."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, TypeAlias

import msgspec

from common.clock import Clock
from ingest.model.observation import Observation, Origin, observation_of
from ingest.model.records import Problem


class Silence(NamedTuple):
    stream: str
    seconds: float


@dataclass(slots=True)
class _Stream:
    seen_at: datetime
    limit_seconds: float
    report_after_seconds: float


class Freshness:
    """Tracks when each stream last sent data.

    A silence is reported when it exceeds its limit, and each time it has doubled.
    """

    def __init__(self) -> None:
        self._streams: dict[str, _Stream] = {}

    def expect(self, stream: str, limit_seconds: float, since: datetime) -> None:
        """Expect the stream from now on, at least every `limit_seconds`."""
        self._streams.setdefault(stream, _Stream(since, limit_seconds, report_after_seconds=limit_seconds))

    def forget(self, stream: str) -> None:
        self._streams.pop(stream, None)

    def saw(self, stream: str, at: datetime) -> None:
        """Record a sign of life of the stream; ignore an unexpected stream."""
        if known := self._streams.get(stream):
            known.seen_at = max(known.seen_at, at)
            known.report_after_seconds = known.limit_seconds

    def silent(self, at: datetime) -> list[Silence]:
        """Return the silences to report now."""
        due = []
        for name, stream in self._streams.items():
            seconds = (at - stream.seen_at).total_seconds()
            if seconds > stream.report_after_seconds:
                stream.report_after_seconds = seconds * 2
                due.append(Silence(name, seconds))
        return due

    def silent_now(self, at: datetime) -> list[Silence]:
        """Return all silences, reported or not."""
        ages = self.ages_seconds(at).items()
        return [Silence(name, age) for name, age in ages if age > self._streams[name].limit_seconds]

    def ages_seconds(self, at: datetime) -> dict[str, float]:
        return {name: (at - stream.seen_at).total_seconds() for name, stream in self._streams.items()}


Tally: TypeAlias = Counter[tuple[str, str]]
"""Counts events of each stream; each source has a fixed set of events."""

REPEAT_SECONDS: Final = 300.0
AGENT: Final = "agent"
"""The resource of rows of `source_errors` about a silent agent."""


class Report(msgspec.Struct, frozen=True, omit_defaults=True):
    """The object of an observation of type ERROR: fields of a SourceErrorRecord; `error` is safe to show."""

    error: str
    problem: Problem = "unreadable"
    since: datetime | None = None
    silent_seconds: float | None = None


def error_observation(
    clock: Clock, cluster: str, source: Origin, resource: str, report: Report, node: str = ""
) -> Observation:
    return observation_of(clock.now(), cluster, source, resource, msgspec.json.encode(report), node, "ERROR")


def bookmark_observation(at: datetime, cluster: str, resource: str, *, since: datetime | None = None) -> Observation:
    """Build a bookmark: a watch was complete at this time. If it started then, `since` is the start of its list."""
    body = msgspec.json.encode({"anew": True, "since": since} if since else {})
    return observation_of(at, cluster, "list" if since else "watch", resource, body, change="BOOKMARK")


class Failure:
    """Tracks whether one source fails, and whether to report that: at once, then every 5 minutes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reported_at = 0.0
        self.text = ""
        """Reason why it fails now; empty while it works."""

    def recovered(self) -> None:
        self.text = ""

    def should_report(self, text: str) -> bool:
        now = self._clock.monotonic()
        if text == self.text and now - self._reported_at < REPEAT_SECONDS:
            return False
        self.text, self._reported_at = text, now
        return True
