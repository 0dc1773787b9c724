"""An episode of failing image GC on a node, with its verdict and explanation (rules: invalid-capacity)."""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from common.amounts import how_often, size
from streams.fold.findings import ImageGc
from streams.rules.image_gc.messages import ImageGcFailure, because
from streams.rules.image_gc.thresholds import ImageGcDecision

AT_START: Final = timedelta(seconds=60)
LOOP: Final = timedelta(minutes=15)
LOOP_STARTS: Final = 3
APART: Final = timedelta(minutes=4)
"""Two failures after one start with at least this distance are two runs, not one burst."""
NEXT_RUN: Final = timedelta(minutes=6)
"""Time after a failure by which the next run, five minutes later, has ended."""
UNDECIDED: Final = timedelta(minutes=11)
SAME_RUN: Final = timedelta(seconds=10)
"""Within this time ImageGCFailed repeats the failure that another Event of the same run reported."""


class Failure(msgspec.Struct, frozen=True):
    reported: ImageGcFailure
    at: datetime
    since: datetime
    """The first occurrence among its `delta`, if the Event has it."""
    start: datetime | None
    """The kubelet's last start before it, if one was seen."""
    delta: int
    lower_bound: bool
    consecutive: bool
    """True for ImageGCFailed, which the kubelet emits from the second failure in a row on (rules: image-gc-loop)."""
    time_known: bool = True


class Settings(msgspec.Struct, frozen=True, array_like=True):
    """The kubelet's settings in percent of the image file system; defaults if `/configz` is missing."""

    high_percent: int
    low_percent: int
    assumed: bool
    intended_by: str = ""
    """The ConfigMap that they come from, if the kubelet did not answer."""

    @property
    def source(self) -> str:
        """Return their origin in brackets; empty if the kubelet answered."""
        if self.intended_by:
            return f" (by the ConfigMap {self.intended_by}, since no /configz was seen)"
        return " (the defaults, since no /configz was seen)" if self.assumed else ""


class Episode(msgspec.Struct, frozen=True):
    reported: ImageGcFailure = msgspec.field(name="told")  # its name in stored states
    first_at: datetime
    last_at: datetime
    since_start: datetime
    """The first failure after the kubelet's last start."""
    reported_runs: int = msgspec.field(name="heard")
    """Number of failed runs, by their own Events, by log lines and by samples."""
    repeated: int
    """Number of times that ImageGCFailed was reported: from the second run in a row on (rules: image-gc-loop)."""
    only_repeated_runs: int = msgspec.field(name="apart")
    """Failed runs that only ImageGCFailed reports."""
    lower_bound: bool
    start_seen: bool
    at_start: bool
    """True if every failure was within a minute of a start."""
    goes_on: bool
    """True if ImageGCFailed or samples without a capacity confirm the failure."""
    settings: Settings
    decision: ImageGcDecision | None
    """Image GC's decision, from the last sample before the last failure."""
    capacity_seen_at: datetime | None = None
    """The first later sample with a real capacity."""
    sandbox_image_lost_at: datetime | None = None
    time_known: bool = True
    unreported: str = ""
    """Reason to conclude a failure that no Event reports; empty from the first Event on."""
    verdict: str = ""
    """The last verdict that was written; empty while undecided."""
    only_repeated_at: datetime | None = msgspec.field(name="apart_at", default=None)
    """The last run that counts as `only_repeated_runs`."""

    @property
    def occurrences(self) -> int:
        """Return a lower bound of failed runs, because two Events with counts can be about the same runs."""
        return max(self.reported_runs + self.only_repeated_runs, self.repeated + 1 if self.repeated else 0)

    @property
    def is_more(self) -> bool:
        """Tell whether ImageGCFailed shows more runs than were reported separately."""
        return self.occurrences > self.reported_runs + self.only_repeated_runs


def new_episode(failure: Failure, settings: Settings, decision: ImageGcDecision | None) -> Episode:
    reported, repeated, only_repeated, at = _counted(failure, is_same_run=False)
    return Episode(
        reported=failure.reported,
        first_at=failure.since,
        last_at=failure.at,
        since_start=failure.since,
        reported_runs=reported,
        repeated=repeated,
        only_repeated_runs=only_repeated,
        only_repeated_at=at,
        lower_bound=failure.lower_bound or failure.consecutive,
        start_seen=failure.start is not None,
        time_known=failure.time_known,
        at_start=_is_at_start(failure),
        goes_on=failure.consecutive,
        settings=settings,
        decision=decision,
    )


