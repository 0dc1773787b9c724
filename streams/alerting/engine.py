"""Alerts over the findings of a log, fired and resolved in its event time: table `alerts`.

Two reducers run all alerts over the rows of the other reducers of the same log, so both runtimes emit the same
alerts. The rows that an alert reads and its condition are in its own file in `streams.alerting.alerts`. Hold times
are in `holding` and `active`, drained nodes in `draining`.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, TypeAlias, cast

import msgspec

from common.errors import BadRecord
from ingest.model.records import ForgetRecord, HeartbeatRecord, Record
from streams.alerting.active import ActiveAlert
from streams.alerting.definition import AnyAlert, Gathers, Happened, Holds, Now
from streams.alerting.holding import (
    RESOLVED,
    Origin,
    State,
    alert_row,
    changed,
    fired,
    lost,
    remembered,
    resolved,
    resolved_all,
    with_active,
    with_data,
    withdrawn,
)
from streams.alerting.rules_file import ALERTS, AlertRules, default_rules
from streams.fold.findings import Alert, NodeRow, SourceError
from streams.fold.reducer import LogFindings, NoState, Reducer, Withdrawal, call_with_retry
from streams.rules.pod_ends.when import drainer

CORDONED: Final = "cordoned"
_WHY: Final = "Resolved because the node was cordoned."


def drained(state: State, node: NodeRow, at: datetime, names: Collection[str]) -> tuple[State, list[Alert]]:
    """Return the state after a node was seen; `names` are the alerts that a drain mutes."""
    is_drained = not node.deleted and (node.unschedulable or bool(drainer(node.taints)))
    if is_drained == state.drained:
        return state, []
    return _suppressed(state, at, names) if is_drained else (_restart_holds(state, at, names), [])


def _suppressed(state: State, at: datetime, names: Collection[str]) -> tuple[State, list[Alert]]:
    """Resolve the alerts that a drain mutes; those that stay true are pending until the node is uncordoned."""
    rows: list[Alert] = []
    active = dict(state.active)
    for name in state.active.keys() & names:
        every = state.active[name]
        for alert in every.values():
            if alert.starts_at is not None:
                ended = msgspec.structs.replace(alert, description=f"{alert.description} {_WHY}")
                rows.append(alert_row(ended, RESOLVED, max(at, alert.starts_at), CORDONED))
        active[name] = _begun_anew({key: alert for key, alert in every.items() if alert.ended_at is None}, at)
    return msgspec.structs.replace(with_active(state, active), drained=True), rows


def _restart_holds(state: State, at: datetime, names: Collection[str]) -> State:
    """Restart the hold time of conditions that were not raised because the node was drained."""
    active = {**state.active, **{name: _begun_anew(state.active[name], at) for name in state.active.keys() & names}}
    return msgspec.structs.replace(with_active(state, active), drained=False)


def _begun_anew(of_name: Mapping[str, ActiveAlert], at: datetime) -> dict[str, ActiveAlert]:
    return {
        key: msgspec.structs.replace(alert, since=at, starts_at=None, emitted_at=None)
        for key, alert in of_name.items()
    }


VERSION: Final = 4
"""Version of the shape of `State`; each alert has its own version for its condition's state."""
_MICROSECOND: Final = timedelta(microseconds=1)
WITHDRAWN_AFTER: Final = timedelta(hours=24)
"""Event time from resolution to withdrawal: a day, for a consumer that was down for a night."""
_NODE_DELETED: Final = "Resolved because the node was deleted."
_NODE_GONE: Final = "Resolved because the node has not existed for hours."
_Log: TypeAlias = Literal["node", "cluster"]


def log_state(alerts: Sequence[AnyAlert]) -> type[State]:
    """Return a log's state type: active alerts, and what conditions of this version remember, by alert."""
    remembering = [alert for alert in alerts if alert.state is not NoState]
    return cast(
        type[State],
        msgspec.defstruct(
            "LogState",
            [(alert.name, alert.state | None, None) for alert in remembering],
            bases=(State,),
            rename={alert.name: f"{alert.name}.{alert.version}" for alert in remembering if alert.version > 1},
            frozen=True,
            omit_defaults=True,
        ),
    )


LogState: Final = log_state(ALERTS)


