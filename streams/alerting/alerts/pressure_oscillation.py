"""PressureOscillation: a pressure condition comes and goes."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Final

import msgspec
import pydantic

from common.amounts import how_often
from common.durations import in_words
from streams.alerting.definition import AlertDefinition, Change, Happened, Need, Now
from streams.alerting.rule_settings import RuleSettings, Seconds
from streams.alerting.words import name
from streams.fold.findings import PressureChange

MAX_BEGINNINGS: Final = 1000
"""Maximum number of starts of one condition that are kept."""


class Settings(RuleSettings):
    times: Annotated[int, pydantic.Field(ge=2)]
    window_seconds: Seconds = pydantic.Field(alias="window")


class State(msgspec.Struct, frozen=True):
    begun: dict[str, tuple[datetime, ...]] = {}
    """When each condition began within the window, in order."""


def step(
    settings: Settings, state: State, rows: Sequence[PressureChange], now: Now
) -> tuple[State, Sequence[Change]]:
    """Count how often pressure started within the window. The repeated report of a restarted kubelet is not a
    start.
    """
    window = timedelta(seconds=settings.window_seconds)
    changes: list[Change] = []
    for row in rows:
        if not row.status or row.kubelet_restart or now.at >= row.ts + window:
            continue
        every = sorted({*state.begun.get(row.condition, ()), row.ts})
        begun = tuple(ts for ts in every if ts > every[-1] - window)[-MAX_BEGINNINGS:]
        if begun == state.begun.get(row.condition):
            continue
        state = State({**state.begun, row.condition: begun})
        if len(begun) >= settings.times:
            changes.append(
                Happened(
                    {"condition": row.condition},
                    f"Node {name(row.node)}: {row.condition} began {how_often(len(begun))} within "
                    f"{in_words((begun[-1] - begun[0]).total_seconds())}",
                    "Pods are evicted, replacements refill the node, and the cycle repeats. Find the pods that come "
                    "back, or raise evictionMinimumReclaim so that an eviction frees enough. A longer "
                    "evictionPressureTransitionPeriod keeps new pods away in between. See leadsman query "
                    "pressure_history --by hour.",
                    until=begun[-settings.times] + window,
                )
            )
    return state, changes


ALERT: Final = AlertDefinition(
    name="PressureOscillation",
    settings=Settings,
    needs=(Need("nodes", "no condition is known: it cannot fire"),),
    node_rows=(PressureChange,),
    state=State,
    step=step,
)
