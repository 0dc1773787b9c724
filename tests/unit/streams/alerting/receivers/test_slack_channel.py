"""A channel of Slack: one message an alert, one thread an incident, and nothing twice after a kill."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType

import pytest
from msgspec.structs import replace

from fakes.clock import START, FakeClock
from fakes.slack import BOT, CHANNEL, TOKEN, Slack
from streams.alerting.receivers.alert_states import AlertStates, Received, incident_of
from streams.alerting.receivers.choose import BadReceiver, receiver
from streams.alerting.receivers.slack_channel import APART_SECONDS, SlackChannel
from streams.kafka.messages.alerts import AlertMessage

pytestmark = pytest.mark.asyncio
NODE = {"cluster": "c", "node": "n1"}
MEMORY = {"cluster": "c", "node": "n1", "resource": "memory"}
PRESSURE = {"cluster": "c", "node": "n1", "condition": "MemoryPressure"}


def alert(
    name: str,
    status: str = "firing",
    labels: Mapping[str, str] = MappingProxyType({}),
    *,
    start: float = 0,
    summary: str = "what",
) -> Received:
    made = AlertMessage(
        status="resolved" if status == "resolved" else "firing",
        fingerprint=name.lower(),
        labels={"alertname": name, "severity": "warning", **labels},
        annotations={"summary": summary, "description": "why"},
        starts_at=START + timedelta(seconds=start),
        ends_at=START + timedelta(seconds=start + 60) if status == "resolved" else None,
        updated_at=START + timedelta(seconds=start + (60 if status == "resolved" else 0)),
    )
    return Received(made, f"{name}@{start}#{status}", made.updated_at)


class Process:
    """A process that delivers until it is killed."""

    def __init__(self, slack: Slack, states: AlertStates | None = None, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.states = states or AlertStates()
        self.channel = SlackChannel(CHANNEL, TOKEN, url=slack.url, clock=self.clock.clock)

    async def tell(self, *news: Received) -> None:
        for each in news:
            self.states.read(each)
        await self.channel.deliver(news, self.states)

    async def kill(self) -> None:
        await self.channel.close()


async def test_an_alert_is_one_message_that_is_updated_when_it_is_resolved() -> None:
    async with Slack().running() as slack:
        process = Process(slack)
        await process.tell(alert("NodeNotReady", labels=NODE))
        assert slack.heads() == ["FIRING (warning) NodeNotReady"]
        (text,) = slack.texts()
        assert "`leadsman silence add alertname=NodeNotReady cluster=c node=n1 --for 2h --why TEXT`" in text
        await process.tell(alert("NodeNotReady", "resolved", labels=NODE))
        assert slack.heads() == ["RESOLVED NodeNotReady"]
        await process.tell(alert("NodeNotReady", start=600, labels=NODE))
        assert slack.heads() == ["RESOLVED NodeNotReady", "FIRING (warning) NodeNotReady"]
        await process.kill()


async def test_alerts_of_one_incident_are_one_thread_whose_first_message_names_those_that_fire() -> None:
    async with Slack().running() as slack:
        process = Process(slack)
        await process.tell(alert("EvictionThresholdNear", labels=MEMORY))
        await process.tell(
            alert("NodePressureLasting", labels=PRESSURE), alert("DiskFull", labels={**MEMORY, "node": "n2"})
        )
        assert slack.heads() == [
            "FIRING (warning) EvictionThresholdNear",
            "  FIRING (warning) NodePressureLasting",
            "FIRING (warning) DiskFull",
        ]
        assert [each.get("reply_broadcast") for each in slack.messages.values()] == [None, True, None]
        await process.tell(alert("EvictionThresholdNear", "resolved", labels=MEMORY))
        assert slack.heads()[0] == "RESOLVED EvictionThresholdNear"
        assert "Also firing in this thread: NodePressureLasting." in slack.texts()[0]
        await process.tell(alert("NodePressureLasting", "resolved", labels=PRESSURE))
        assert slack.heads()[1] == "  RESOLVED NodePressureLasting"
        assert "Also firing" not in slack.texts()[0]
        await process.kill()


async def test_an_incident_is_a_shortage_of_one_node_and_other_alerts_are_their_own() -> None:
    of_memory = {incident_of(each.alert) for each in (alert("A", labels=MEMORY), alert("B", labels=PRESSURE))}
    assert len(of_memory) == 1
    others = ({**MEMORY, "node": "n2"}, {**MEMORY, "cluster": "d"}, {**MEMORY, "resource": "pids"})
    assert not of_memory & {incident_of(alert("A", labels=labels).alert) for labels in others}
    for alone in ({**MEMORY, "cause": "limit"}, {"resource": "memory"}, {"node": "n1", "reason": "x"}, {}):
        assert incident_of(alert("A", labels=alone).alert) == "a"


async def test_changed_words_of_a_firing_alert_are_updated_and_make_no_message() -> None:
    async with Slack().running() as slack:
        process = Process(slack)
        await process.tell(alert("PodsEvicted", summary="1 pod", labels=MEMORY))
        calls = len(slack.calls)
        await process.tell()
        assert len(slack.calls) == calls
        later = alert("PodsEvicted", summary="7 pods", labels=MEMORY)
        process.states.read(later._replace(alert=replace(later.alert, updated_at=START + timedelta(seconds=9))))
        await process.tell()
        assert [text.split("\n")[0] for text in slack.texts()] == ["*FIRING (warning) PodsEvicted: 7 pods*"]
        await process.kill()


async def test_a_kill_neither_loses_nor_repeats_a_message() -> None:
    async with Slack().running() as slack:
        slack.page = 2  # its history has several pages
        killed = Process(slack)
        many = [alert(f"A{number}") for number in range(5)]
        await killed.tell(*many, alert("Near", labels=MEMORY), alert("Lasting", labels=PRESSURE))
        await killed.kill()
        reported = slack.texts()
        process = Process(slack)  # it was killed before it noted what it had sent
        await process.tell(*many, alert("Near", labels=MEMORY), alert("Lasting", labels=PRESSURE))
        assert slack.texts() == reported
        await process.tell(alert("A3", "resolved"), alert("Evicted", labels=MEMORY))
        assert slack.heads()[3] == "RESOLVED A3"
        assert slack.heads()[7:] == ["  FIRING (warning) Evicted"]
        await process.kill()


async def test_a_message_whose_answer_was_lost_is_not_sent_again() -> None:
    async with Slack().running() as slack:
        slack.loses = 1
        process = Process(slack)
        await process.tell(alert("A"))
        await process.tell(alert("A", "resolved"))
        assert slack.heads() == ["RESOLVED A"]
        assert process.channel.poster is not None
        assert process.channel.poster.tally["delivered"] == 2
        await process.kill()


async def test_a_rate_limit_is_waited_for_as_long_as_slack_asks() -> None:
    async with Slack().running() as slack:
        slack.refusals = [(429, "ratelimited", {"Retry-After": "30"}), (200, "ratelimited", {})]
        process = Process(slack)
        await process.tell(alert("A"), alert("B"))
        assert slack.heads() == ["FIRING (warning) A", "FIRING (warning) B"]
        assert 30.0 in process.clock.slept
        assert APART_SECONDS in process.clock.slept  # one message a second
        await process.kill()


async def test_a_message_that_is_gone_is_posted_anew_and_a_refused_one_is_dropped() -> None:
    async with Slack().running() as slack:
        process = Process(slack)
        await process.tell(alert("A"))
        slack.messages.clear()
        await process.tell(alert("A", "resolved"))
        assert slack.heads() == ["RESOLVED A"]
        slack.refusals = [(200, "is_archived", {})] * 5
        await process.tell(alert("B"))
        await process.tell(alert("C"))
        assert slack.heads() == ["RESOLVED A", "FIRING (warning) C"]
        assert not process.channel.parked
        await process.kill()


async def test_an_incident_whose_first_message_somebody_deleted_begins_a_new_thread() -> None:
    async with Slack().running() as slack:
        process = Process(slack)
        await process.tell(alert("First", labels=MEMORY), alert("Second", labels=PRESSURE))
        del slack.messages[next(iter(slack.messages))]
        await process.tell(alert("Third", labels=MEMORY))
        await process.tell(alert("Fourth", labels=MEMORY))
        await process.tell(alert("Second", "resolved", labels=PRESSURE))
        assert slack.heads() == [
            "  RESOLVED Second",
            "FIRING (warning) Third",
            "  FIRING (warning) Fourth",
        ]
        await process.kill()


async def test_metadata_of_another_app_hides_no_alert() -> None:
    async with Slack().running() as slack:
        process = Process(slack)
        await process.tell(alert("A"))
        await process.kill()
        for each in slack.messages.values():
            assert each["bot_id"] == BOT
            each["bot_id"] = "B99"
        process = Process(slack)
        await process.tell(alert("A"))
        assert slack.heads() == ["FIRING (warning) A"] * 2
        await process.kill()


async def test_a_bot_that_may_not_read_the_history_still_posts() -> None:
    async with Slack(frozenset({"chat:write"})).running() as slack:
        process = Process(slack)
        await process.tell(alert("A"))
        await process.tell(alert("A", "resolved"))
        assert slack.heads() == ["RESOLVED A"]
        await process.kill()


async def test_the_token_is_in_no_message_name_or_complaint(tmp_path: Path) -> None:
    async with Slack().running() as slack:
        process = Process(slack)
        await process.tell(alert("A"))
        assert TOKEN not in "".join(slack.bodies)
        assert "xoxb" not in process.channel.name
        await process.kill()
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    assert receiver(f"slack={CHANNEL}", slack_token=file).name == f"slack {CHANNEL} https://slack.com"
    for token in ("xoxb-1\nx: y", "xoxb-\u00e9", " \n"):
        with pytest.raises(BadReceiver, match="needs a bot's token"):
            receiver(f"slack={CHANNEL}", slack_token=token)
    for text in (f"slack={CHANNEL}", "slack=#alerts", f"slack={TOKEN}"):
        with pytest.raises(BadReceiver) as error:
            receiver(text)
        assert "xoxb" not in str(error.value)
