"""Alerts that are not raised for a node while it is cordoned, or an autoscaler drains it: their rule `cordoned`."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

import msgspec

from streams.alerting.active import ActiveAlert
from streams.alerting.holding import RESOLVED, State, alert_row, with_active
from streams.fold.findings import Alert, NodeRow
from streams.rules.pod_ends.drains import drainer

CORDONED: Final = "cordoned"
_WHY: Final = "Resolved because the node was cordoned."


def drained(state: State, node: NodeRow, at: datetime, names: Collection[str]) -> tuple[State, list[Alert]]:
    """After a node was seen; `names` are those of the alerts that a drain hushes."""
    is_drained = not node.deleted and (node.unschedulable or bool(drainer(node.taints)))
    if is_drained == state.drained:
        return state, []
    return _suppressed(state, at, names) if is_drained else (_unsuppressed(state, at, names), [])


def _suppressed(state: State, at: datetime, names: Collection[str]) -> tuple[State, list[Alert]]:
    """Resolve what is not raised for a drained node; what stays true is pending until then."""
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


def _unsuppressed(state: State, at: datetime, names: Collection[str]) -> State:
    """Restart the hold time of conditions that were not raised because the node was drained."""
    active = {**state.active, **{name: _begun_anew(state.active[name], at) for name in state.active.keys() & names}}
    return msgspec.structs.replace(with_active(state, active), drained=False)


def _begun_anew(of_name: Mapping[str, ActiveAlert], at: datetime) -> dict[str, ActiveAlert]:
    return {
        key: msgspec.structs.replace(alert, since=at, starts_at=None, emitted_at=None)
        for key, alert in of_name.items()
    }
