"""StreamStalled: a stream of a live cluster is silent, or cannot be read."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from ingest.model.records import HeartbeatRecord
from ingest.model.reports import AGENT
from streams.alerting.definition import AlertDefinition, Change, Ends, Happened, Now
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import name, place, timestamp
from streams.fold.findings import EvictionSignal, SourceError

IN_A_ROW: Final = timedelta(minutes=15)
"""The longest time between consecutive failures: a source that is polled every ten minutes fails twice within it."""
_SUMMARY: Final = "stats/summary"
"""The source of every eviction signal."""


class Settings(RuleSettings):
    failures: Count


class Failures(msgspec.Struct, frozen=True, array_like=True):
    since: datetime
    last_at: datetime
    count: int = 0


class State(msgspec.Struct, frozen=True):
    failures: dict[str, Failures] = {}


def step(
    settings: Settings, state: State, rows: Sequence[SourceError | EvictionSignal | HeartbeatRecord], now: Now
) -> tuple[State, Sequence[Change]]:
    """Report a silence, or repeated failures, until the source sends data again. A gap is over once it is
    reported.
    """
    changes: list[Change] = []
    is_read = False
    for row in rows:
        if isinstance(row, EvictionSignal):
            is_read = True
        elif isinstance(row, HeartbeatRecord):
            if now.active:
                changes.append(Ends(_labels(row.resource, row.target)))
        elif row.kind == "silent":
            changes += _silent(row, settings)
        elif row.kind == "unreadable" and not now.is_old(row.ts, settings):
            state, found = _failed(row, settings, state)
            changes += found
    if is_read and (state.failures or now.active or changes):
        state = State({source: failures for source, failures in state.failures.items() if source != _SUMMARY})
        changes.append(Ends({"resource": _SUMMARY}))
    return state, changes


def _silent(row: SourceError, settings: Settings) -> list[Change]:
    silence = timedelta(seconds=row.silent_seconds or 0.0)
    if silence < timedelta(seconds=settings.for_seconds):
        return []
    # the next report comes when the silence has doubled; without one, the stream has sent data
    return [_stalled(row, f"has been silent since {timestamp(row.ts - silence)}", row.ts + silence)]


def _failed(row: SourceError, settings: Settings, state: State) -> tuple[State, list[Change]]:
    before = state.failures.get(row.resource, Failures(row.ts, row.ts))
    gap = row.ts - before.last_at
    if gap > IN_A_ROW:
        before = Failures(row.ts, row.ts)
    found = Failures(before.since, max(before.last_at, row.ts), before.count + 1)
    state = State({**state.failures, row.resource: found})
    lasted = found.last_at - found.since
    if found.count < settings.failures or lasted < timedelta(seconds=settings.for_seconds):
        return state, []
    return state, [_stalled(row, f"could not be read since {timestamp(found.since)}", row.ts + min(gap, IN_A_ROW))]


def _stalled(row: SourceError, what: str, until: datetime) -> Happened:
    return Happened(
        _labels(row.resource, row.node),
        f"{place(row.cluster, row.node)}: {name(row.resource)} {what}",
        f"Everything shown about it is that old, so missing alerts prove nothing. Error: "
        f"{name(row.error)}. Check that the API server or the kubelet answers, and Leadsman's permissions: leadsman "
        "query source_errors, leadsman validate.",
        until=until,
        at_once=True,
    )


def _labels(resource: str, node: str) -> dict[str, str]:
    """Return the labels. An agent's silence is found on the cluster's log, so its node must be a label."""
    return {"resource": resource, **({"node": node} if resource == AGENT else {})}


ALERT: Final = AlertDefinition(
    name="StreamStalled",
    settings=Settings,
    needs=(),
    node_rows=(SourceError, EvictionSignal),
    cluster_rows=(SourceError, HeartbeatRecord),
    state=State,
    step=step,
    of_sources=True,
)
