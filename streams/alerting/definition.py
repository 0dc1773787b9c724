"""The definition of an alert: a pure condition over the findings of one log, with its own settings and state."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec

from ingest.model.records import DeadLetterRecord, HeartbeatRecord, RejectionRecord
from streams.alerting.active import ActiveAlert, Group, key_of
from streams.alerting.rule_settings import RuleSettings
from streams.fold.findings import Row
from streams.fold.reducer import NoState

Input: TypeAlias = Literal[
    "samples",
    "configz",
    "thresholds",
    "nodes",
    "numa",
    "requests",
    "pods",
    "events",
    "pods or events",
    "events or samples",
]
"""Inputs of a node that the view `alert_coverage` checks."""


class Need(NamedTuple):
    input: Input
    without_it: str
    """The consequence for a reader if the input is missing."""
    required: bool = True
    """True if the alert cannot fire without it; otherwise its text has less detail."""


class Holds(NamedTuple):
    """The condition is true, and stays so until `Ends`."""

    labels: Mapping[str, str]
    """Labels that distinguish it from other alerts with its name on the same log: never a measured value or a
    time.
    """
    summary: str
    description: str
    at_once: bool = False
    """Fire now, without waiting for `for`."""


class Ends(NamedTuple):
    """The condition is no longer true; without effect if it was not true before."""

    labels: Mapping[str, str]


class Happened(NamedTuple):
    """Something occurred, and is news until a time; the alert is resolved `keep_firing` after that time."""

    labels: Mapping[str, str]
    summary: str
    description: str
    until: datetime
    at_once: bool = False


class Gathers(NamedTuple):
    """Something occurred once more: the alert fires when it has gathered enough, and is then like `Happened`."""

    labels: Mapping[str, str]
    plus: Callable[[Group], Group | None]
    """Adds the occurrence to the group; returns None if the group has it already."""
    words: Callable[[Group], tuple[str, str]]
    """Summary and description of all collected occurrences."""
    until: datetime
    least_members: int


class Recovered(NamedTuple):
    """The condition is over for good: the alert is resolved without `keep_firing`, or forgotten if it never fired."""

    labels: Mapping[str, str]


Change: TypeAlias = Holds | Ends | Happened | Gathers | Recovered


class Now(NamedTuple):
    at: datetime
    """The log's event time."""
    active: Mapping[str, ActiveAlert]
    """Active alerts of `depends_on` that have enough occurrences to fire: by name, the `key_of` their labels."""
    depended_on: Mapping[str, Collection[str]]
    """Active alerts of `depends_on` that have gathered enough to fire: the `key_of` their labels, by name."""

    def of(self, labels: Mapping[str, str]) -> ActiveAlert | None:
        return self.active.get(key_of(labels))

    def is_old(self, happened_at: datetime, settings: RuleSettings) -> bool:
        """Tell whether an alert about that time would be resolved already, because lists repeat old objects."""
        return self.at >= happened_at + timedelta(seconds=settings.keep_firing_seconds)


Settings = TypeVar("Settings", bound=RuleSettings)
State = TypeVar("State", bound=msgspec.Struct)


def each_row(
    changes: Callable[[Settings, Any, Now], Iterable[Change]],
) -> Callable[[Settings, NoState, Sequence[Any], Now], tuple[NoState, Sequence[Change]]]:
    """Return the `step` of a condition that judges one row at a time and has no state."""

    @wraps(changes)
    def step(settings: Settings, state: NoState, rows: Sequence[Any], now: Now) -> tuple[NoState, Sequence[Change]]:
        return state, [change for row in rows for change in changes(settings, row, now)]

    return step


@dataclass(frozen=True, slots=True)
class AlertDefinition(Generic[Settings, State]):
    """Everything about an alert that `streams.alerting.engine` needs to raise it.

    `step` reads no clock, does no I/O and never mutates its arguments; rows come in order. It is called for each
    record that produces rows that it reads, but not while the alert is disabled.
    """

    name: str
    """The name in PascalCase; its module (in snake_case), its settings and its runbook have the same name."""
    settings: type[Settings]
    needs: tuple[Need, ...]
    step: Callable[[Settings, State, Sequence[Any], Now], tuple[State, Sequence[Change]]]
    node_rows: tuple[type[Row], ...] = ()
    """Rows that it reads on the log of a node."""
    cluster_rows: tuple[type[Row | DeadLetterRecord | HeartbeatRecord | RejectionRecord], ...] = ()
    """Rows that it reads on the log of a cluster."""
    state: type[State] = NoState  # type: ignore[assignment]  # the default goes with the default of State
    """A frozen msgspec Struct whose fields all have defaults. No other alert reads it."""
    version: int = 1
    """Increase it if the shape of `state` changes: the condition then starts again, and active alerts stay."""
    lasts: Callable[[State], bool] | None = None
    """Returns True if its alerts stay active without new occurrences."""
    depends_on: tuple[str, ...] = ()
    """Names of alerts that its condition looks at; those alerts depend on no others."""
    of_sources: bool = False
    """True if it is about Leadsman's own sources: missing data does not resolve it."""
    foretells: bool = False
    """True if it forecasts that its label `resource` runs out: a backtest counts one without eviction as false."""
    exhausts: frozenset[str] = frozenset()
    """Resources that run out because of it: a backtest counts it as an announcement of their evictions."""


AnyAlert: TypeAlias = AlertDefinition[Any, Any]
