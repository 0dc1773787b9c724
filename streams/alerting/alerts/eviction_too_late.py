"""EvictionTooLate: memory falls so fast that it is used up before the kubelet looks again."""

from collections.abc import Sequence
from typing import Final

import pydantic

from common.amounts import size
from common.durations import in_words
from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Nothing, Now
from streams.alerting.rule_settings import RuleSettings, Seconds
from streams.alerting.words import name
from streams.fold.findings import EvictionSignal
from streams.rules.eviction.signals import MEMORY_AVAILABLE


class Settings(RuleSettings):
    within_seconds: Seconds = pydantic.Field(alias="within")
    reaction_seconds: Seconds = pydantic.Field(alias="reaction")


def step(
    settings: Settings, state: Nothing, rows: Sequence[EvictionSignal], now: Now
) -> tuple[Nothing, Sequence[Change]]:
    """Called for every sample of every node."""
    row = next((each for each in rows if each.signal == MEMORY_AVAILABLE), None)
    if row is None or (row.seconds_to_hard is None and not now.active):
        return state, ()
    return state, [_judged(row, settings)]


def _judged(row: EvictionSignal, settings: Settings) -> Change:
    slope, threshold, ahead = row.slope_per_second, row.hard_threshold, row.seconds_to_hard
    if slope is None or slope >= 0 or threshold is None or ahead is None or ahead > settings.within_seconds:
        return Ends({})
    left = min(row.available, threshold) / -slope
    if left >= settings.reaction_seconds:
        return Ends({})
    advised = size(2 * settings.reaction_seconds * -slope)
    return Holds(
        {},
        f"Node {name(row.node)}: memory is used up {in_words(left)} after eviction is due, and the kubelet needs up "
        f"to {in_words(settings.reaction_seconds)}",
        f"{size(row.available)} of memory ({row.signal}) are left and fall by {size(-slope)} a second; the hard "
        f"eviction threshold is {size(threshold)}. The kubelet compares every 10 s, so the kernel's OOM killer may "
        "act first, and it need not choose the pod that grows. Find that pod: leadsman query next_eviction. For the "
        f"next time, a hard threshold of {advised} would leave room at this pace: leadsman query node_sizing.",
    )


ALERT: Final = AlertDefinition(
    name="EvictionTooLate",
    settings=Settings,
    needs=(
        Need("samples", "how fast memory falls is not known: it cannot fire"),
        Need("configz", "the threshold is assumed to be the default of that kubelet", required=False),
    ),
    node_rows=(EvictionSignal,),
    step=step,
)
