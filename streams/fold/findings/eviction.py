"""Node-pressure eviction and image GC: signals, conditions, verdicts, and the pods that were evicted."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from common.amounts import counted, how_often, size
from common.durations import in_words
from streams.fold.findings.row import row
from streams.fold.titles import OUTSIDE_PODS
from streams.rules.eviction.messages import PressureEviction, parse_evicted
from streams.rules.eviction.order import UNEXPLAINED
from streams.rules.eviction.shortage import UNKNOWN_CAUSE, short_of


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
    seconds_to_soft: float | None
    seconds_to_hard: float | None
    gc_first: bool
    thresholds_assumed: bool
    seconds_to_soft_earliest: float | None = None
    seconds_to_soft_latest: float | None = None
    seconds_to_hard_earliest: float | None = None
    seconds_to_hard_latest: float | None = None
    acts_first: str = ""
    minimum_reclaim: int | None = None
    soft_met_since: datetime | None = None
    intended_by: str = ""

    @property
    def assumption(self) -> str:
        """Return a sentence about the origin of assumed thresholds; empty if a kubelet reported them."""
        if self.intended_by:
            return f"No /configz was seen: the threshold is what the ConfigMap {self.intended_by} intends."
        return (
            "No /configz was seen: the threshold is the default of that kubelet." if self.thresholds_assumed else ""
        )


@row(table="pressure_changes", composed=("what",), version=("updated_at",))
class PressureChange(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    condition: str
    status: bool
    lasted_seconds: float | None
    kubelet_restart: bool
    evidence: str
    updated_at: datetime
    time_known: bool = True

    @property
    def what(self) -> str:
        if self.status:
            bound = " at or before this time" if self.evidence == "condition" else " around this time"
            return f"{self.condition} began{'' if self.time_known else bound}."
        after = "" if self.lasted_seconds is None else f" after {in_words(self.lasted_seconds)}"
        return f"{self.condition} ended{after}{' because the kubelet restarted' if self.kubelet_restart else ''}."


@row(table="evictions", composed=("remark", "what"), version=("cause_known", "time_known", "updated_at"))
class Eviction(NamedTuple):
    cluster: str
    ts: datetime
    node: str
    namespace: str
    pod: str
    uid: str
    cause: str
    resource: str
    signal: str
    threshold: int | None
    available: int | None
    predicted_rank: int | None
    predicted_at: datetime | None
    ranked_pods: int | None
    tied_pods: int | None
    pod_usage: int | None
    pods_usage_ratio: float | None
    evidence: str
    message: str
    updated_at: datetime
    found_late: bool = False
    time_known: bool = True
    """True if a witness has the time; otherwise `ts` is one of the bounds, and a row with the time replaces this
    one.
    """
    earliest: datetime | None = None
    latest: datetime | None = None
    threshold_kind: str = ""

    @property
    def cause_known(self) -> bool:
        """Tell whether its cause is known; a row with the cause replaces one without."""
        return self.cause != UNKNOWN_CAUSE

    @property
    def low_on(self) -> str:
        """Return the shortage that the kubelet's message names."""
        low = f"low on {short_of(self.resource)}"
        if self.available is None or self.threshold is None:
            return low
        left, bound, by = str(self.available), f"the threshold of {self.threshold}", ""
        if self.resource in {"memory", "ephemeral-storage"}:
            left, threshold = size(self.available), size(self.threshold)
            bound = f"the {threshold} threshold"
            by = f"{size(self.threshold - self.available)} " if left == threshold else ""
        if self.available >= self.threshold:  # a minimum reclaim prolongs an eviction
            return f"{low}, {left} available, not below {bound}"
        return f"{low}, {left} available, {by}below {bound}"

    @property
    def outside(self) -> str:
        """Return a sentence for a shortage that no pod explains."""
        explained = self.pods_usage_ratio is None or self.pods_usage_ratio >= UNEXPLAINED
        return "" if explained else OUTSIDE_PODS

    @property
    def remark(self) -> str:
        """Return advice on how to find the culprit; empty if there is none."""
        is_memory = self.cause == "pressure" and self.resource == "memory"
        is_whole = self.evidence != "log" or self.threshold is not None  # a log may name only the resource
        parsed = parse_evicted(self.message) if is_memory and is_whole else None
        if isinstance(parsed, PressureEviction) and parsed.complete and not parsed.offenders:
            bystander = "It was within its request, or not measured yet: others used the memory."
            return f"{bystander} {self.outside}".rstrip()
        return self.outside

    @property
    def what(self) -> str:
        """Return the eviction in words for the story; empty for a rejection, because the story counts those with
        others.
        """
        pod = f"Pod {self.namespace}/{self.pod} was evicted"
        if self.cause == "limit":
            return " ".join(
                filter(None, (f"{pod} for its own limit.", f"{self.message.strip().removesuffix('.')}.", self._when))
            )
        if self.cause == UNKNOWN_CAUSE:
            is_line = self.evidence == "log"
            by = "the line of its kubelet's log does not say" if is_line else "its message was not seen"
            return " ".join(filter(None, (f"{pod}. The reason is unknown: {by}.", self._when)))
        if self.cause != "pressure":
            return ""
        return " ".join(filter(None, (f"{pod}: {self.low_on}.", self._rank, self.remark, self._when)))

    @property
    def _rank(self) -> str:
        if self.predicted_rank is None:
            return "No rank could be predicted."
        others = (self.tied_pods or 1) - 1
        tied = f", tied with {counted(others, 'other pod')}" if others > 0 else ""
        return f"Predicted rank {self.predicted_rank} of {self.ranked_pods}{tied}."

    @property
    def _when(self) -> str:
        if self.time_known:
            return ""
        if self.earliest is None and self.latest is None:
            return "The time of the eviction is unknown: this is when the pod was seen."
        if self.latest is None:
            return f"It was evicted at or after {self.earliest:%F %T} UTC."
        if self.earliest is None:
            return f"It was evicted at or before {self.latest:%F %T} UTC."
        return f"It was evicted between {self.earliest:%F %T} and {self.latest:%F %T} UTC."