def extend(episode: Episode, failure: Failure, settings: Settings, decision: ImageGcDecision | None) -> Episode:
    same_run = failure.consecutive and abs(failure.at - episode.last_at) <= SAME_RUN
    restarted = failure.start is not None and failure.start > episode.last_at
    reported, repeated, only_repeated, at = _counted(failure, is_same_run=same_run)
    is_of_repeated = episode.only_repeated_at is not None and abs(failure.at - episode.only_repeated_at) <= SAME_RUN
    if is_of_repeated and not failure.consecutive:
        only_repeated -= 1  # the run's own Event came later
    extended = msgspec.structs.replace(
        episode,
        reported=episode.reported if same_run else failure.reported,
        first_at=min(failure.since, episode.first_at),
        last_at=max(failure.at, episode.last_at),
        since_start=failure.since if restarted else min(failure.since, episode.since_start),
        reported_runs=episode.reported_runs + reported,
        repeated=episode.repeated + repeated,
        only_repeated_runs=episode.only_repeated_runs + only_repeated,
        only_repeated_at=at,
        start_seen=episode.start_seen or failure.start is not None,
        time_known=episode.time_known and failure.time_known,
        at_start=episode.at_start and _is_at_start(failure),
        goes_on=episode.goes_on or failure.consecutive,
        settings=settings,
        decision=decision,
        capacity_seen_at=None,
        unreported="",
    )
    lower_bound = episode.lower_bound or failure.lower_bound or extended.is_more
    return msgspec.structs.replace(extended, lower_bound=lower_bound)


def _counted(failure: Failure, *, is_same_run: bool) -> tuple[int, int, int, datetime | None]:
    """Return what a failure adds to `reported_runs`, `repeated` and `only_repeated_runs`, and that run."""
    if not failure.consecutive:
        return failure.delta, 0, 0, None
    is_of_repeated = failure.delta == 1 and not is_same_run
    return 0, failure.delta, int(is_of_repeated), failure.at if is_of_repeated else None


def is_run_after_run(first: datetime, last: datetime, count: int) -> bool:
    """Tell whether an Event that is first seen with a count means failures in a row.

    One process of the kubelet counted them under one name (rules: event-counts), and they are as close together as
    its runs.
    """
    return last - first >= APART and last - first <= NEXT_RUN * (count - 1)


def is_over(episode: Episode, failure: Failure) -> bool:
    """Tell whether a failure starts a new episode: the last one was at a start, and long ago."""
    return episode.verdict in {"benign_startup", "recovered"} and failure.at - episode.last_at > LOOP


def verdict(episode: Episode, starts: tuple[datetime, ...]) -> str:
    """Return the verdict; empty while undecided. `starts` are the kubelet's starts of the last 15 minutes."""
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


def row_of(cluster: str, node: str, episode: Episode, verdict: str, now: datetime) -> ImageGc:
    reported, decision = episode.reported, episode.decision
    percent, wanted = reported.usage_percent, reported.wanted_bytes
    if decision is not None and reported.reason == "insufficient_freed":
        percent = decision.usage_percent if percent is None else percent
        wanted = (decision.wanted_bytes or None) if wanted is None else wanted
    return ImageGc(
        cluster=cluster,
        ts=episode.first_at,
        node=node,
        verdict=verdict,
        result=reported.result,
        reason=reported.reason,
        usage_percent=percent,
        high_percent=episode.settings.high_percent,
        low_percent=episode.settings.low_percent,
        wanted_bytes=wanted,
        freed_bytes=reported.freed_bytes,
        occurrences=episode.occurrences,
        occurrences_lower_bound=episode.lower_bound,
        last_at=episode.last_at,
        explanation=_explanation(episode, verdict),
        settings_assumed=episode.settings.assumed,
        time_known=episode.time_known,
        updated_at=now,
    )


def _explanation(episode: Episode, verdict: str) -> str:
    match verdict:
        case "benign_startup":
            text = _benign(episode)
        case "restart_loop":
            text = (
                f"The kubelet keeps restarting, and {_times(episode)} image GC read capacity 0 before the first "
                "sample of the file system was there. Image GC is not the cause; find out why the kubelet restarts."
            )
        case "persistent":
            text = _persistent(episode)
        case "insufficient_freed":
            text = _insufficient(episode)
        case _:
            text = _recovered(episode)
    return text + _sandbox(episode)


def _times(episode: Episode) -> str:
    times = how_often(episode.occurrences)
    return f"at least {times}" if episode.lower_bound else times


def _why(episode: Episode) -> str:
    return because(episode.reported.reason, episode.reported.text)


def _clock(at: datetime) -> str:
    return f"{at:%H:%M:%S}"


def _benign(episode: Episode) -> str:
    start = (
        "within a minute of the kubelet's start"
        if episode.start_seen
        else "and the kubelet's start before it was not seen"
    )
    after = "" if episode.start_seen else "after a start "
    finding = (
        f"Image GC read capacity 0 of the image file system {_times(episode)}, {start}: {after}the first run is a "
        "race with the first measurement of that file system."
    )
    if episode.capacity_seen_at is not None:
        return f"{finding} The sample of {_clock(episode.capacity_seen_at)} has a real capacity. Nothing to do."
    return (
        f"{finding} No later sample has confirmed yet that the capacity is read; if it repeats, this verdict changes."
    )


