"""Updates the active alerts of one log: applies changes of conditions, fires alerts and resolves them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Final, NamedTuple, TypeAlias

import msgspec

from streams.alerting.active import SILENT, ActiveAlert, Group, key_of
from streams.alerting.definition import Change, Ends, Gathers, Happened, Holds, Recovered
from streams.alerting.rule_settings import RuleSettings
from streams.alerting.words import without_news
from streams.fold.findings import Alert
from streams.fold.reducer import Withdrawal

OfName: TypeAlias = dict[str, ActiveAlert]
"""Active alerts of one name; the mapping is replaced and never changed."""

FEW: Final = 32
"""Up to this many alerts are visited each time, because storing due times would cost more."""
_NOW: Final = datetime.min.replace(tzinfo=UTC)
_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_KEPT: Final = 64
_known: dict[int, tuple[OfName, datetime]] = {}
"""Stores, for each mapping of alerts, a time before which none of them fires, is resolved or is forgotten."""


def is_due(of_name: OfName, at: datetime) -> bool:
    """Tell whether any of the alerts may fire, be resolved or be forgotten at a time; always true for few alerts."""
    return len(of_name) < FEW or _due(of_name) <= at


def replaced(before: OfName, after: OfName, changed: Iterable[str]) -> None:
    """Remember the due time of a mapping that differs from `before` only in these keys."""
    if len(after) >= FEW:
        own = [_due_at(after[key]) for key in changed if key in after]
        _remember(after, min([_due(before), *own]))
        _known.pop(id(before), None)


def _due(of_name: OfName) -> datetime:
    known = _known.get(id(of_name))
    if known is not None and known[0] is of_name:
        return known[1]
    at = min(map(_due_at, of_name.values()), default=_NEVER)
    if len(of_name) >= FEW:
        _remember(of_name, at)
    return at


def _remember(of_name: OfName, at: datetime) -> None:
    if len(_known) >= _KEPT:
        _known.clear()
    _known[id(of_name)] = of_name, at


def _due_at(alert: ActiveAlert) -> datetime:
    if alert.starts_at is not None:
        if alert.emitted_at is None:
            return _NOW
        return _NEVER if alert.ended_at is None else alert.ended_at + alert.keep
    if alert.ended_at is not None and not alert.happens:
        return alert.ended_at
    if alert.is_enough:
        return alert.since + timedelta(seconds=alert.for_seconds)
    return _NEVER if alert.ended_at is None else alert.ended_at + alert.keep


FIRING: Final = "firing"
RESOLVED: Final = "resolved"
DELETED: Final = "deleted"
UNKNOWN: Final = "unknown"


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """Alerts of one log. `streams.alerting.engine` adds the states of the conditions."""

    cluster: str = ""
    node: str = ""
    active: dict[str, dict[str, ActiveAlert]] = {}
    """Alerts by name, then by the `key_of` their labels; a name without alerts is left out."""
    resolved: dict[str, datetime] = {}
    """When each alert that no longer fires was resolved, by fingerprint; until it is withdrawn."""
    last_data_at: datetime | None = msgspec.field(name="heard_at", default=None)
    """When the log had its last data; None without active alerts."""
    drained: bool = False
    """True if the log's node is cordoned, or an autoscaler drains it."""


class Origin(NamedTuple):
    """The parts of a new alert that come from its definition's settings and from its log."""

    alertname: str
    settings: RuleSettings
    runbook_url: str
    cluster: str
    node: str

    def new_alert(self, change: Holds | Happened, at: datetime) -> ActiveAlert:
        labels = {"alertname": self.alertname, "severity": self.settings.severity, "cluster": self.cluster}
        if self.node:
            labels["node"] = self.node
        return ActiveAlert(
            labels={**labels, **change.labels},
            summary="",
            description="",
            since=at,
            ended_at=None,
            happens=isinstance(change, Happened),
            for_seconds=self.settings.for_seconds,
            keep_seconds=self.settings.keep_firing_seconds,
            runbook_url=self.runbook_url,
        )


