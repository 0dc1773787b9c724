"""The row of an episode, and what its verdict means in words for a person who is woken by it."""

from datetime import datetime

from common.amounts import size
from streams.analytics.image_gc.episode import Episode, Settings
from streams.fold.findings import ImageGc
from streams.rules.image_gc.messages import because
from streams.rules.image_gc.thresholds import ImageGcDecision


def row_of(cluster: str, node: str, episode: Episode, verdict: str, now: datetime) -> ImageGc:
    """The row of an episode by that verdict."""
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
        updated_at=now,
    )


def _explanation(episode: Episode, verdict: str) -> str:
    """One paragraph: what happened, why it matters or not, what to do."""
    match verdict:
        case "benign_startup":
            text = _benign(episode)
        case "restart_loop":
            text = (
                f"The kubelet keeps restarting, and {_times(episode)} image GC read capacity 0 before the first "
                "sample of the file system was there. Image GC is not the trouble; look at why the kubelet restarts."
            )
        case "persistent":
            text = _persistent(episode)
        case "insufficient_freed":
            text = _insufficient(episode)
        case _:
            text = _recovered(episode)
    return text + _sandbox(episode)


def _times(episode: Episode) -> str:
    times = "once" if episode.occurrences == 1 else f"{episode.occurrences} times"
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
    begin = (
        f"Image GC read capacity 0 of the image file system {_times(episode)}, {start}: the first run is a race with "
        "the first measurement of that file system."
    )
    if episode.capacity_seen_at is not None:
        return f"{begin} The sample of {_clock(episode.capacity_seen_at)} has a real capacity. Nothing to do."
    return (
        f"{begin} No later sample has confirmed yet that the capacity is read; if it repeats, this verdict changes."
    )


def _persistent(episode: Episode) -> str:
    if episode.reported.reason == "invalid_capacity":
        return (
            f"Image GC reads capacity 0 of the image file system run after run ({_times(episode)}, since "
            f"{_clock(episode.first_at)}) and gives up before it frees anything: imageGCHighThresholdPercent "
            f"({episode.settings.high_percent} %) does not apply, and the disk fills until pods are evicted. The "
            "kubelet does not know the device that images lie on: look at the container runtime and at its mount."
        )
    return (
        f"Image GC fails run after run ({_times(episode)}, since {_clock(episode.first_at)}) because "
        f"{_why(episode)}, so unused images stay. Look at the kubelet's log and at the container "
        "runtime."
    )


def _insufficient(episode: Episode) -> str:
    settings, decision = episode.settings, episode.decision
    percent = episode.reported.usage_percent
    if percent is None and decision is not None:
        percent = decision.usage_percent
    wanted = episode.reported.wanted_bytes
    used = f"{percent} % of the image file system is used. " if percent is not None else ""
    if percent is None and wanted is None:
        used = "How much of the image file system is used is not known. "
    assumed = " (the defaults, since no /configz was seen)" if settings.assumed else ""
    freed = episode.reported.freed_bytes
    result = "freed too little" if freed is None else f"freed only {size(freed)}" if freed else "freed nothing"
    result += f" of {size(wanted)}" if wanted else ""
    return (
        f"{used}Image GC starts at {settings.high_percent} % and targets {settings.low_percent} %{assumed}, but "
        f"{result} ({_times(episode)}).{episode.unreported} Unused images do not fill the disk: check images in use, "
        "logs, volumes and host paths."
    )


def _recovered(episode: Episode) -> str:
    seen = episode.capacity_seen_at
    sample = f", and the sample of {_clock(seen)} has a real capacity" if seen else ""
    return (
        f"Image GC works again: the next run was not heard to fail{sample}. It had failed {_times(episode)} from "
        f"{_clock(episode.first_at)} to {_clock(episode.last_at)} because {_why(episode)}."
    )


def nothing_to_free(episode: Episode, held: Settings, decision: ImageGcDecision) -> str:
    """A finding of settings that are replaced since: by those in force now there is nothing to free."""
    used = f"{decision.usage_percent} % of the image file system is used"
    starts = "never runs" if decision.verdict == "disabled" else f"starts at {held.high_percent} %"
    before = f"It had failed {_times(episode)} from {_clock(episode.first_at)} to {_clock(episode.last_at)}"
    return (
        f"Image GC has nothing to free by the settings in force now: {used}, and it {starts}. {before}, when it "
        f"started at {episode.settings.high_percent} %, because {_why(episode)}." + _sandbox(episode)
    )


def _sandbox(episode: Episode) -> str:
    if episode.sandbox_image_lost_at is None:
        return ""
    return (
        f" Since {_clock(episode.sandbox_image_lost_at)} pods fail to start: image GC deleted the pause "
        "image. Pull it again and pin it."
    )
