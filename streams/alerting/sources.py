"""Alerts about Leadsman's own input: streams that are silent, and observations that make no sense."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import msgspec

from ingest.model.records import DeadLetterRecord
from streams.alerting.holding import Said, State, ends, happened, is_over, key_of
from streams.alerting.words import name
from streams.fold.findings import SourceError

if TYPE_CHECKING:
    from streams.alerting.rules import AlertRules

SUMMARY: Final = "stats/summary"
IN_A_ROW: Final = timedelta(minutes=15)
"""A source that is asked every ten minutes fails twice in a row within this."""
_STALLED: Final = "StreamStalled"
_DEAD: Final = "DeadLetters"
_LETTERS: Final = key_of(_DEAD, {})


def source_error(state: State, row: SourceError, at: datetime, rules: "AlertRules") -> State:
    """A silence, or one more failure. A gap is over when it is told."""
    rule = rules.alerts.StreamStalled
    if not rule.enabled:
        return state
    if row.kind == "silent":
        silence = timedelta(seconds=row.silent_seconds or 0.0)
        if silence < timedelta(seconds=rule.for_seconds):
            return state
        # the next is told when the silence has doubled: without it, the stream was heard
        return _stalled(state, row, at, rules, f"is silent since {_time(row.ts - silence)}", row.ts + silence)
    if row.kind != "unreadable" or is_over(at, row.ts, rule.keep_firing_seconds):
        return state
    since, last, times = state.failures.get(row.resource, (row.ts, row.ts, 0))
    if row.ts - last > IN_A_ROW:
        since, times = row.ts, 0
    found = (since, max(last, row.ts), times + 1)
    state = msgspec.structs.replace(state, failures={**state.failures, row.resource: found})
    if found[2] < rule.failures or found[1] - since < timedelta(seconds=rule.for_seconds):
        return state
    return _stalled(
        state, row, at, rules, f"cannot be read since {_time(since)}", row.ts + min(row.ts - last, IN_A_ROW)
    )


def dead_letter(state: State, record: DeadLetterRecord, at: datetime, rules: "AlertRules") -> State:
    """One alert for all dead letters of a cluster; it counts those of its first minute."""
    rule = rules.alerts.DeadLetters
    if not rule.enabled:
        return state
    before = state.entries.get(_LETTERS)
    members = before.members if before else {}
    members = {**members, record.error_type: members.get(record.error_type, 0) + 1}
    total = sum(members.values())
    kinds = ", ".join(f"{count} {name(kind)}" for kind, count in sorted(members.items()))
    said = Said(
        _DEAD,
        {},
        f"Cluster {name(record.cluster) or 'unknown'}: {total} {'dead letter' if total == 1 else 'dead letters'} "
        f"within a minute ({kinds})",
        "Observations that could not be decoded or made no sense; all others were used. What was received, where it "
        "came from and why it could not be used: leadsman query dead_letters.",
    )
    return happened(state, said, at, rules, until=record.ts, members=members, wanted=rule.letters)


def _stalled(state: State, row: SourceError, at: datetime, rules: "AlertRules", what: str, until: datetime) -> State:
    where = f"Node {name(row.node)}" if row.node else f"Cluster {name(row.cluster)}"
    said = Said(
        _STALLED,
        {"resource": row.resource},
        f"{where}: {name(row.resource)} {what}",
        f"What Leadsman tells of it is as old as that: no news is not good news here. It said: {name(row.error)}. "
        "See whether the API server or the kubelet answers and what Leadsman may read: leadsman query source_errors, "
        "leadsman validate.",
    )
    # it has been true for so long already: it does not wait
    return happened(state, said, at, rules, until=until, for_seconds=0.0)


def _time(ts: datetime) -> str:
    return f"{ts:%Y-%m-%d %H:%M:%S} UTC"


def heard(state: State, resource: str, at: datetime) -> State:
    """A source gave something: it fails no more."""
    if resource in state.failures:
        failures = {name: found for name, found in state.failures.items() if name != resource}
        state = msgspec.structs.replace(state, failures=failures)
    key = key_of(_STALLED, {"resource": resource})
    entry = state.entries.get(key)
    if entry is None or (entry.ended_at is not None and entry.ended_at <= at):
        return state
    ended = msgspec.structs.replace(entry, ended_at=None)
    return ends(msgspec.structs.replace(state, entries={**state.entries, key: ended}), key, at)
