"""Image GC that does not come below its threshold although no Event reports it (rules: dropped-events)."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from common.amounts import counted
from ingest.model.records import Metric
from streams.analytics.image_gc.episode import Failure
from streams.rules.image_gc.messages import ImageGcFailure, Result
from streams.rules.image_gc.thresholds import ImageGcDecision

RUNS: Final = 3
THREE_RUNS: Final = timedelta(minutes=16)
"""In so long the kubelet has tried at least three times, five minutes apart."""
GAP: Final = timedelta(minutes=5)
"""Without a sample for so long, usage may have been below meanwhile."""
_COLLECTED: Final = "kubelet_image_garbage_collected_total"


class Above(msgspec.Struct, frozen=True, array_like=True):
    """Usage is at or above the high threshold, sample after sample."""

    since: datetime
    last_at: datetime
    collected: float | None
    """Images that the kubelet had deleted by then, since its start; None where no metrics were seen."""


def follow(
    above: Above | None, decision: ImageGcDecision | None, now: datetime, collected: float | None, *, none_yet: bool
) -> Above | None:
    """After a sample; None below the threshold. `none_yet`: there were metrics, and they did not count images."""
    if decision is None or decision.verdict != "free":
        return None
    if above is None or now - above.last_at > GAP:
        return Above(now, now, 0.0 if none_yet else collected)
    return Above(above.since, now, above.collected)


def failure_of(above: Above, collected: float | None) -> Failure | None:
    """Conclude a failure from usage alone; None before three runs were due."""
    if above.last_at - above.since < THREE_RUNS:
        return None
    deleted = deleted_since(above, collected)
    result: Result = "error" if deleted is None else "partial" if deleted else "noop"
    reported = ImageGcFailure(result, "insufficient_freed")
    return Failure(reported, above.last_at, above.since, None, RUNS, lower_bound=True, consecutive=False)


def in_words(above: Above, collected: float | None) -> str:
    """Why it is concluded without an Event."""
    deleted = deleted_since(above, collected)
    number = ""
    if deleted is not None:
        number = f" The kubelet's metrics count {counted(round(deleted), 'image')} deleted since then."
    return (
        f" No Event reports it (the kubelet drops Events when there are many), but usage has not been below since "
        f"{above.since:%H:%M:%S}, in which time it tried at least {RUNS} times.{number}"
    )


def deleted_since(above: Above, collected: float | None) -> float | None:
    """Return the images deleted since then; None if metrics are missing, or restarted with the kubelet."""
    if collected is None or above.collected is None or collected < above.collected:
        return None
    return collected - above.collected


def images_collected(metrics: Iterable[Metric]) -> float | None:
    """Return the images deleted by age and for space; None if the kubelet has deleted none since its start, or does
    not count them.
    """
    found = [metric.value for metric in metrics if metric.name == _COLLECTED]
    return sum(found) if found else None
