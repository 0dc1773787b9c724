"""Receivers as the settings have them, and `leadsman alert --test`."""

import json
from pathlib import Path

import pydantic
import pytest
from aiohttp import web

from common.clock import SYSTEM
from fakes.serving import serving
from fakes.slack import CHANNEL, TOKEN, Slack
from leadsman.run import alert
from leadsman.run.alert import send_test
from leadsman.run.settings import Settings, redacted_yaml
from leadsman.web.reading.settings import PageSettings
from streams.kafka.messages.alerts import AlertMessage

pytestmark = pytest.mark.asyncio


async def test_each_receiver_is_sent_one_alert_and_one_that_keeps_it_open_its_end(tmp_path: Path) -> None:
    bodies: dict[str, list[str]] = {}

    async def answer(request: web.Request) -> web.Response:
        bodies.setdefault(request.path, []).append(await request.text())
        return web.Response(status=500 if request.path == "/failing" else 202)

    key = tmp_path / "key"
    key.write_text("0123456789abcdef0123456789abcdef")
    key.chmod(0o600)
    async with serving(answer) as url:
        settings = Settings.model_validate({"alerts": {"pagerduty_url": f"{url}/pagerduty"}})
        to = [f"slack={url}/slack", f"webhook={url}/hook", f"alertmanager={url}", f"pagerduty={key}", "stdout"]
        assert await send_test(settings, to) == []
    assert {path: len(sent) for path, sent in bodies.items()} == {
        "/slack": 1,
        "/hook": 1,
        "/api/v2/alerts": 1,
        "/pagerduty": 2,
    }
    assert "LeadsmanTest" in bodies["/slack"][0]
    assert [json.loads(each)["event_action"] for each in bodies["/pagerduty"]] == ["trigger", "resolve"]


async def test_a_channel_of_slack_is_sent_an_alert_that_is_resolved_with_the_token_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text(f"{TOKEN}\n")
    token.chmod(0o600)
    async with Slack().running() as slack:
        given = {"slack_url": slack.url, "slack_token_file": str(token)}
        assert await send_test(Settings.model_validate({"alerts": given}), [f"slack={CHANNEL}"]) == []
        assert slack.heads() == ["RESOLVED LeadsmanTest"]
        both = {"alerts": {**given, "slack_token": TOKEN}}
        with pytest.raises(pydantic.ValidationError, match="exclude each other"):
            Settings.model_validate(both)
        settings = Settings.model_validate({"alerts": {"slack_url": slack.url, "slack_token": "xoxb-wrong"}})
        assert TOKEN not in redacted_yaml(settings)
        assert "xoxb" not in redacted_yaml(settings)
        monkeypatch.setattr(alert, "TEST_SECONDS", 0.5)
        (problem,) = await send_test(settings, [f"slack={CHANNEL}"])
    assert "does not accept alerts" in problem
    assert "invalid_auth" in problem


async def test_what_does_not_take_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alert, "TEST_SECONDS", 0.5)

    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=500, text="no")

    async with serving(refuse) as url:
        (problem,) = await send_test(Settings(), [f"slack={url}/secret", "stdout"])
    assert "does not accept alerts: 500 no" in problem
    assert "secret" not in problem


async def test_an_alert_links_to_its_node_where_the_page_has_an_address() -> None:
    named = {"cluster": "a b", "node": "n&1"}
    of_node, of_cluster = (
        AlertMessage(status="firing", fingerprint="f", labels=labels, annotations={}, starts_at=at, updated_at=at)
        for labels in (named, {"cluster": "c"})
        for at in [SYSTEM.now()]
    )
    assert alert._link("https://x/leadsman", of_node).page == "https://x/leadsman/node?cluster=a+b&node=n%261"
    assert alert._link("https://x", of_cluster) == ("https://x/?cluster=c", "")
    assert alert._link("", of_node) == ("", "")
    of_node.labels["alertname"] = "PodsEvicted"
    assert alert._link("https://x", of_node).runbook == "https://x/runbooks/PodsEvicted?cluster=a+b&node=n%261"
    for wrong in ("javascript:x", "https://x y", "https://x|y"):
        with pytest.raises(pydantic.ValidationError):
            PageSettings(address=wrong)
