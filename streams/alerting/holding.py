"""What is true for how long: alerts wait before they fire, and stay before they are resolved, by event time."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from streams.fold.findings import Alert

if TYPE_CHECKING:
    from streams.alerting.rules import AlertRules

TELL_AGAIN: Final = timedelta(hours=1)
"""A firing alert is told again so often, so that whoever keeps only the last days of them knows it."""
FIRING: Final = "firing"
RESOLVED: Final = "resolved"


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One alert that is true, waits to fire, or fires."""

    labels: dict[str, str]
    """All of them: the alert's identity."""
    summary: str
    description: str
    since: datetime
    """When it began to be true, or was first heard of."""
    ended_at: datetime | None
    """When it stopped being true, or the last time that it happened; None while it is true."""
    happens: bool
    """It is a thing that happens (an eviction), not a state that lasts (a skew)."""
    for_seconds: float
    keep_seconds: float
    runbook_url: str
    starts_at: datetime | None = None
    """When it fired; None while it waits."""
    told_at: datetime | None = None
    told: str = ""
    """The summary that was told last."""
    members: dict[str, int] = {}
    """What it groups: by pod, or by kind, how often."""
    wanted: int = 1
    """With fewer of them it does not fire."""
    first_at: datetime | None = None
    last_at: datetime | None = None
    """Of what it groups."""


class State(msgspec.Struct, frozen=True):
    """Alerts of one log, by their name and the labels that tell them apart in it."""

    cluster: str = ""
    node: str = ""
    entries: dict[str, Entry] = {}
    pressures: dict[str, tuple[datetime, ...]] = {}
    """When each pressure condition began, lately."""
    failures: dict[str, tuple[datetime, datetime, int]] = {}
    """By source that cannot be read: since when, the last time, how often."""
    image_gc_high_percent: int | None = None
    imagefs_used_percent: int | None = None
    """Kept only while image GC fails."""
    late_joiners: str = ""
    """What was last concluded of them in words, where they are emptier."""


class Said(NamedTuple):
    """What a condition says of one alert."""

    alertname: str
    labels: Mapping[str, str]
    """What tells it from others of its name on the same log."""
    summary: str
    description: str

    @property
    def key(self) -> str:
        return key_of(self.alertname, self.labels)


def key_of(alertname: str, labels: Mapping[str, str]) -> str:
    """How an alert is found in a state."""
    return f"{alertname} {sorted(labels.items())!r}"


def holds(state: State, said: Said, at: datetime, rules: "AlertRules", *, at_once: bool = False) -> State:
    """It is true at `at`, and stays so until `ends`; `at_once` does not wait before it fires."""
    entry = state.entries.get(said.key)
    if entry is None or _is_forgotten(entry, at):
        entry = _begin(state, said, at, rules, happens=False)
    if at_once and entry.starts_at is None:
        entry = msgspec.structs.replace(entry, since=at, for_seconds=0.0)
    return _with(state, said.key, _renewed(state, entry, said, at, ended_at=None))


def ends(state: State, key: str, at: datetime) -> State:
    """It is not true any more; nothing where it was not."""
    entry = state.entries.get(key)
    if entry is None or entry.ended_at is not None:
        return state
    return _with(state, key, msgspec.structs.replace(entry, ended_at=at))


def happened(
    state: State, said: Said, at: datetime, rules: "AlertRules", *, until: datetime, **changes: object
) -> State:
    """It was heard of at `at`, and happened at `until`, or says something until then; `changes` are fields of the
    entry.
    """
    entry = state.entries.get(said.key) or _begin(state, said, at, rules, happens=True)
    ended_at = max(until, entry.ended_at or until)
    return _with(state, said.key, _renewed(state, entry, said, at, ended_at=ended_at, **changes))


def is_over(at: datetime, happened_at: datetime, keep_seconds: float) -> bool:
    """Whether what happened then is no news any more, as where a list tells old things again."""
    return at >= happened_at + timedelta(seconds=keep_seconds)


def resolved(state: State, at: datetime, still: Collection[str] = ()) -> tuple[State, list[Alert]]:
    """Resolve what has been quiet for long enough; `still` goes on although nothing was heard of it."""
    quiet = [key for key, entry in state.entries.items() if _is_quiet(entry, at)]
    for key in quiet:
        if key in still:
            entry = state.entries[key]
            until_now = at - timedelta(seconds=entry.keep_seconds)
            state = _with(state, key, msgspec.structs.replace(entry, ended_at=until_now))
    return _resolve(state, [key for key in quiet if key not in still], at)


def resolve_all(state: State, at: datetime) -> tuple[State, list[Alert]]:
    """Resolve everything: what the log is about is gone."""
    return _resolve(state, list(state.entries), at, gone=True)