def changed(
    active: dict[str, ActiveAlert], changes: Sequence[Change], at: datetime, origin: Origin
) -> dict[str, ActiveAlert]:
    """Return the active alerts of one name after the changes that their condition found at `at`."""
    found = dict(active)
    for change in changes:
        key = key_of(change.labels)
        alert = _after(found.get(key), change, at, origin)
        if alert is not None:
            found[key] = alert
        else:
            found.pop(key, None)
    if found == active:
        return active
    replaced(active, found, [key_of(change.labels) for change in changes])
    return found


def _after(before: ActiveAlert | None, change: Change, at: datetime, origin: Origin) -> ActiveAlert | None:
    match change:
        case Ends():
            return before and before.ended(at)
        case Recovered():
            return before and before.recovered(at)
        case Holds():
            if before is None or before.is_forgotten(at):
                before = origin.new_alert(change, at)
            return msgspec.structs.replace(_renewed(before, change, at, origin), ended_at=None)
        case Happened(until=until):
            alert = _renewed(before or origin.new_alert(change, at), change, at, origin)
            return msgspec.structs.replace(alert, ended_at=max(until, alert.ended_at or until))
        case Gathers():
            group = change.plus(before.group if before else Group())
            if group is None:
                return before
            grown = _after(before, Happened(change.labels, *change.words(group), change.until), at, origin)
            return grown and msgspec.structs.replace(grown, group=group, least_members=change.least_members)


def _renewed(alert: ActiveAlert, change: Holds | Happened, at: datetime, origin: Origin) -> ActiveAlert:
    """Update the alert's text. On a cluster's log, whose records have no fixed order, its start decides."""
    if change.at_once and alert.starts_at is None:
        alert = msgspec.structs.replace(alert, since=at, for_seconds=0.0)
    if origin.node or at <= alert.since:
        alert = msgspec.structs.replace(alert, summary=change.summary, description=change.description)
    return alert


def resolved(state: State, at: datetime, lasting: Collection[str] = ()) -> tuple[State, list[Alert]]:
    """Resolve alerts that have been quiet for long enough; alerts named in `lasting` stay active regardless."""
    rows: list[Alert] = []
    active = dict(state.active)
    for name, of_name in state.active.items():
        quiet = {key: each for key, each in of_name.items() if each.is_quiet(at)} if is_due(of_name, at) else {}
        if quiet and name in lasting:
            active[name] = of_name | {key: alert.kept_until(at) for key, alert in quiet.items()}
        elif quiet:
            rows += [alert_row(alert, RESOLVED, alert.resolved_at) for alert in quiet.values() if alert.resolved_at]
            active[name] = {key: alert for key, alert in of_name.items() if key not in quiet}
    return with_active(state, active), rows


def resolved_all(state: State, at: datetime, why: str) -> tuple[State, list[Alert]]:
    """Resolve every alert, because the log's subject was deleted. `why` is a sentence that ends each description."""
    every = [alert for of_name in state.active.values() for alert in of_name.values()]
    ended = [
        (msgspec.structs.replace(alert, description=f"{alert.description} {why}"), alert.starts_at)
        for alert in every
        if alert.starts_at is not None
    ]
    # a list that lacks the node can reach the node's log after later records
    rows = [alert_row(alert, RESOLVED, max(at, starts_at), DELETED) for alert, starts_at in ended]
    return with_active(state, {}), rows


def with_data(state: State, at: datetime) -> State:
    """Return the state after the log had data at `at`."""
    last_data_at = max(at, state.last_data_at or at) if state.active else None
    return state if last_data_at == state.last_data_at else msgspec.structs.replace(state, last_data_at=last_data_at)


