"""Alerts, where this database has them."""

from datetime import datetime
from typing import NamedTuple

from leadsman.web.reading.asked import ask, has_table
from leadsman.web.reading.scope import Scope
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


def read_alerts(db: Database, scope: Scope, node: str = "") -> list[Alert] | None:
    """Those that fired in the range, firing first; None where the database has no such table."""
    if not has_table(db, TABLE):
        return None
    return [
        Alert(
            row["alertname"],
            row["severity"],
            row["node"],
            row["status"] == "firing",
            row["starts_at"],
            None if row["status"] == "firing" else row["ends_at"],
            row["annotations"].get("summary", ""),
            row["annotations"].get("description", ""),
            row["annotations"].get("runbook_url", ""),
        )
        for row in ask(db, "alerts", scope, node=node)
    ]