def _persistent(episode: Episode) -> str:
    since = _clock(episode.first_at)
    again = "" if episode.occurrences == 1 else f" run after run ({_times(episode)}, since {since})"
    if episode.reported.reason == "invalid_capacity":
        once = f"read capacity 0 of the image file system at {since}, samples show none either,"
        runs = f"reads capacity 0 of the image file system{again}" if again else once
        return (
            f"Image GC {runs} and gives up before it frees anything: imageGCHighThresholdPercent "
            f"({episode.settings.high_percent} %) does not apply, and the disk fills until pods are evicted. The "
            "kubelet does not know the device of the image file system: check the container runtime and its mount."
        )
    look = f"{_said(episode)}Look at the kubelet's log and at the container runtime."
    if episode.reported.reason == "delete_error":
        fails = f"Image GC runs, and deleting images fails{again}" if again else f"Deleting images failed at {since}"
        return f"{fails}{_amounts(episode)}. {look}"
    fails = f"fails{again}" if again else f"failed at {since}"
    return f"Image GC {fails} because {_why(episode)}, so unused images stay. {look}"


def _amounts(episode: Episode) -> str:
    wanted, freed = episode.reported.wanted_bytes, episode.reported.freed_bytes
    return "" if wanted is None or freed is None else f": it wanted to free {size(wanted)} and freed {size(freed)}"


def _said(episode: Episode) -> str:
    """Quote the error of a known reason; empty for an unknown one, whose error is quoted as the reason."""
    reported = episode.reported
    if not reported.text or reported.reason == "unknown":
        return ""
    who = "The container runtime's error" if reported.reason == "delete_error" else "The error"
    return f'{who}: "{reported.text}". '


def _insufficient(episode: Episode) -> str:
    settings, decision = episode.settings, episode.decision
    percent = episode.reported.usage_percent
    if percent is None and decision is not None:
        percent = decision.usage_percent
    wanted = episode.reported.wanted_bytes
    used = f"{percent} % of the image file system is used. " if percent is not None else ""
    if percent is None and wanted is None:
        used = "The use of the image file system is unknown. "
    freed = episode.reported.freed_bytes
    result = "freed too little" if freed is None else f"freed only {size(freed)}" if freed else "freed nothing"
    result += f" of {size(wanted)}" if wanted else ""
    aims = f"Image GC starts at {settings.high_percent} % and targets {settings.low_percent} %{settings.source}"
    # usage alone does not show why images stay
    unused = "Check" if episode.unreported else "Unused images do not fill the disk: check images in use,"
    check = f"{unused}{' images,' if episode.unreported else ''} logs, volumes and host paths."
    return f"{used}{aims}, but {result} ({_times(episode)}).{episode.unreported} {check}"


def _recovered(episode: Episode) -> str:
    seen = episode.capacity_seen_at
    sample = f", and the sample of {_clock(seen)} has a real capacity" if seen else ""
    return (
        f"No failure of the next run was reported{sample}. It failed {_times(episode)} {_span(episode)} "
        f"because {_why(episode)}."
    )


def works_again(episode: Episode, held: Settings, decision: ImageGcDecision) -> str:
    """Explain a recovery by a sample: when a run was due, there was nothing to free."""
    used = f"{decision.usage_percent} % of the image file system is used"
    starts = "never runs" if decision.verdict == "disabled" else f"starts at {held.high_percent} %"
    return f"{used}, and it {starts}. It had failed {_times(episode)} {_span(episode)} because {_why(episode)}."


def nothing_to_free(episode: Episode, held: Settings, decision: ImageGcDecision) -> str:
    """Explain a recovery by new settings, with which there is nothing to free."""
    used = f"{decision.usage_percent} % of the image file system is used"
    starts = "never runs" if decision.verdict == "disabled" else f"starts at {held.high_percent} %"
    before = f"It failed {_times(episode)} {_span(episode)}"
    return (
        f"Image GC has nothing to free with the current settings: {used}, and it {starts}. {before}, when it "
        f"started at {episode.settings.high_percent} %, because {_why(episode)}." + _sandbox(episode)
    )


def _span(episode: Episode) -> str:
    first, last = _clock(episode.first_at), _clock(episode.last_at)
    return f"at {first}" if first == last else f"from {first} to {last}"


def _sandbox(episode: Episode) -> str:
    if episode.sandbox_image_lost_at is None:
        return ""
    return (
        f" Since {_clock(episode.sandbox_image_lost_at)} pods fail to start: the runtime cannot get the pause image, "
        "which image GC deletes while it is unused. Pull it again and pin it."
    )