class _Enabled(NamedTuple):
    alert: AnyAlert
    settings: Any
    runbook_url: str
    initial: msgspec.Struct
    """State of the condition for a new log."""


class Engine:
    """The alerts of one kind of log under one set of rules."""

    def __init__(self, log: _Log, rules: AlertRules) -> None:
        self._log = log
        self._enabled = {
            alert.name: _Enabled(alert, rules.of(alert.name), rules.runbook_url(alert.name), alert.state())
            # alerts with `depends_on` run last, so they see what this record did to those they depend on
            for alert in sorted(ALERTS, key=lambda each: bool(each.depends_on))
            if rules.of(alert.name).enabled
        }
        self._lasts = [(name, each.alert.lasts) for name, each in self._enabled.items() if each.alert.lasts]
        self._of_sources = frozenset(alert.name for alert in ALERTS if alert.of_sources)
        self._suppressed = frozenset(name for name, each in self._enabled.items() if not each.settings.cordoned)
        """Alerts that are not raised for a drained node; `cordoned: true` in the rules raises an alert there too."""
        self._readers: dict[frozenset[type], list[tuple[_Enabled, frozenset[type]]]] = {}
        """Maps a set of row types to the alerts that read any of them, each with the types that it reads."""

    def step(
        self, state: State, concluded: LogFindings | Record
    ) -> tuple[State, Sequence[Alert | Withdrawal | BadRecord]]:
        """Apply the findings of one record, or a record itself, to the alerts of a log.

        Returns the next state, and alerts, withdrawals, and a BadRecord for each alert that failed and so stays
        unchanged.
        """
        if isinstance(concluded, ForgetRecord):
            return self._forgotten(state, concluded.ts)
        if isinstance(concluded, HeartbeatRecord) and self._log == "node":
            state, ended = lost(state, concluded.ts, self._of_sources)
            return remembered(state, ended), ended
        if isinstance(concluded, Record):
            concluded = LogFindings(concluded.ts, concluded.node, new_minute=False, rows=(concluded,))
        at, rows = concluded.at, concluded.rows
        is_data = not rows or any(type(row) is not SourceError for row in rows)
        if self._log == "cluster":  # once a minute, because records of many nodes come in no fixed order
            at = at.replace(second=0, microsecond=0)
        emitted: list[Alert] = []
        if state.active:
            state, emitted = lost(state, at, self._of_sources, data=is_data)
            # first resolve alerts that expired before this record, even if this record makes them true again
            state, ended = resolved(state, at - _MICROSECOND, self._lasting(state))
            emitted += ended
        if not state.cluster and rows:
            state = msgspec.structs.replace(state, cluster=rows[0].cluster, node=concluded.node)
        state, rows, ended = self._apply_node_changes(state, rows, at)
        emitted += ended
        state, failed = self._run_conditions(state, rows, at)
        if state.active:
            state, ended = resolved(self._without_disabled(state, at), at, self._lasting(state))
            suppressed = self._suppressed if state.drained else ()
            state, firing = fired(state, at, repeat=concluded.new_minute, suppressed=suppressed)
            emitted += ended + firing
        if is_data or state.last_data_at is None:
            state = with_data(state, at)
        return remembered(state, emitted), [*emitted, *failed]

    def _forgotten(self, state: State, at: datetime) -> tuple[State, Sequence[Alert | Withdrawal]]:
        """Forget a deleted node except the alerts resolved now; a ForgetRecord or WITHDRAWN_AFTER withdraws those."""
        state, withdrawals = withdrawn(state, max([at, *state.resolved.values()]))
        state, ended = resolved(state, at)
        state, gone = resolved_all(state, at, _NODE_GONE)
        left = remembered(LogState(), [*ended, *gone])
        return left, [*withdrawals, *ended, *gone]

    def _apply_node_changes(
        self, state: State, rows: Sequence[Any], at: datetime
    ) -> tuple[State, Sequence[Any], list[Alert]]:
        """Apply a node's deletion or drain: return the state, the rows after a deletion, and the resolved alerts."""
        emitted: list[Alert] = []
        deletion = next((number for number, row in enumerate(rows) if type(row) is NodeRow and row.deleted), None)
        if deletion is not None:
            state, emitted = resolved_all(state, at, _NODE_DELETED)
            state, rows = msgspec.structs.replace(state, drained=False), rows[deletion + 1 :]
        for row in rows:
            if type(row) is NodeRow:
                state, ended = drained(state, row, at, self._suppressed)
                emitted += ended
        return state, rows, emitted

    def _run_conditions(self, state: State, rows: Sequence[Any], at: datetime) -> tuple[State, Sequence[BadRecord]]:
        """Run each alert's condition on the rows that it reads. This happens for every sample of every node."""
        by_type: dict[type, list[Any]] = {}
        for row in rows:
            by_type.setdefault(type(row), []).append(row)
        types, failed = frozenset(by_type), list[BadRecord]()
        if types not in self._readers:
            every = [(each, types.intersection(_rows(each.alert, self._log))) for each in self._enabled.values()]
            self._readers[types] = [(each, read) for each, read in every if read]
        for enabled, read in self._readers[types]:
            if len(read) == 1:
                (seen,) = (by_type[each] for each in read)
            else:
                seen = [row for row in rows if type(row) in read]
            try:
                state = call_with_retry(enabled.alert.name, _run_condition, state, enabled, seen, at)
            except BadRecord as error:
                failed.append(error)
        return state, failed

    def _lasting(self, state: State) -> frozenset[str]:
        """Return the names of alerts whose state keeps them active without new occurrences."""
        return frozenset(
            name for name, lasts in self._lasts if (own := getattr(state, name)) is not None and lasts(own)
        )

    def _without_disabled(self, state: State, at: datetime) -> State:
        """End alerts that were active under other rules and are disabled under the current ones."""
        if state.active.keys() <= self._enabled.keys():
            return state
        disabled = state.active.keys() - self._enabled.keys()
        ended = {name: {key: each.ended(at) for key, each in state.active[name].items()} for name in disabled}
        return msgspec.structs.replace(state, active={**state.active, **ended})


