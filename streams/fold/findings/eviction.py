"""Node-pressure eviction and image GC: signals, conditions, verdicts, and the pods that were evicted."""

from datetime import datetime
from typing import Final, NamedTuple

from streams.fold.findings.row import row


@row(table="eviction_signals", high_rate=True, replaced=False)
class EvictionSignal(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    signal: str
    available: int
    capacity: int
    hard_threshold: int | None
    soft_threshold: int | None
    soft_grace_seconds: float | None
    hard_met: bool
    soft_met: bool
    slope_per_second: float | None
    """Slope of `available`; None if the samples do not support one."""
    seconds_to_soft: float | None
    """The likely time, as of hard."""
    seconds_to_hard: float | None
    """The likely time, if nothing in `acts_first` acts before; None where nothing can be foretold."""
    gc_first: bool
    thresholds_assumed: bool
    """No `configz` was seen: the defaults of that kubelet version."""
    seconds_to_soft_earliest: float | None = None
    """One time of ten it is met before; after the latest too."""
    seconds_to_soft_latest: float | None = None
    seconds_to_hard_earliest: float | None = None
    seconds_to_hard_latest: float | None = None
    acts_first: str = ""
    """The first to act if the trend continues: `hard`, `soft`, `image_gc`, or another signal of the same resource;
    empty if nothing approaches.
    """
    minimum_reclaim: int | None = None
    """An eviction goes on until `available` is this much above the threshold."""
    soft_met_since: datetime | None = None
    """The first of the samples in a row that are below the soft threshold; an eviction is due after its grace."""


@row(table="pressure_changes")
class PressureChange(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    condition: str
    status: bool
    lasted_seconds: float | None
    """Duration of the state that ended; None if its beginning was not seen."""
    kubelet_restart: bool
    evidence: str
    updated_at: datetime


@row(table="evictions")
class Eviction(NamedTuple):
    cluster: str
    ts: datetime
    """When the first witness saw it."""
    node: str
    namespace: str
    pod: str
    uid: str
    cause: str
    resource: str
    signal: str
    """Empty where no witness or sample shows it."""
    threshold: int | None
    available: int | None
    predicted_rank: int | None
    predicted_at: datetime | None
    """The sample that the rank was predicted from."""
    ranked_pods: int | None
    tied_pods: int | None
    """Pods that are equal in the kubelet's comparison, this one counted: their ranks may be swapped."""
    pod_usage: int | None
    """The use that the ranking compared, at that sample."""
    pods_usage_ratio: float | None
    """Use of all pods together as a share of all use: near 0 means that no pod explains the pressure."""
    evidence: str
    message: str
    updated_at: datetime
    found_late: bool = False
    """The first witness was seen minutes after the eviction: nobody watched then."""
    time_known: bool = True
    """A witness has the time; else `ts` is one of the bounds, and a row with the time takes the place of this."""
    earliest: datetime | None = None
    latest: datetime | None = None
    threshold_kind: str = ""
    """`hard` or `soft`, of the threshold that the message names; empty if that is not known."""


BROKEN_GC: Final = ("persistent", "restart_loop", "insufficient_freed")
"""Verdicts about image GC that does not do its work."""


@row(table="image_gc")
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
