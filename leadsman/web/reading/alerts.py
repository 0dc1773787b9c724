"""Alerts, where this database has them."""

from datetime import datetime
from typing import NamedTuple

from leadsman.web.reading.asked import ask, has_table
from leadsman.web.reading.evidence import Evidence
from sql.database.open import Database

TABLE = "alerts"


class Alert(NamedTuple):
    """In its latest state; `ends_at` is None while it fires."""

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
    """Nobody knows whether it still holds: there was no data for an hour."""
    resource: str = ""
    """What its labels name it for: memory, ephemeral-storage, inodes, pids, or a condition."""

    @property
    def state(self) -> str:
        return "not known" if self.unknown else "firing" if self.firing else "resolved"


def read_alerts(db: Database, evidence: Evidence, node: str = "") -> list[Alert] | None:
    """Those that fired in the range, firing first; None where the database has no such table.

    Of a cluster that is not heard of, whose log does not go on, none fires: it is not known whether they do.
    """
    if not has_table(db, TABLE):
        return None
    return [
        Alert(
            row["alertname"],
            row["severity"],
            row["node"],
            row["status"] == "firing" and not evidence.lost,
            row["starts_at"],
            None if row["status"] == "firing" else row["ends_at"],
            row["annotations"].get("summary", ""),
            row["annotations"].get("description", ""),
            row["annotations"].get("runbook_url", ""),
            bool(row["unknown"]) or (row["status"] == "firing" and evidence.lost),
            row["resource"],
        )
        for row in ask(db, "alerts", evidence.scope, node=node)
    ]