def _rows(alert: AnyAlert, log: _Log) -> tuple[type[Any], ...]:
    return alert.node_rows if log == "node" else alert.cluster_rows


def _run_condition(state: State, enabled: _Enabled, rows: Sequence[Any], at: datetime) -> State:
    alert, settings, runbook_url, initial = enabled
    active = state.active.get(alert.name, {})
    before = getattr(state, alert.name, None) or initial
    depended_on = {
        name: keys
        for name in alert.depends_on
        if (keys := {key for key, each in state.active.get(name, {}).items() if each.is_enough})
    }
    own, changes = alert.step(settings, before, rows, Now(at, active, depended_on))
    if state.drained and not settings.cordoned:
        changes = [each for each in changes if not isinstance(each, Happened | Gathers)]
    if own is not before and own != before:
        state = msgspec.structs.replace(state, **{alert.name: None if own == initial else own})
    if changes and (active or any(isinstance(each, Holds | Happened | Gathers) for each in changes)):
        origin = Origin(alert.name, settings, runbook_url, state.cluster, state.node)
        found = changed(active, changes, at, origin)
        if found is not active:
            state = msgspec.structs.replace(state, active={**state.active, alert.name: found})
    return state


def _expire(state: State, watermark: datetime) -> tuple[State | None, Sequence[Withdrawal]]:
    """Apply the passing of time at a minute's first record; forget a log without alerts."""
    state, withdrawals = withdrawn(state, watermark - WITHDRAWN_AFTER)
    return (None if state == LogState(state.cluster, state.node) else state), withdrawals


def _reducer(name: str, log: _Log, rules: AlertRules) -> Reducer[State]:
    types = dict.fromkeys(each for alert in ALERTS for each in _rows(alert, log))
    if log == "node":
        types |= dict.fromkeys((NodeRow, ForgetRecord, HeartbeatRecord))
    return Reducer(
        name=name,
        version=VERSION,
        log=log,
        takes=tuple(each for each in types if issubclass(each, Record)),
        row_types=tuple(each for each in types if not issubclass(each, Record)),
        state=LogState,
        step=Engine(log, rules).step,
        expire=_expire,
    )


def alert_reducers(rules: AlertRules | None = None) -> tuple[Reducer[State], Reducer[State]]:
    """Return the reducers of nodes' and clusters' logs, by these rules or the defaults; they run after all others."""
    rules = rules or default_rules()
    return _reducer("alerts", "node", rules), _reducer("cluster_alerts", "cluster", rules)
