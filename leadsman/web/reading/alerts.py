"""Reads alerts for the page. A database has their table only if alerts are stored."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from leadsman.web.reading.ask import ask
from leadsman.web.reading.evidence import Evidence
from leadsman.web.reading.words import timestamp
from sql.database.open import Database
from sql.landing.silences import read_silences
from streams.alerting.silences import Silence, Silencing

TABLE = "alerts"


class Alert(NamedTuple):
    """An alert in its latest state; `ends_at` is None unless it was resolved."""

    name: str
    severity: str
    node: str
    firing: bool
    starts_at: datetime
    ends_at: datetime | None
    summary: str
    description: str
    runbook_url: str
    unknown: bool = False
    """True if it is unknown whether the alert still holds, because there was no data for an hour."""
    resource: str = ""
    """The resource in its labels: memory, ephemeral-storage, inodes, pids, or a condition."""
    silenced: str = ""
    """End, author and reason of the silence that covers a firing alert."""
    namespace: str = ""
    """Namespace in its labels; empty if it has none."""
    labels: Mapping[str, str] = MappingProxyType({})

    @property
    def state(self) -> str:
        firing = "silenced" if self.silenced else "firing"
        return "unknown" if self.unknown else firing if self.firing else "resolved"


def held(alerts: Iterable[Alert], evidence: Evidence) -> list[Alert]:
    """Return the firing alerts; for a live cluster without current data, those that fired at its last observation."""
    at = evidence.last_at if evidence.aged else None
    return [
        alert
        for alert in alerts
        if alert.firing or (alert.unknown and at is not None and (alert.ends_at or at) >= at)
    ]


def group_alerts(alerts: Iterable[Alert]) -> list[list[Alert]]:
    """Group alerts with the same state, name, severity and resource, or label `reason` if they have no resource.

    Groups keep the order of their first alert. Within a group the newest start comes first.
    """
    groups: dict[tuple[str, ...], list[Alert]] = {}
    for alert in alerts:
        subject = alert.resource or alert.labels.get("reason", "")
        groups.setdefault((alert.state, alert.name, alert.severity, subject), []).append(alert)
    return [sorted(group, key=lambda each: each.starts_at, reverse=True) for group in groups.values()]


def read_alerts(db: Database, evidence: Evidence, node: str = "") -> list[Alert] | None:
    """Read the alerts that fired in the range of the evidence, firing first; None if the database has no such table.

    If a cluster has stopped sending, it is unknown whether its alerts still fire: none is listed as firing then.
    """
    if not db.has(TABLE):
        return None
    silences, silencing = read_silences(db) if db.has("silences") else [], Silencing()
    found = []
    for row in ask(db, "alerts", evidence.scope, node=node):
        is_firing, labels, texts = row["status"] == "firing", row["labels"], row["annotations"]
        silence = silencing.silence_of(labels, silences, evidence.scope.asked_at) if is_firing else None
        found.append(
            Alert(
                *(row["alertname"], row["severity"], row["node"], is_firing and not evidence.lost, row["starts_at"]),
                None if is_firing else row["ends_at"],
                *(texts.get("summary", ""), texts.get("description", ""), texts.get("runbook_url", "")),
                bool(row["unknown"]) or (is_firing and evidence.lost),
                *(row["resource"], _words(silence), labels.get("namespace", ""), labels),
            )
        )
    return found


def _words(silence: Silence | None) -> str:
    if silence is None:
        return ""
    return f"until {timestamp(silence.ends_at)} UTC by {silence.created_by}: {silence.comment}"
