"""PagerDuty, Events API v2: `trigger` when an alert fires and `resolve` when it ends, under one `dedup_key`."""

from typing import Any, Final

import msgspec

from common.clock import SYSTEM, Clock
from common.text import plain
from streams.alerting.receivers.alert_states import Received, time_text
from streams.alerting.receivers.posting import Poster
from streams.alerting.receivers.pushing import Pushed
from streams.alerting.settings import PAGERDUTY

_SUMMARY: Final = 1024
"""Characters that PagerDuty takes of a summary."""
_DESCRIPTION: Final = 8000
"""Characters: a whole event may have 512 KiB."""


def pagerduty(routing_key: str, url: str = PAGERDUTY, clock: Clock = SYSTEM) -> Pushed:
    """An event for each change, to the integration that has this key; one that comes twice changes nothing."""
    poster = Poster("pagerduty", url, clock, routing_key)

    async def send(received: Received, deadline_seconds: float) -> None:
        body = msgspec.json.encode(event(routing_key, received))
        await poster.post("", body, lambda: {"Content-Type": "application/json"}, deadline_seconds=deadline_seconds)

    return Pushed(send, poster)


def event(routing_key: str, received: Received) -> dict[str, Any]:
    """Build the event for PagerDuty. An alert that ends as unknown is resolved there, because it cannot be kept
    without news.
    """
    alert = received.alert
    labels, words = alert.labels, alert.annotations
    ended: dict[str, Any] = {
        "routing_key": routing_key,
        "event_action": "resolve",
        "dedup_key": f"leadsman/{alert.fingerprint}",
    }
    if alert.status == "resolved":
        return ended
    runbook = words.get("runbook_url", "")
    name = labels.get("alertname", "")
    cluster = labels.get("cluster", "")
    return {
        **ended,
        "event_action": "trigger",
        "client": "Leadsman",
        "payload": {
            "summary": plain(f"{name}: {words.get('summary', '')}", _SUMMARY),
            "source": plain(labels.get("node") or cluster or "leadsman"),
            "severity": labels.get("severity", "error"),
            "timestamp": time_text(alert.starts_at),
            "component": plain(labels.get("node", "")),
            "group": plain(cluster),
            "class": name,
            "custom_details": {**labels, "description": plain(words.get("description", ""), _DESCRIPTION)},
        },
        "links": [{"href": runbook, "text": "Runbook"}] if runbook else [],
    }
