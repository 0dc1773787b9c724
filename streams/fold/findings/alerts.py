"""Alerts."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple

from streams.fold.findings.row import row

REPEAT_EVERY: Final = timedelta(hours=1)
"""How often a firing alert is emitted again, so that a reader of the topic's last days knows it."""


@row(table="alerts")
class Alert(NamedTuple):
    """That an alert fired, or that it was resolved: a row each."""

    cluster: str
    ts: datetime
    """`starts_at` of a firing row, `ends_at` of a resolved one."""
    fingerprint: str
    alertname: str
    severity: str
    status: str
    starts_at: datetime
    """When it fired."""
    ends_at: datetime | None
    """When it was resolved; None while it fires."""
    labels: dict[str, str]
    """Its identity."""
    annotations: dict[str, str]
    """`summary`, `description` and `runbook_url`."""
    node: str
    """Empty where it is about the cluster."""
    updated_at: datetime
    reason: str = ""
    """Reason of a resolved row: `unknown` if the log had no data for long, `deleted` or `cordoned` if the node was;
    else empty.
    """
