"""When time alone changes many active alerts next: not each record of a log has to visit all of them."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

from streams.alerting.active import ActiveAlert

OfName: TypeAlias = dict[str, ActiveAlert]
"""Active alerts of one name, replaced and never changed."""

FEW: Final = 32
"""So many are visited sooner than remembered."""
_NOW: Final = datetime.min.replace(tzinfo=UTC)
_NEVER: Final = datetime.max.replace(tzinfo=UTC)
_KEPT: Final = 64
_known: dict[int, tuple[OfName, datetime]] = {}
"""Keeps alerts by their identity, with a time before which none of them fires, is resolved or is forgotten."""


def is_due(of_name: OfName, at: datetime) -> bool:
    """Tell whether any of the alerts may fire, be resolved or be forgotten at a time; true for a few."""
    return len(of_name) < FEW or _due(of_name) <= at


def replaced(before: OfName, after: OfName, changed: Iterable[str]) -> None:
    """Remember when something is due of alerts that differ from others only in the alerts with these keys."""
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
