"""Finds streams that went silent. Pure: all times come from outside."""

from datetime import datetime
from typing import NamedTuple


class Silence(NamedTuple):
    stream: str
    seconds: float


class _Stream:
    __slots__ = ("limit_seconds", "report_after_seconds", "seen_at")

    def __init__(self, seen_at: datetime, limit_seconds: float) -> None:
        self.seen_at = seen_at
        self.limit_seconds = limit_seconds
        self.report_after_seconds = limit_seconds


class Freshness:
    """When each stream was last heard. A silence is reported past the stream's limit, and again each time it has
    doubled.
    """

    def __init__(self) -> None:
        self._streams: dict[str, _Stream] = {}

    def expect(self, stream: str, limit_seconds: float, since: datetime) -> None:
        """Expect the stream from now on, at least every `limit_seconds`."""
        self._streams.setdefault(stream, _Stream(since, limit_seconds))

    def forget(self, stream: str) -> None:
        self._streams.pop(stream, None)

    def saw(self, stream: str, at: datetime) -> None:
        """The stream gave a sign of life; one that is not expected is ignored."""
        if known := self._streams.get(stream):
            known.seen_at = max(known.seen_at, at)
            known.report_after_seconds = known.limit_seconds

    def silent(self, at: datetime) -> list[Silence]:
        """The silences to report now."""
        due = []
        for name, stream in self._streams.items():
            seconds = (at - stream.seen_at).total_seconds()
            if seconds > stream.report_after_seconds:
                stream.report_after_seconds = seconds * 2
                due.append(Silence(name, seconds))
        return due

    def silent_now(self, at: datetime) -> list[Silence]:
        """All silences, reported or not."""
        ages = self.ages_seconds(at).items()
        return [Silence(name, age) for name, age in ages if age > self._streams[name].limit_seconds]

    def ages_seconds(self, at: datetime) -> dict[str, float]:
        """Seconds since each stream was heard."""
        return {name: (at - stream.seen_at).total_seconds() for name, stream in self._streams.items()}