def lost(state: State, at: datetime, of_sources: Collection[str], *, data: bool = False) -> tuple[State, list[Alert]]:
    """End firing alerts as unknown if their log had no data for SILENT. A condition that holds with the next data
    is a new episode.

    Alerts named in `of_sources` are about the silence itself. They end SILENT after their own last news.
    """
    if state.last_data_at is None or at < state.last_data_at + SILENT:
        return state, []
    anew_at = at if data else at + SILENT
    rows: list[Alert] = []
    active: dict[str, dict[str, ActiveAlert]] = {}
    for name, of_name in state.active.items():
        active[name] = {}
        for key, alert in of_name.items():
            since = max(state.last_data_at, alert.ended_at or at) if name in of_sources else state.last_data_at
            if at < since + SILENT:
                active[name][key] = alert
                continue
            if alert.starts_at is not None:
                ended_at = max(since + SILENT, alert.starts_at)
                rows.append(alert_row(_without_news(alert, since), RESOLVED, ended_at, UNKNOWN))
            if alert.ended_at is None:
                active[name][key] = msgspec.structs.replace(alert, since=anew_at, starts_at=None, emitted_at=None)
    return with_active(state, active), rows


def fired(state: State, at: datetime, *, repeat: bool, suppressed: Collection[str] = ()) -> tuple[State, list[Alert]]:
    """Fire alerts held long enough, except `suppressed` ones; with `repeat`, emit those with changed words again."""
    rows: list[Alert] = []
    active: dict[str, dict[str, ActiveAlert]] = {}
    for name, of_name in state.active.items():
        if not (repeat or is_due(of_name, at)):
            active[name] = of_name
            continue
        active[name] = {}
        for key, before in of_name.items():
            if before.is_forgotten(at):
                continue
            alert = before if name in suppressed else before.started(at)
            emitted = alert.emitted(at, repeat=repeat)
            if emitted is not None:
                rows.append(alert_row(emitted, FIRING, emitted.emitted_at or at))
            active[name][key] = emitted or alert
    return with_active(state, active), rows


def remembered(state: State, emitted: Sequence[Alert]) -> State:
    """Remember resolved alerts until they are withdrawn; forget those that fire again."""
    if not emitted:
        return state
    known = dict(state.resolved)
    for row in emitted:
        known.pop(row.fingerprint, None)
        if row.status == RESOLVED:
            known[row.fingerprint] = row.ts
    return state if known == state.resolved else msgspec.structs.replace(state, resolved=known)


def withdrawn(state: State, until: datetime) -> tuple[State, list[Withdrawal]]:
    """Withdraw the alerts that were resolved at `until` or before."""
    resolved = sorted(each for each, at in state.resolved.items() if at <= until)
    if not resolved:
        return state, []
    kept = {each: at for each, at in state.resolved.items() if at > until}
    return msgspec.structs.replace(state, resolved=kept), [Withdrawal(each) for each in resolved]


def fingerprint(labels: Mapping[str, str]) -> str:
    """Return 16 hexadecimal digits, the same for the same labels in any order."""
    return blake2b(repr(sorted(labels.items())).encode(), digest_size=8).hexdigest()


def with_active(state: State, active: Mapping[str, dict[str, ActiveAlert]]) -> State:
    """Replace the active alerts, by name and key; names without alerts are left out."""
    found = {name: of_name for name, of_name in active.items() if of_name}
    return state if found == state.active else msgspec.structs.replace(state, active=found)


def _without_news(alert: ActiveAlert, since: datetime) -> ActiveAlert:
    summary, description = without_news(alert.summary, alert.description, since)
    return msgspec.structs.replace(alert, summary=summary, description=description)


def alert_row(alert: ActiveAlert, status: str, at: datetime, reason: str = "") -> Alert:
    """Return the row of an alert that fired, or was resolved, at `at`."""
    starts_at = alert.starts_at or at
    ends_at = at if status == RESOLVED else None
    labels = alert.labels
    return Alert(
        cluster=labels["cluster"],
        ts=ends_at or starts_at,
        fingerprint=fingerprint(labels),
        alertname=labels["alertname"],
        severity=labels["severity"],
        status=status,
        starts_at=starts_at,
        ends_at=ends_at,
        labels=labels,
        annotations={"summary": alert.summary, "description": alert.description, "runbook_url": alert.runbook_url},
        node=labels.get("node", ""),
        updated_at=at,
        reason=reason,
    )
