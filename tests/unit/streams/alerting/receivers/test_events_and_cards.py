"""PagerDuty and Teams: each request is checked against the documented schema by the server that takes it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import jsonschema
import pytest
from aiohttp import web

from fakes.clock import START, FakeClock
from fakes.serving import serving
from streams.alerting.receivers.alert_states import AlertStates, Received
from streams.alerting.receivers.choose import BadReceiver, group_of, receiver
from streams.alerting.receivers.pagerduty import event, message, pagerduty, teams
from streams.alerting.receivers.posting import REFUSALS
from streams.alerting.receivers.pushing import Pushed
from streams.kafka.messages.alerts import AlertMessage

KEY = "0123456789abcdef0123456789abcdef"

# Events API v2, "Send an alert event": what is required, the enumerations, and how long a text may be
EVENT: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["routing_key", "event_action"],
    "additionalProperties": False,
    "properties": {
        "routing_key": {"type": "string", "minLength": 32, "maxLength": 32},
        "event_action": {"enum": ["trigger", "acknowledge", "resolve"]},
        "dedup_key": {"type": "string", "maxLength": 255},
        "client": {"type": "string"},
        "client_url": {"type": "string"},
        "payload": {
            "type": "object",
            "required": ["summary", "source", "severity"],
            "additionalProperties": False,
            "properties": {
                "summary": {"type": "string", "minLength": 1, "maxLength": 1024},
                "source": {"type": "string", "minLength": 1},
                "severity": {"enum": ["critical", "error", "warning", "info"]},
                "timestamp": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"},
                "component": {"type": "string"},
                "group": {"type": "string"},
                "class": {"type": "string"},
                "custom_details": {"type": "object"},
            },
        },
        "links": {
            "type": "array",
            "items": {"type": "object", "required": ["href"], "properties": {"href": {"pattern": "^https?://"}}},
        },
        "images": {"type": "array"},
    },
    "oneOf": [
        {"properties": {"event_action": {"const": "trigger"}}, "required": ["payload"]},
        {"properties": {"event_action": {"enum": ["acknowledge", "resolve"]}}, "required": ["dedup_key"]},
    ],
}

# "Post to a channel when a webhook request is received", and Adaptive Cards 1.4: the elements that are used
TEXT: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["type", "text"],
    "additionalProperties": False,
    "properties": {
        "type": {"const": "TextRun"},
        "text": {"type": "string"},
        "weight": {"enum": ["default", "lighter", "bolder"]},
        "size": {"enum": ["default", "small", "medium", "large", "extraLarge"]},
        "color": {"enum": ["default", "dark", "light", "accent", "good", "warning", "attention"]},
        "isSubtle": {"type": "boolean"},
    },
}
CARD: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["type", "version", "body"],
    "properties": {
        "$schema": {"const": "http://adaptivecards.io/schemas/adaptive-card.json"},
        "type": {"const": "AdaptiveCard"},
        "version": {"enum": ["1.2", "1.3", "1.4", "1.5"]},
        "msteams": {"type": "object", "properties": {"width": {"const": "Full"}}},
        "body": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["type", "inlines"],
                "additionalProperties": False,
                "properties": {
                    "type": {"const": "RichTextBlock"},
                    "inlines": {"type": "array", "minItems": 1, "items": TEXT},
                },
            },
        },
        "actions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "url"],
                "properties": {"type": {"const": "Action.OpenUrl"}, "url": {"pattern": "^https?://"}},
            },
        },
    },
}
MESSAGE: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["type", "attachments"],
    "properties": {
        "type": {"const": "message"},
        "attachments": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["contentType", "content"],
                "properties": {
                    "contentType": {"const": "application/vnd.microsoft.card.adaptive"},
                    "contentUrl": {"type": "null"},
                    "content": CARD,
                },
            },
        },
    },
}


def received(status: str = "firing", *, start: float = 0, reason: str = "", **labels: str) -> Received:
    alert = AlertMessage(
        status="resolved" if status == "resolved" else "firing",
        fingerprint="028e97dbcd21e31d",
        labels={"alertname": "NodeNotReady", "severity": "critical", "cluster": "lab", "node": "n1", **labels},
        annotations={"summary": "what", "description": "why", "runbook_url": "https://x/A.md"},
        starts_at=START + timedelta(seconds=start),
        ends_at=START + timedelta(seconds=start + 60) if status == "resolved" else None,
        updated_at=START,
        reason=reason,
    )
    return Received(alert, f"{status}{start}", START)


class Server:
    """Answers 202 to what its schema accepts and 400 to what it does not; keeps both."""

    def __init__(self, schema: dict[str, Any], *answers: int) -> None:
        self.accepted: list[Any] = []
        self.refused: list[str] = []
        self._schema = schema
        self._answers = list(answers)

    async def handle(self, request: web.Request) -> web.Response:
        if request.method != "POST" or request.content_type != "application/json":
            return web.Response(status=405)
        raw = await request.read()
        if self._answers:
            return web.Response(status=self._answers.pop(0))
        try:
            jsonschema.validate(json.loads(raw), self._schema)
        except jsonschema.ValidationError as error:
            self.refused.append(error.message)
            return web.json_response({"status": "invalid event", "errors": [error.message]}, status=400)
        self.accepted.append(json.loads(raw))
        return web.json_response({"status": "success"}, status=202)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        async with serving(self.handle) as url:
            yield f"{url}/v2/enqueue"


async def deliver(receiving: Pushed, *news: Received) -> None:
    try:
        await receiving.deliver(news, AlertStates())
    finally:
        await receiving.close()


@pytest.mark.asyncio
async def test_pagerduty_opens_and_closes_an_incident_under_one_key() -> None:
    server = Server(EVENT)
    async with server.running() as url:
        await deliver(pagerduty(KEY, url, FakeClock().clock), received(), received("resolved"))
    trigger, resolve = server.accepted
    assert (trigger["event_action"], resolve["event_action"]) == ("trigger", "resolve")
    assert trigger["dedup_key"] == resolve["dedup_key"] == "leadsman/028e97dbcd21e31d"
    assert trigger["routing_key"] == resolve["routing_key"] == KEY
    payload = trigger["payload"]
    assert payload["summary"] == "NodeNotReady: what"
    assert (payload["source"], payload["severity"], payload["group"]) == ("n1", "critical", "lab")
    assert payload["timestamp"] == "2026-01-01T00:00:00Z"
    assert payload["custom_details"]["description"] == "why"
    assert trigger["links"] == [{"href": "https://x/A.md", "text": "Runbook"}]


@pytest.mark.asyncio
async def test_pagerduty_is_asked_again_when_it_limits_the_rate() -> None:
    clock = FakeClock()
    server = Server(EVENT, 429, 500)
    async with server.running() as url:
        await deliver(pagerduty(KEY, url, clock.clock), received())
    assert len(server.accepted) == 1
    assert len(clock.slept) == 2


@pytest.mark.asyncio
async def test_a_key_that_pagerduty_refuses_is_given_up() -> None:
    server = Server(EVENT)
    receiving = pagerduty("too short", "", FakeClock().clock)
    async with server.running() as url:
        receiving = pagerduty("too short", url, FakeClock().clock)
        await deliver(receiving, received())
    assert len(server.refused) == REFUSALS
    assert receiving.poster is not None
    assert receiving.poster.tally["refused"] == 1


def test_texts_of_a_cluster_fit_and_are_one_line() -> None:
    hostile = received(node="n\x1b[31m", cluster="")
    hostile.alert.annotations["summary"] = "x" * 5000 + "\n"
    sent = event(KEY, hostile)
    jsonschema.validate(sent, EVENT)
    assert sent["payload"]["source"] == "n\\x1b[31m"
    hostile.alert.labels["node"] = ""
    assert event(KEY, hostile)["payload"]["source"] == "leadsman"


@pytest.mark.asyncio
async def test_teams_gets_a_card_for_each_change() -> None:
    server = Server(MESSAGE)
    async with server.running() as url:
        await deliver(teams(url, FakeClock().clock), received(), received("resolved"))
    cards = [each["attachments"][0]["content"] for each in server.accepted]
    texts = [[run["text"] for block in card["body"] for run in block["inlines"]] for card in cards]
    assert texts[0] == ["FIRING NodeNotReady", "what", "why", "critical, cluster lab, node n1, 2026-01-01T00:00:00Z"]
    assert texts[1][0] == "RESOLVED NodeNotReady"
    assert texts[1][3].endswith("2026-01-01T00:01:00Z")
    assert [card["body"][0]["inlines"][0]["color"] for card in cards] == ["attention", "good"]
    assert cards[0]["actions"] == [{"type": "Action.OpenUrl", "title": "Runbook", "url": "https://x/A.md"}]


def test_an_unknown_alert_is_not_good_in_teams() -> None:
    card = message(received("resolved", reason="unknown"))["attachments"][0]["content"]
    (head,) = card["body"][0]["inlines"]
    assert (head["text"], head["color"]) == ("UNKNOWN NodeNotReady", "default")


def test_names_of_a_cluster_are_no_markdown_in_teams_and_fit_its_limit() -> None:
    hostile = received()
    hostile.alert.annotations.update({"summary": "[click](https://evil) <at>all</at>", "description": "y" * 90_000})
    sent = message(hostile)
    jsonschema.validate(sent, MESSAGE)  # text runs only: these have no Markdown
    assert len(json.dumps(sent)) < 28_000


def secret(folder: Path, text: str, mode: int = 0o600) -> Path:
    file = folder / "secret"
    file.write_text(text)
    file.chmod(mode)
    return file


def test_keys_and_addresses_come_from_files_and_are_in_no_name(tmp_path: Path) -> None:
    of_pagerduty = receiver(
        f"pagerduty={secret(tmp_path, KEY + chr(10))}", pagerduty_url="https://events.eu.example/x"
    )
    assert of_pagerduty.name == "pagerduty https://events.eu.example"
    of_teams = receiver(f"teams={secret(tmp_path, 'https://prod.example/workflows/s3cret')}")
    assert of_teams.name == "teams https://prod.example"
    assert group_of("p", "teams=/run/secrets/teams").startswith("p-alert-teams-")


@pytest.mark.parametrize("kind", ["pagerduty", "teams"])
def test_a_secret_on_the_command_line_or_in_a_bad_file_is_refused_and_not_repeated(kind: str, tmp_path: Path) -> None:
    for text in ("", "two words", "\n"):
        with pytest.raises(BadReceiver, match="its file does not hold one word"):
            receiver(f"{kind}={secret(tmp_path, text)}")
    with pytest.raises(BadReceiver, match="its file cannot be read") as error:
        receiver(f"{kind}=hunter2")
    assert "hunter2" not in str(error.value)


def test_what_the_file_of_teams_holds_has_to_be_an_address(tmp_path: Path) -> None:
    with pytest.raises(BadReceiver, match="its address cannot be used") as error:
        receiver(f"teams={secret(tmp_path, 'ftp://hunter2')}")
    assert "hunter2" not in str(error.value)
