"""Evaluates alert rules on captures: which alerts announced which evictions, and how long before."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Final, NamedTuple

from streams.alerting.rules_file import ALERTS
from streams.fold.findings import Alert, Eviction

GAP: Final = timedelta(minutes=1)
"""Evictions of one node, cause and resource within this time are one incident."""
DISK: Final = frozenset({"ephemeral-storage", "inodes"})
_OF_CONDITION: Final = {
    "DiskPressure": DISK,
    "MemoryPressure": frozenset({"memory"}),
    "PIDPressure": frozenset({"pids"}),
}
FORECASTS: Final = frozenset(alert.name for alert in ALERTS if alert.foretells)
EXHAUSTS: Final = {alert.name: alert.exhausts for alert in ALERTS}


class Episode(NamedTuple):
    cluster: str
    node: str
    alertname: str
    severity: str
    fingerprint: str
    labels: dict[str, str]
    starts_at: datetime
    ends_at: datetime | None
    """None if it still fires at the end."""
    summary: str


class Incident(NamedTuple):
    """Evictions, or rejections at admission, that belong together."""

    cluster: str
    node: str
    cause: str
    resource: str
    began: datetime
    ended: datetime
    pods: int


class AnnouncingAlert(NamedTuple):
    """An alert that was firing when an incident began."""

    alertname: str
    lead_seconds: float


def episodes(alerts: Iterable[Alert]) -> list[Episode]:
    """Return the alerts of rows in the order in which they fired, each with its last words."""
    found: dict[tuple[str, datetime], Episode] = {}
    for row in alerts:
        key = (row.fingerprint, row.starts_at)
        ends_at = row.ends_at if row.status == "resolved" else found[key].ends_at if key in found else None
        found[key] = Episode(
            row.cluster,
            row.node,
            row.alertname,
            row.severity,
            row.fingerprint,
            row.labels,
            row.starts_at,
            ends_at,
            row.annotations["summary"],
        )
    return sorted(found.values(), key=lambda each: (each.starts_at, each.alertname, each.fingerprint))


def incidents(evictions: Iterable[Eviction]) -> list[Incident]:
    """Return the incidents for pressure and at admission, in order; evictions for a pod's own limit do not count."""
    last: dict[tuple[str, str, str, str], list[Eviction]] = {}
    found: list[list[Eviction]] = []
    for row in sorted(evictions, key=lambda each: (each.ts, each.uid)):
        if row.cause not in {"pressure", "admission"}:
            continue
        key = (row.cluster, row.node, row.cause, row.resource)
        group = last.get(key)
        if group is None or row.ts - group[-1].ts > GAP:
            group = last[key] = []
            found.append(group)
        group.append(row)
    return [
        Incident(rows[0].cluster, rows[0].node, rows[0].cause, rows[0].resource, rows[0].ts, rows[-1].ts, len(rows))
        for rows in found
    ]


def announced(incident: Incident, fired: Sequence[Episode]) -> list[AnnouncingAlert]:
    """Return the alerts that announced an incident, the longest lead first."""
    found = [
        AnnouncingAlert(each.alertname, (incident.began - each.starts_at).total_seconds())
        for each in fired
        if _is_about(each, incident)
        and each.starts_at <= incident.began
        and (each.ends_at is None or each.ends_at >= incident.began)
    ]
    return sorted(found, key=lambda each: -each.lead_seconds)


def unfulfilled(fired: Sequence[Episode], happened: Sequence[Incident]) -> list[Episode]:
    """Return the forecasts that no incident followed while they fired."""
    return [
        each
        for each in fired
        if each.alertname in FORECASTS
        and not any(
            _is_about(each, incident)
            and incident.ended >= each.starts_at
            and (each.ends_at is None or incident.began <= each.ends_at)
            for incident in happened
        )
    ]


class Verdict(NamedTuple):
    """Rates a rule set by four numbers."""

    announced: int
    missed: int
    false: int
    """Forecasts that nothing followed."""
    median_lead_seconds: float | None
    """Median lead of the announced incidents, by the alert that announced each first."""


def verdict(fired: Sequence[Episode], happened: Sequence[Incident]) -> Verdict:
    leads = [by[0].lead_seconds for each in happened if (by := announced(each, fired))]
    return Verdict(
        len(leads), len(happened) - len(leads), len(unfulfilled(fired, happened)), median(leads) if leads else None
    )


def _is_about(alert: Episode, incident: Incident) -> bool:
    if (alert.cluster, alert.node) != (incident.cluster, incident.node):
        return False
    resources = _resources(incident)
    if alert.alertname in FORECASTS:
        return alert.labels.get("resource", "") in resources
    return bool(resources & EXHAUSTS.get(alert.alertname, frozenset()))


def _resources(incident: Incident) -> frozenset[str]:
    if incident.cause == "pressure":
        return frozenset({incident.resource})
    every = [_OF_CONDITION.get(condition, frozenset()) for condition in incident.resource.split(",")]
    return frozenset().union(*every)
