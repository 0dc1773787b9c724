"""PagerDuty, Events API v2, and Microsoft Teams."""

from functools import partial
from typing import Any, Final

from common.clock import SYSTEM, Clock
from common.text import plain
from streams.alerting.receivers.alert_states import Received, time_text
from streams.alerting.receivers.posting import Poster
from streams.alerting.receivers.pushing import Pushed, of_json, status_of
from streams.alerting.settings import PAGERDUTY

_SUMMARY: Final = 1024
"""Maximum number of characters of a summary."""
_DESCRIPTION: Final = 8000
"""Maximum number of characters of details: a whole event may have 512 KiB."""


def pagerduty(routing_key: str, url: str = PAGERDUTY, clock: Clock = SYSTEM) -> Pushed:
    """Sends an event for each change to the integration with this key; a repeated event changes nothing."""
    return of_json(Poster("pagerduty", url, clock, routing_key), partial(event, routing_key))


def event(routing_key: str, received: Received) -> dict[str, Any]:
    """Build the event for PagerDuty.

    An alert that ends as unknown is resolved there, because it cannot be kept without news.
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
            "custom_details": {
                **{label: plain(text) for label, text in labels.items()},
                "description": plain(words.get("description", ""), _DESCRIPTION),
            },
        },
        "links": [{"href": runbook, "text": "Runbook"}] if runbook else [],
    }


_TEXT: Final = 4000
"""Maximum number of characters of a paragraph: a whole message may have 28 KB."""
_COLORS: Final = {"critical": "attention", "warning": "warning"}


def teams(url: str, clock: Clock = SYSTEM) -> Pushed:
    """Sends a message for each change. Teams does not deduplicate: after a crash a message can be delivered twice."""
    return of_json(Poster("teams", url, clock), message)


def message(received: Received) -> dict[str, Any]:
    """Build text runs, in which Teams interprets no Markdown: a name from a cluster cannot mention or link
    anything.
    """
    alert = received.alert
    labels, words = alert.labels, alert.annotations
    severity, status = labels.get("severity", ""), status_of(alert)
    is_firing = alert.status == "firing"
    color = _COLORS.get(severity, "accent") if is_firing else "default" if status != alert.status else "good"
    place = [f"{name} {labels[name]}" for name in ("cluster", "node") if labels.get(name)]
    since = time_text(alert.starts_at if is_firing or alert.ends_at is None else alert.ends_at)
    head = f"{status.upper()} {labels.get('alertname', '')}"
    body = [
        _paragraph(head, weight="bolder", size="medium", color=color),
        _paragraph(words.get("summary", "")),
        _paragraph(words.get("description", "")),
        _paragraph(", ".join([*([severity] if severity else []), *place, since]), isSubtle=True),
    ]
    runbook = words.get("runbook_url", "")
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "body": body,
        "actions": [{"type": "Action.OpenUrl", "title": "Runbook", "url": runbook}] if runbook else [],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _paragraph(text: str, **style: Any) -> dict[str, Any]:
    run = {"type": "TextRun", "text": plain(text, _TEXT), **style}
    return {"type": "RichTextBlock", "inlines": [run]}