def fired(state: State, at: datetime, *, tell_changes: bool) -> tuple[State, list[Alert]]:
    """Fire what was true for long enough; with `tell_changes`, tell anew what reads differently now."""
    rows: list[Alert] = []
    entries: dict[str, Entry] = {}
    for key, before in state.entries.items():
        if _is_forgotten(before, at):
            continue
        entry = _started(before, at)
        if entry.starts_at is not None and _must_be_told(entry, at, tell_changes=tell_changes):
            told_at = _told_at(entry, at)
            entry = msgspec.structs.replace(entry, told_at=told_at, told=entry.summary)
            rows.append(_row(state, entry, FIRING, told_at))
        entries[key] = entry
    if entries == state.entries:
        return state, rows
    return msgspec.structs.replace(state, entries=entries), rows


def fingerprint(labels: Mapping[str, str]) -> str:
    """16 hexadecimal digits, the same for the same labels in any order."""
    return blake2b(repr(sorted(labels.items())).encode(), digest_size=8).hexdigest()


def _begin(state: State, said: Said, at: datetime, rules: "AlertRules", *, happens: bool) -> Entry:
    rule = rules.of(said.alertname)
    labels = {"alertname": said.alertname, "severity": rule.severity, "cluster": state.cluster}
    if state.node:
        labels["node"] = state.node
    return Entry(
        labels={**labels, **said.labels},
        summary="",
        description="",
        since=at,
        ended_at=None,
        happens=happens,
        for_seconds=rule.for_seconds,
        keep_seconds=rule.keep_firing_seconds,
        runbook_url=f"{rules.runbooks}{said.alertname}.md",
    )


def _renewed(state: State, entry: Entry, said: Said, at: datetime, **changes: object) -> Entry:
    """With new words. On a cluster's log, where records have no fixed order, they are those of its first minute."""
    if state.node or at <= entry.since:
        changes |= {"summary": said.summary, "description": said.description}
    return msgspec.structs.replace(entry, **changes)


def _with(state: State, key: str, entry: Entry) -> State:
    return msgspec.structs.replace(state, entries={**state.entries, key: entry})


def _is_quiet(entry: Entry, at: datetime) -> bool:
    if entry.ended_at is None or (entry.starts_at is None and (not entry.happens or _is_enough(entry))):
        return False
    return at >= entry.ended_at + timedelta(seconds=entry.keep_seconds)


def _is_forgotten(entry: Entry, at: datetime) -> bool:
    """It ended before it fired. In one moment, as a cluster's minute, it can end and be true again."""
    return not entry.happens and entry.starts_at is None and entry.ended_at is not None and at > entry.ended_at


def _started(entry: Entry, at: datetime) -> Entry:
    """Firing, where it is true for long enough."""
    fires_at = entry.since + timedelta(seconds=entry.for_seconds)
    has_ended = entry.ended_at is not None and not entry.happens
    if entry.starts_at is not None or has_ended or not _is_enough(entry) or at < fires_at:
        return entry
    return msgspec.structs.replace(entry, starts_at=fires_at)


def _is_enough(entry: Entry) -> bool:
    return not entry.members or sum(entry.members.values()) >= entry.wanted


def _must_be_told(entry: Entry, at: datetime, *, tell_changes: bool) -> bool:
    if entry.told_at is None:
        return True
    return tell_changes and (entry.summary != entry.told or at - entry.told_at >= TELL_AGAIN)


def _told_at(entry: Entry, at: datetime) -> datetime:
    """When it is told: it fired, its words changed, or an hour is over; none depends on which record came next."""
    if entry.told_at is None:
        return entry.starts_at or at
    return at if entry.summary != entry.told else entry.told_at + TELL_AGAIN


def _over_at(entry: Entry, at: datetime) -> datetime:
    """When it was quiet for long enough."""
    if entry.ended_at is None or entry.starts_at is None:
        return at
    return max(entry.ended_at + timedelta(seconds=entry.keep_seconds), entry.starts_at)


def _resolve(state: State, keys: list[str], at: datetime, *, gone: bool = False) -> tuple[State, list[Alert]]:
    if not keys:
        return state, []
    rows = [
        _row(state, entry, RESOLVED, at if gone else _over_at(entry, at))
        for entry in (state.entries[key] for key in keys)
        if entry.starts_at is not None
    ]
    entries = {key: entry for key, entry in state.entries.items() if key not in keys}
    return msgspec.structs.replace(state, entries=entries), rows


def _row(state: State, entry: Entry, status: str, at: datetime) -> Alert:
    starts_at = entry.starts_at or at
    ends_at = at if status == RESOLVED else None
    labels = entry.labels
    return Alert(
        cluster=state.cluster,
        ts=ends_at or starts_at,
        fingerprint=fingerprint(labels),
        alertname=labels["alertname"],
        severity=labels["severity"],
        status=status,
        starts_at=starts_at,
        ends_at=ends_at,
        labels=labels,
        annotations={
            "summary": entry.summary,
            "description": entry.description,
            "runbook_url": entry.runbook_url,
        },
        node=labels.get("node", ""),
        updated_at=at,
    )
