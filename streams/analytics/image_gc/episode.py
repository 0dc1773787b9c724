"""One trouble of a node's image garbage collection, from its first failure on, and its verdict (rules:
invalid-capacity).
"""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from streams.rules.image_gc.messages import ImageGcFailure
from streams.rules.image_gc.thresholds import ImageGcDecision

AT_START: Final = timedelta(seconds=60)
LOOP: Final = timedelta(minutes=15)
LOOP_STARTS: Final = 3
APART: Final = timedelta(minutes=4)
"""Two failures after one start that are this far apart are two runs, not one burst."""
NEXT_RUN: Final = timedelta(minutes=6)
"""Time after a failure by which the next run, five minutes later, has ended."""
UNDECIDED: Final = timedelta(minutes=11)
SAME_RUN: Final = timedelta(seconds=10)
"""ImageGCFailed repeats what an event of the same run has reported."""


class Failure(msgspec.Struct, frozen=True):
    """A failed run as an event reports it."""

    reported: ImageGcFailure
    at: datetime
    since: datetime
    """The first occurrence among its `delta`, as far as the event has it."""
    start: datetime | None
    """The kubelet's last start before it, where one was seen."""
    delta: int
    lower_bound: bool
    consecutive: bool
    """ImageGCFailed: the kubelet speaks so only from the second failure in a row on (rules: image-gc-loop)."""


class Settings(msgspec.Struct, frozen=True, array_like=True):
    """The kubelet's settings: percent of the image file system, and whether they are defaults because `/configz` is
    missing.
    """

    high_percent: int
    low_percent: int
    assumed: bool


class Episode(msgspec.Struct, frozen=True):
    """The known facts about an episode."""

    reported: ImageGcFailure = msgspec.field(name="told")  # its name in states that were stored
    first_at: datetime
    last_at: datetime
    since_start: datetime
    """The first failure after the kubelet's last start."""
    occurrences: int
    lower_bound: bool
    start_seen: bool
    at_start: bool
    """Every failure was within a minute of a start."""
    goes_on: bool
    """ImageGCFailed, or samples without a capacity, show it."""
    settings: Settings
    decision: ImageGcDecision | None
    """Decision of a run by the last sample before the last failure."""
    capacity_seen_at: datetime | None = None
    """The first later sample with a real capacity."""
    sandbox_image_lost_at: datetime | None = None
    unreported: str = ""
    """Why it is concluded although no Event reports it; empty from the first Event on."""
    verdict: str = ""
    """The last written verdict; empty while undecided."""


def begin(failure: Failure, settings: Settings, decision: ImageGcDecision | None) -> Episode:
    return Episode(
        reported=failure.reported,
        first_at=failure.since,
        last_at=failure.at,
        since_start=failure.since,
        occurrences=failure.delta + failure.consecutive,
        lower_bound=failure.lower_bound or failure.consecutive,
        start_seen=failure.start is not None,
        at_start=_is_at_start(failure),
        goes_on=failure.consecutive,
        settings=settings,
        decision=decision,
    )


def extend(episode: Episode, failure: Failure, settings: Settings, decision: ImageGcDecision | None) -> Episode:
    same_run = failure.consecutive and abs(failure.at - episode.last_at) <= SAME_RUN
    restarted = failure.start is not None and failure.start > episode.last_at
    counted = episode.occurrences + (0 if same_run else failure.delta)
    # ImageGCFailed counts from the second of a row on (rules: image-gc-loop).
    occurrences = max(counted, failure.delta + 1) if failure.consecutive else counted
    return msgspec.structs.replace(
        episode,
        reported=episode.reported if same_run else failure.reported,
        first_at=min(failure.since, episode.first_at),
        last_at=max(failure.at, episode.last_at),
        since_start=failure.since if restarted else min(failure.since, episode.since_start),
        occurrences=occurrences,
        lower_bound=episode.lower_bound or failure.lower_bound or occurrences > counted,
        start_seen=episode.start_seen or failure.start is not None,
        at_start=episode.at_start and _is_at_start(failure),
        goes_on=episode.goes_on or failure.consecutive,
        settings=settings,
        decision=decision,
        capacity_seen_at=None,
        unreported="",
    )


def is_run_after_run(first: datetime, last: datetime, count: int) -> bool:
    """Tell whether an Event that is first seen with a count means failures in a row.

    One process of the kubelet counted them under one name (rules: event-counts), and they are as close together as
    its runs.
    """
    return last - first >= APART and last - first <= NEXT_RUN * (count - 1)


def is_over(episode: Episode, failure: Failure) -> bool:
    """Tell whether a failure begins a new episode: the last one was at a start, and long ago."""
    return episode.verdict in {"benign_startup", "recovered"} and failure.at - episode.last_at > LOOP


def verdict(episode: Episode, starts: tuple[datetime, ...]) -> str:
    """The verdict; empty while it is undecided.

    `starts` are the kubelet's of the last quarter of an hour.
    """
    if episode.reported.reason != "invalid_capacity":
        return "insufficient_freed" if episode.reported.reason == "insufficient_freed" else "persistent"
    around = [s for s in starts if episode.first_at - AT_START <= s <= episode.last_at]
    if len(around) >= LOOP_STARTS:
        return "restart_loop"
    if episode.goes_on or episode.last_at - episode.since_start >= APART:
        return "persistent"
    if not episode.at_start and episode.capacity_seen_at is None:
        return ""
    return "recovered" if episode.start_seen and not episode.at_start else "benign_startup"


def _is_at_start(failure: Failure) -> bool:
    return failure.start is not None and failure.at - failure.start <= AT_START
