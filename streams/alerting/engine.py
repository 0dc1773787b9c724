"""Alerts: rules over the findings of a log, firing and resolved in its event time: table `alerts`.

They are reducers over the rows that the other reducers of the same log conclude, so both runtimes give the same.
What each rule looks at is in `streams.alerting`, what a person can set in `streams/alerting/defaults.yaml`.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

from ingest.model.records import DeadLetterRecord
from streams.alerting.holding import State
from streams.fold.findings import (
    Alert,
    Eviction,
    EvictionSignal,
    ImageGc,
    KubeletSetting,
    LateJoiners,
    NodeEvent,
    NodeFit,
    NodeRow,
    NumaSkew,
    PressureChange,
    Row,
    SchedulerBlindSpot,
    SourceError,
)
from streams.fold.reducer import Concluded, Reducer

if TYPE_CHECKING:
    from streams.alerting.rules import AlertRules

_Judge = Callable[[Any, State, Concluded], tuple[State, Sequence[Alert]]]
_OF_A_NODE: Final[tuple[type[Row], ...]] = (
    EvictionSignal,
    NodeFit,
    Eviction,
    PressureChange,
    ImageGc,
    KubeletSetting,
    NodeEvent,
    NodeRow,
    NumaSkew,
    SourceError,
)
_OF_A_CLUSTER: Final[tuple[type[Row], ...]] = (NumaSkew, LateJoiners, SchedulerBlindSpot, SourceError)


def step(rules: "AlertRules | None", state: State, concluded: Concluded) -> tuple[State, Sequence[Alert]]:
    """What the findings of one record change about the alerts of a log."""
    judge, packaged = _parts()
    return judge(rules or packaged, state, concluded)


def cluster_step(
    rules: "AlertRules | None", state: State, concluded: Concluded | DeadLetterRecord
) -> tuple[State, Sequence[Alert]]:
    """As `step`, by the minute: records of many nodes come in no fixed order."""
    if isinstance(concluded, DeadLetterRecord):
        concluded = Concluded(concluded.ts, "", new_minute=False, rows=(concluded,))
    return step(rules, state, concluded._replace(at=concluded.at.replace(second=0, microsecond=0)))


@cache
def _parts() -> tuple[_Judge, "AlertRules"]:
    """Only now: pydantic takes long to import, and most commands fold nothing."""
    from streams.alerting.judge import judge  # noqa: PLC0415  # as said
    from streams.alerting.rules_file import default_rules  # noqa: PLC0415  # as said

    return judge, default_rules()


def expire(state: State, _watermark: datetime) -> tuple[State | None, Sequence[Alert]]:
    """Forget a log without alerts; what time alone fires or resolves is told with the first record of a minute."""
    return (None if state == State(state.cluster, state.node) else state), ()


def alert_reducers(rules: "AlertRules | None" = None) -> tuple[Reducer[State], Reducer[State]]:
    """Of nodes' and clusters' logs, with rules of your own or the packaged ones; they go after all other reducers."""
    return (
        Reducer(
            name="alerts",
            version=1,
            log="node",
            takes=(),
            over=_OF_A_NODE,
            state=State,
            step=partial(step, rules),
            expire=expire,
        ),
        Reducer(
            name="cluster_alerts",
            version=1,
            log="cluster",
            takes=(DeadLetterRecord,),
            over=_OF_A_CLUSTER,
            state=State,
            step=partial(cluster_step, rules),
            expire=expire,
        ),
    )