BROKEN_GC: Final = ("persistent", "restart_loop", "insufficient_freed")
"""Verdicts of failing image GC."""
GC_VERDICTS: Final = {
    "benign_startup": "failed once at the start",
    "restart_loop": "fails at every start of the kubelet",
    "persistent": "keeps failing",
    "insufficient_freed": "frees too little",
    "recovered": "works again",
}
"""The text after "Image GC", by verdict."""
GC_WAS: Final = {
    "restart_loop": "failed at every start of the kubelet",
    "persistent": "kept failing",
    "insufficient_freed": "freed too little",
}
"""The same in the past tense, for a failure that is or may be over."""


def image_gc_head(verdict: str, reason: str, *, goes_on: bool = True) -> str:
    """Return a verdict as a clause, for the story, cards and alerts; `goes_on` is False if the failure is or may be
    over.
    """
    if (verdict, reason) == ("persistent", "delete_error"):  # image GC runs, and has found images to delete
        return f"Image GC {'fails' if goes_on else 'failed'} to delete images"
    words = GC_VERDICTS if goes_on else GC_WAS
    return f"Image GC {words.get(verdict, verdict)}"


_TOO_LITTLE: Final = frozenset({"insufficient_freed", "delete_error"})
_QUIET: Final = {
    "insufficient_freed": timedelta(minutes=6),
    "persistent": timedelta(minutes=11),
    "restart_loop": timedelta(minutes=15),
}


def frees_too_little(verdict: str, reason: str) -> bool:
    """Tell whether image GC runs, but frees too little; otherwise it cannot even begin."""
    return verdict == "insufficient_freed" or reason in _TOO_LITTLE


def gc_counts_for(verdict: str, reason: str) -> timedelta:
    """Return how long a failure counts.

    By default its alert fires for the same time, unless samples show that it continues. A run comes every 5 minutes,
    and the kubelet drops Events: silence after this time is neither a failure nor a recovery.
    """
    return _QUIET["insufficient_freed" if frees_too_little(verdict, reason) and verdict == "persistent" else verdict]


@row(table="reclaims", composed=("what",), version=("version",))
class Reclaim(NamedTuple):
    """A kubelet's attempts to reclaim a resource, counted by one Event."""

    cluster: str
    ts: datetime
    node: str
    resource: str
    last_at: datetime
    times: int
    outcome: str
    evicted: int
    signal: str
    """The signal that meets its threshold in samples; empty, with amounts of None, if no sample shows one."""
    threshold: int | None
    available_low: int | None
    available_after: int | None
    images_removed: int | None
    logged: bool
    time_known: bool
    version: int

    @property
    def what(self) -> str:
        often = f" {how_often(self.times)}" if self.times > 1 else ""
        found = ", and ".join(filter(None, (self._back, self._images)))
        ending = "The outcome is unknown."
        if self.outcome == "evicted":
            ending = f"It evicted {counted(self.evicted, 'pod')}."
        elif self.outcome == "no_eviction_seen":
            ending = "According to its log, it evicted no pod." if self.logged else "No eviction was seen."
        tried = f"The kubelet tried to reclaim {short_of(self.resource)}{often}"
        return f"{tried}{found and f': {found}'}. {ending}"

    @property
    def _back(self) -> str:
        if self.available_low is None or self.available_after is None or self.available_after <= self.available_low:
            return ""
        of_bytes = self.resource in {"memory", "ephemeral-storage"}
        low, after, back = (
            size(each) if of_bytes else f"{each:,}"
            for each in (self.available_low, self.available_after, self.available_after - self.available_low)
        )
        return f"{back} came back (from {low} available to {after})"

    @property
    def _images(self) -> str:
        removed = self.images_removed
        return "" if removed is None else f"{counted(removed, 'image was', 'images were')} removed"


@row(table="image_gc", composed=("what",), version=("updated_at",))
class ImageGc(NamedTuple):
    cluster: str
    ts: datetime
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
    time_known: bool = True

    @property
    def what(self) -> str:
        when = "" if self.time_known else " Its exact start is unknown."
        return f"{image_gc_head(self.verdict, self.reason)}: {self.explanation}{when}"
