"""Tracks one alert until it is resolved: pending while it must still hold, then firing. All times are event time."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Self

import msgspec

from streams.fold.findings import REPEAT_EVERY

SILENT: Final = timedelta(hours=1)
"""Time without data after which the state of a log's alerts is unknown. Nodes report at least every 5 minutes."""
MAX_MEMBERS: Final = 1000
"""Maximum number of members of one alert that are stored by name; further ones are only counted."""


class Group(msgspec.Struct, frozen=True, array_like=True):
    """Members that one alert collects, for example the pods of an eviction storm."""

    members: dict[str, int] = {}
    """Number of times that each member was seen, in order of first sight."""
    first_at: datetime | None = None
    last_at: datetime | None = None
    count: int = 0
    """The sum over all members. It is stored, like `breakdown`, because a group of thousands grows one by one."""
    breakdown: dict[str, int] = {}
    """Number of members by owner or node, if the alert names these."""

    @property
    def seconds(self) -> float:
        """Return the seconds from the first to the last member; 0 for an empty group."""
        return (self.last_at - self.first_at).total_seconds() if self.first_at and self.last_at else 0.0

    def plus(self, member: str, at: datetime, times: int = 1, under: str = "") -> "Group":
        return Group(
            members={**self.members, member: self.members.get(member, 0) + times},
            first_at=min(at, self.first_at or at),
            last_at=max(at, self.last_at or at),
            count=self.count + times,
            breakdown={**self.breakdown, under: self.breakdown.get(under, 0) + times} if under else self.breakdown,
        )

    def plus_new(self, member: str, at: datetime, under: str = "") -> "Group | None":
        """Return the group with one more member; None if the group has it already."""
        if member in self.members:
            return None
        return self.plus(member if len(self.members) < MAX_MEMBERS else "", at, under=under)


class ActiveAlert(msgspec.Struct, frozen=True, array_like=True):
    labels: dict[str, str]
    """All labels, which are the alert's identity."""
    summary: str
    description: str
    since: datetime
    """When its condition became true, or the first occurrence was observed."""
    ended_at: datetime | None
    """When the condition stopped being true, or the last occurrence; None while it is true."""
    happens: bool
    """True for an occurrence (an eviction), False for a state that lasts (a skew)."""
    for_seconds: float
    keep_seconds: float
    runbook_url: str
    starts_at: datetime | None = None
    """When it fired; None while it is pending."""
    emitted_at: datetime | None = None
    emitted_summary: str = ""
    group: Group = Group()
    least_members: int = 1
    """The alert stays pending while its group has fewer members than this."""

    @property
    def keep(self) -> timedelta:
        return timedelta(seconds=self.keep_seconds)

    @property
    def resolved_at(self) -> datetime | None:
        """Return when `keep_firing` has passed; None while its condition is true, or if it never fired."""
        return (
            None
            if self.ended_at is None or self.starts_at is None
            else max(self.ended_at + self.keep, self.starts_at)
        )

    def is_quiet(self, at: datetime) -> bool:
        """Tell whether `keep_firing` has passed and it is not about to fire."""
        if self.ended_at is None or (self.starts_at is None and (not self.happens or self.is_enough)):
            return False
        return at >= self.ended_at + self.keep

    def is_forgotten(self, at: datetime) -> bool:
        """Tell whether it ended before it fired. Within one minute of a cluster's log it can end and hold again."""
        return not self.happens and self.starts_at is None and self.ended_at is not None and at > self.ended_at

    def ended(self, at: datetime) -> Self:
        """Return the alert after its condition became false, or its occurrence is no longer news."""
        if self.ended_at is None or (self.happens and self.ended_at > at):
            return msgspec.structs.replace(self, ended_at=at)
        return self

    def recovered(self, at: datetime) -> Self | None:
        """Return the alert resolved for good; None if it has not fired yet, so that it is forgotten."""
        return None if self.starts_at is None else msgspec.structs.replace(self, ended_at=at, keep_seconds=0.0)

    def kept_until(self, at: datetime) -> Self:
        """Return the alert with `keep_firing` ending exactly at `at`."""
        return msgspec.structs.replace(self, ended_at=at - self.keep)

    def started(self, at: datetime) -> Self:
        """Return the alert as firing if its hold time has passed."""
        fires_at = self.since + timedelta(seconds=self.for_seconds)
        has_ended = self.ended_at is not None and not self.happens
        if self.starts_at is not None or has_ended or not self.is_enough or at < fires_at:
            return self
        return msgspec.structs.replace(self, starts_at=fires_at)

    def emitted(self, at: datetime, *, repeat: bool) -> Self | None:
        """Return the alert after it is emitted as firing; None if there is nothing to emit.

        With `repeat`, an alert whose text changed, or that was last emitted an hour ago, is emitted again. The
        emission time does not depend on which record came next.
        """
        if self.starts_at is None:
            return None
        emitted_at = self.starts_at
        if self.emitted_at is not None:
            is_reworded = self.summary != self.emitted_summary
            if not repeat or not (is_reworded or at - self.emitted_at >= REPEAT_EVERY):
                return None
            emitted_at = at if is_reworded else self.emitted_at + REPEAT_EVERY
        return msgspec.structs.replace(self, emitted_at=emitted_at, emitted_summary=self.summary)

    @property
    def is_enough(self) -> bool:
        """Tell whether the group has enough members; true for an alert without a group."""
        return not self.group.members or self.group.count >= self.least_members


def key_of(labels: Mapping[str, str]) -> str:
    """Return the key of an alert among the active ones of its name: the labels from its condition."""
    return repr(sorted(labels.items()))
