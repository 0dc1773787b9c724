"""Receivers of alerts: what they are sent, what is tried again, and what is given up."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, cast

import msgspec
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from components.rows import T0, row
from fakes.clock import START, FakeClock
from fakes.serving import serving
from streams.alerting.active import SILENT
from streams.alerting.receivers import posting
from streams.alerting.receivers.alert_states import MOST, WITHOUT_NEWS, AlertStates, DeliveryState, Received
from streams.alerting.receivers.alertmanager import ALIVE, Alertmanager
from streams.alerting.receivers.choose import BadReceiver, group_of, receiver
from streams.alerting.receivers.posting import DEADLINE_SECONDS, REFUSALS
from streams.alerting.receivers.pushing import (
    NOWHERE,
    ROUND_SECONDS,
    SIGNATURE,
    Addresses,
    signature,
    slack_message,
    stdout,
    webhook,
)
from streams.fold.findings import REPEAT_EVERY, Alert
from streams.kafka.messages.alerts import AlertMessage, alert_headers, decode_alert, encode_alert
from waiting import PATIENCE_SECONDS


def received(
    status: str = "firing",
    start: float = 0,
    end: float | None = None,
    *,
    update: float | None = None,
    name: str = "A",
) -> Received:
    alert = AlertMessage(
        status="resolved" if status == "resolved" else "firing",
        fingerprint=name,
        labels={"alertname": name, "severity": "warning"},
        annotations={"summary": "what", "description": "why", "runbook_url": "https://x/A.md"},
        starts_at=START + timedelta(seconds=start),
        ends_at=None if end is None else START + timedelta(seconds=end),
        updated_at=START + timedelta(seconds=next(t for t in (update, end, start) if t is not None)),
    )
    return Received(alert, f"{name}@{start}#{status}@{update}", alert.updated_at)


def states_after(*messages: Received) -> AlertStates:
    states = AlertStates()
    for message in messages:
        states.read(message)
    return states


# Messages


def test_a_message_has_alertmanager_s_names_and_cloudevents_headers() -> None:
    alert = row(
        Alert,
        ts=T0,
        fingerprint="00ff",
        alertname="PodsEvicted",
        status="firing",
        starts_at=T0,
        node="n",
        labels={"alertname": "PodsEvicted"},
        annotations={"summary": "s"},
        updated_at=T0,
    )
    assert json.loads(encode_alert(alert)) == {
        "status": "firing",
        "fingerprint": "00ff",
        "labels": {"alertname": "PodsEvicted"},
        "annotations": {"summary": "s"},
        "startsAt": "2026-07-01T12:00:00Z",
        "endsAt": None,
        "updatedAt": "2026-07-01T12:00:00Z",
        "reason": "",
    }
    assert decode_alert(encode_alert(alert)).starts_at == T0
    headers = dict(alert_headers(alert))
    assert headers["ce_specversion"] == b"1.0"
    assert headers["ce_type"] == b"dev.leadsman.alert.v1"
    assert headers["ce_subject"] == b"n"
    assert headers["ce_id"] == dict(alert_headers(alert))["ce_id"]
    resolved = alert._replace(status="resolved", ends_at=T0, ts=T0)
    assert dict(alert_headers(resolved))["ce_id"] != headers["ce_id"]


# Standing


def test_firing_and_resolving_are_news_and_other_words_are_not() -> None:
    states = AlertStates()
    assert states.read(received())
    assert not states.read(received(update=60))
    assert [each.alert.updated_at for each in states.firing()] == [START + timedelta(seconds=60)]
    assert states.read(received("resolved", 0, 90))
    assert states.firing() == []
    assert states.read(received(start=100))


def test_a_repeated_read_is_not_news() -> None:
    every = [received(), received(update=60), received("resolved", 0, 90), received(start=100)]
    states = AlertStates()
    assert [states.read(each) for each in every] == [True, False, True, True]
    assert [states.read(each) for each in every] == [False] * 4


def test_an_alert_that_left_the_topic_is_as_one_that_never_was() -> None:
    states = states_after(received("resolved", 0, 5))
    states.withdraw("A")
    states.withdraw("unknown")
    assert "A" not in states
    assert states.read(received("resolved", 0, 5))


def test_where_the_first_message_is_gone_the_next_is_the_news() -> None:
    # a compacted topic keeps the last message of a key only
    assert AlertStates().read(received(update=60))
    assert AlertStates().read(received("resolved", 0, 90))


def test_what_fires_without_news_is_lost_and_fires_again_with_news() -> None:
    states = states_after(received(), received(name="B", update=60))
    due = START + REPEAT_EVERY
    assert states.lose(due + SILENT - timedelta(seconds=1)) == []
    (lost,) = states.lose(due + SILENT)
    assert (lost.alert.fingerprint, lost.alert.status, lost.alert.reason) == ("A", "resolved", "unknown")
    assert lost.alert.annotations["summary"] == "No data since 2026-01-01 01:00:00 UTC: what"
    assert [each.alert.fingerprint for each in states.firing()] == ["B"]
    assert states.lose(due + SILENT) == []
    assert not states.read(received())  # the same message again is no news
    assert states.read(received(update=9000))
    assert [each.alert.fingerprint for each in states.firing()] == ["A", "B"]


def test_an_end_that_is_not_known_is_news_once() -> None:
    states = states_after(received())
    states.lose(START + WITHOUT_NEWS)
    concluded = received("resolved", 0, 9000)
    assert not states.read(concluded._replace(alert=msgspec.structs.replace(concluded.alert, reason="unknown")))
    assert [each.alert.reason for each in states.resolved([], START)] == ["unknown"]


def test_what_the_next_process_has_to_know_fits_into_a_commit() -> None:
    remembered = DeliveryState.of(START, {f"{number:016x}" for number in range(1000)})
    assert len(remembered.metadata()) < 4096
    assert DeliveryState.parse(remembered.metadata()) == remembered
    assert remembered.judged_at == START
    assert DeliveryState.parse("first 12") == DeliveryState.parse("") == DeliveryState()


EVERY = [received(start=b, update=u) for b in (0, 100) for u in (b, b + 10)]
EVERY += [received("resolved", start, start + 50) for start in (0, 100)]


@given(st.lists(st.sampled_from(EVERY), max_size=20))
def test_each_firing_is_news_once_and_so_is_each_end(messages: list[Received]) -> None:
    states = AlertStates()
    news = [(each.alert.status, each.alert.starts_at) for each in messages if states.read(each)]
    assert len(set(news)) == len(news)


# A real HTTP server


class Server:
    """Answers with the statuses that it is given, then with 200; keeps what it was sent."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.failing: set[str] = set()
        """Names of alerts that are answered with 500."""
        self.hanging: set[str] = set()
        """Names of alerts that are not answered."""
        self.reply: dict[str, Any] = {"text": "said"}
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        self.headers.append(dict(request.headers))
        body = await request.json()
        self.bodies.append(body)
        status = self.answers.pop(0) if self.answers else 200
        names = {each["labels"]["alertname"] for each in (body if isinstance(body, list) else [body])}
        if self.hanging & names:
            await asyncio.sleep(3600)  # the fault itself; the client hangs up
        if self.failing & names:
            status = 500
        headers = {"Retry-After": "7"} if status == 429 else {}
        return web.Response(status=status, **{"headers": headers, **self.reply})

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Server"]:
        async with serving(self.handle) as self.url:
            yield self


async def push(server: Server, clock: FakeClock, *news: Received, secret: str | None = None) -> None:
    receiving = webhook(server.url + "/hook", secret, clock.clock)
    try:
        await receiving.deliver(news, AlertStates())
    finally:
        await receiving.close()


@pytest.mark.asyncio
async def test_a_webhook_gets_the_message_its_key_and_a_signature() -> None:
    clock = FakeClock()
    async with Server().running() as server:
        await push(server, clock, received(), secret="s3cret")  # noqa: S106  # of this test
    assert msgspec.convert(server.bodies[0], AlertMessage) == received().alert
    headers = server.headers[0]
    assert headers["Idempotency-Key"] == received().identity
    at, _, digest = headers[SIGNATURE].partition(",v1=")
    body = msgspec.json.encode(received().alert)
    expected = hmac.new(b"s3cret", at.removeprefix("t=").encode() + b"." + body, hashlib.sha256).hexdigest()
    assert digest == expected
    assert at == f"t={int(START.timestamp())}"


def test_a_signature_depends_on_secret_time_and_body() -> None:
    every = {signature(s, b, t) for s in ("a", "b") for b in (b"x", b"y") for t in (1, 2)}
    assert len(every) == 8


@pytest.mark.asyncio
async def test_without_a_secret_nothing_is_signed() -> None:
    async with Server().running() as server:
        await push(server, FakeClock(), received())
    assert SIGNATURE not in server.headers[0]


@pytest.mark.asyncio
async def test_what_fails_is_tried_again_with_the_same_key_and_ever_more_seldom() -> None:
    clock = FakeClock()
    async with Server().running() as server:
        server.answers = [500, 503, 429, 408]
        await push(server, clock, received())
    assert len(server.bodies) == 5
    assert {headers["Idempotency-Key"] for headers in server.headers} == {received().identity}
    assert clock.slept == [0.8, 1.6, 7.0, 6.4]  # Retry-After asked for seven seconds


@pytest.mark.asyncio
async def test_a_refused_alert_is_dropped_and_the_next_is_sent() -> None:
    async with Server().running() as server:
        server.answers = [404] * REFUSALS
        await push(server, FakeClock(), received(), received("resolved", 0, 9))
    assert [body["status"] for body in server.bodies] == ["firing"] * REFUSALS + ["resolved"]


@pytest.mark.asyncio
async def test_a_redirect_is_not_followed() -> None:
    async with Server().running() as server:
        server.answers = [302] * REFUSALS
        await push(server, FakeClock(), received())
    assert len(server.bodies) == REFUSALS


@pytest.mark.asyncio
async def test_an_alert_that_its_receiver_fails_on_is_parked_and_retried_each_round() -> None:
    clock = FakeClock()
    async with Server().running() as server:
        receiving = webhook(server.url, None, clock.clock)
        server.failing = {"A"}
        news = [received(), received("resolved", 0, 9), received(name="B")]
        states = states_after(*news)
        with capture_logs() as logs:
            await receiving.deliver(news, states)
            assert DEADLINE_SECONDS <= clock.seconds < 2 * DEADLINE_SECONDS
            assert taken(server) == [("B", "firing")]
            assert receiving.resend_seconds == ROUND_SECONDS
            server.bodies.clear()
            await receiving.deliver([received(name="C")], states)
            assert taken(server) == [("C", "firing")]
            assert len(server.bodies) == 2  # A was tried once
        assert [each["alert"] for each in logs if each["event"] == "an alert is parked"] == ["A"]
        assert receiving.poster is not None
        assert receiving.poster.tally["parked"] == 1
        server.failing.clear()
        server.bodies.clear()
        await receiving.deliver([], states)
        assert taken(server) == [("A", "firing"), ("A", "resolved")]
        assert receiving.resend_seconds is None
        await receiving.close()


def taken(server: Server) -> list[tuple[str, str]]:
    named = [(body["fingerprint"], body["status"]) for body in server.bodies]
    return [each for each in named if each[0] not in server.failing]


@pytest.mark.asyncio
async def test_what_an_earlier_process_had_parked_is_tried_in_the_first_round() -> None:
    async with Server().running() as server:
        receiving = webhook(server.url, None, FakeClock().clock)
        receiving.park(received())
        assert receiving.resend_seconds == ROUND_SECONDS
        await receiving.deliver([], states_after(received()))
        await receiving.close()
    assert taken(server) == [("A", "firing")]
    assert not receiving.parked


@pytest.mark.asyncio
async def test_news_of_a_parked_alert_replace_what_was_parked() -> None:
    async with Server().running() as server:
        receiving = webhook(server.url, None, FakeClock().clock)
        server.failing = {"A"}
        await receiving.deliver([received()], AlertStates())
        server.failing.clear()
        server.bodies.clear()
        await receiving.deliver([received("resolved", 0, 9)], AlertStates())
        await receiving.deliver([], AlertStates())
        await receiving.close()
    assert taken(server) == [("A", "resolved")]


@pytest.mark.asyncio
async def test_a_parked_alert_that_left_the_topic_is_not_tried_again() -> None:
    async with Server().running() as server:
        receiving = webhook(server.url, None, FakeClock().clock)
        server.failing = {"A"}
        states = states_after(received())
        await receiving.deliver([received()], states)
        server.bodies.clear()
        states.withdraw("A")
        await receiving.deliver([], states)
        assert (server.bodies, receiving.resend_seconds) == ([], None)
        await receiving.close()


@pytest.mark.asyncio
async def test_a_proxy_without_a_server_parks_nothing() -> None:
    clock = FakeClock()
    async with Server().running() as server:
        server.answers = [status for status in (502, 503, 504) for _ in range(10)]
        await push(server, clock, received())
    assert clock.seconds > 2 * DEADLINE_SECONDS
    assert len(server.bodies) == 31


@pytest.mark.asyncio
async def test_an_alert_that_ends_the_receiver_each_time_is_parked_although_a_proxy_answers_while_it_starts() -> None:
    clock = FakeClock()
    async with Server().running() as server:
        receiving = webhook(server.url, None, clock.clock)
        server.answers = [500, 502, 503] * 10
        await receiving.deliver([received()], states_after(received()))
        await receiving.close()
    assert receiving.parked == {"A"}
    assert DEADLINE_SECONDS <= clock.seconds < 3 * DEADLINE_SECONDS


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "reply",
    [
        {"body": b"no brotli", "headers": {"Content-Encoding": "br"}},
        {"body": b"no gzip", "headers": {"Content-Encoding": "gzip"}},
        {"body": b"cut off", "headers": {"Content-Length": "7000"}},
    ],
)
async def test_an_alert_whose_answer_cannot_be_read_blocks_no_other(reply: dict[str, Any]) -> None:
    """A gateway that blocks one alert, and says so in its own way."""
    clock = FakeClock()
    async with Server().running() as server, asyncio.timeout(PATIENCE_SECONDS):
        receiving = webhook(server.url, None, clock.clock)
        server.failing, server.reply = {"A"}, reply
        await receiving.deliver([received()], states_after(received()))
        assert receiving.parked == {"A"}
        await receiving.close()


@pytest.mark.asyncio
async def test_a_receiver_that_repeats_its_address_or_its_key_puts_neither_into_the_log() -> None:
    """`Cannot POST /services/...` is how many servers answer to a path that they do not know."""
    address, key = "/services/T0A1B2C3D/hunter22secret?sig=hunter23%2Fsecret", "R0UT1NGKEYR0UT1NGKEYR0UT1NGKEY00"
    async with Server().running() as server:
        server.answers = [404] * REFUSALS
        server.reply = {"text": f"Cannot POST {address}, and {key}"}
        poster = posting.Poster("slack", server.url + address, FakeClock().clock, key)
        with capture_logs() as logged, pytest.raises(posting.Refused) as refused:
            await poster.post("", b"[]", dict)
        await poster.close()
    shown = f"{logged} {refused.value}"
    assert "Cannot POST" in shown
    assert not [secret for secret in ("T0A1B2C3D", "hunter", key) if secret in shown]


@pytest.mark.asyncio
@pytest.mark.parametrize("before", [270, 285, 4070, 4085])
async def test_a_reply_that_is_cut_within_a_secret_shows_no_part_of_it(before: int) -> None:
    address = "/ABCDEFGHIJKLMNOPQRSTUVWX"
    async with Server().running() as server:
        server.answers = [404] * REFUSALS
        server.reply = {"text": "_ " * (before // 2) + address}
        poster = posting.Poster("slack", server.url + address, FakeClock().clock, "a.b+c/d=e1234")
        with pytest.raises(posting.Refused) as refused:
            await poster.post("", b"[]", dict)
        await poster.close()
    assert "ABC" not in str(refused.value)


@pytest.mark.asyncio
async def test_an_alert_that_times_out_is_parked_and_the_next_ones_do_not_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was tried for ever, and held up whatever came after it."""
    monkeypatch.setattr(posting, "TIMEOUT_SECONDS", 0.2)
    clock = FakeClock()
    async with Server().running() as server, asyncio.timeout(PATIENCE_SECONDS):
        receiving = webhook(server.url, None, clock.clock)
        server.hanging = {"A"}
        states = states_after(received(), received(name="B"), received(name="C"))
        await receiving.deliver([received(), received(name="B")], states)
        assert receiving.parked == {"A"}
        assert DEADLINE_SECONDS <= clock.seconds < 2 * DEADLINE_SECONDS
        server.bodies.clear()
        await receiving.deliver([received(name="C")], states)
        assert sorted(body["fingerprint"] for body in server.bodies) == ["A", "C"]
        server.hanging.clear()
        await receiving.deliver([], states)
        assert not receiving.parked
        await receiving.close()


@pytest.mark.asyncio
async def test_no_more_alerts_are_parked_than_a_commit_can_name() -> None:
    """If a receiver fails on everything, the rest waits for it in the topic."""
    clock, enough = FakeClock(), asyncio.Event()

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        if clock.seconds > 3 * DEADLINE_SECONDS:
            enough.set()

    async with Server().running() as server:
        receiving = webhook(server.url, None, clock.clock._replace(sleep=sleep))
        for number in range(MOST):
            receiving.park(received(name=f"n{number}"))
        server.failing = {"A"}
        states = states_after(received(), *(received(name=f"n{number}") for number in range(MOST)))
        work = asyncio.ensure_future(receiving.deliver([received()], states))
        await asyncio.wait_for(enough.wait(), PATIENCE_SECONDS)
        assert not work.done()
        assert "A" not in receiving.parked
        server.failing.clear()
        await asyncio.wait_for(work, PATIENCE_SECONDS)
        await receiving.close()


@pytest.mark.asyncio
async def test_a_receiver_that_is_down_is_asked_until_it_is_there() -> None:
    clock = FakeClock()
    enough = asyncio.Event()

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        if len(clock.slept) == 10:
            enough.set()

    async with Server().running() as server:
        url = server.url
    receiving = webhook(url, None, clock.clock._replace(sleep=sleep))
    work = asyncio.ensure_future(receiving.deliver([received()], AlertStates()))
    await asyncio.wait_for(enough.wait(), PATIENCE_SECONDS)
    assert not work.done()
    assert max(clock.slept) == 60.0
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)
    await receiving.close()


@pytest.mark.asyncio
async def test_news_of_one_alert_keep_their_order_and_others_do_not_wait() -> None:
    async with Server().running() as server:
        server.answers = [500]
        await push(
            server, FakeClock(), received(), received("resolved", 0, 9), *(received(name=f"n{i}") for i in range(30))
        )
    of_one = [body["status"] for body in server.bodies if body["fingerprint"] == "A"]
    assert [*dict.fromkeys(of_one)] == ["firing", "resolved"]
    assert len({body["fingerprint"] for body in server.bodies}) == 31


# Alertmanager


async def send(server: Server, clock: FakeClock, *messages: Received) -> Alertmanager:
    manager = Alertmanager(server.url + "/", clock.clock)
    await manager.deliver(messages, states_after(*messages))
    return manager


def posted(body: list[dict[str, Any]]) -> list[tuple[str, datetime, datetime]]:
    return [
        (each["labels"]["alertname"], *(datetime.fromisoformat(each[name]) for name in ("startsAt", "endsAt")))
        for each in body
    ]


@pytest.mark.asyncio
async def test_alertmanager_receives_all_that_fires_and_for_how_long() -> None:
    clock = FakeClock()
    clock.seconds = 1000
    async with Server().running() as server:
        manager = await send(server, clock, received(), received(name="B"))
        await manager.close()
    now = START + timedelta(seconds=1000)
    assert posted(server.bodies[0]) == [("A", START, now + ALIVE), ("B", START, now + ALIVE)]
    assert server.bodies[0][0]["generatorURL"] == "https://x/A.md"


@pytest.mark.asyncio
async def test_alertmanager_can_group_alerts_by_their_incident() -> None:
    scarce = {"cluster": "c", "node": "n1", "resource": "memory"}
    alerts = [
        each._replace(alert=msgspec.structs.replace(each.alert, labels={**each.alert.labels, **labels}))
        for each, labels in (
            (received(name="A"), scarce),
            (received(name="B"), {"cluster": "c", "node": "n1", "condition": "MemoryPressure"}),
            (received(name="C"), {**scarce, "node": "n2"}),
        )
    ]
    async with Server().running() as server:
        await (await send(server, FakeClock(), *alerts)).close()
    near, pressure, elsewhere = (each["labels"]["incident"] for each in server.bodies[0])
    assert near == pressure != elsewhere


@pytest.mark.asyncio
async def test_alertmanager_receives_when_it_was_resolved_never_in_the_future() -> None:
    clock = FakeClock()
    clock.seconds = 100
    async with Server().running() as server:
        news = [
            received("resolved", 0, 50),
            received("resolved", 0, 5000, name="B"),
            received("resolved", 7000, 8000, name="C"),
        ]
        manager = await send(server, clock, *news)
        await manager.close()
    now = START + timedelta(seconds=100)
    assert posted(server.bodies[0]) == [
        ("A", START, START + timedelta(seconds=50)),
        ("B", START, now),
        ("C", now, now),
    ]


@pytest.mark.asyncio
async def test_alertmanager_receives_a_while_that_an_alert_was_resolved() -> None:
    clock = FakeClock()
    states = states_after(received(), received("resolved", 0, 50))
    async with Server().running() as server:
        manager = Alertmanager(server.url, clock.clock)
        for minutes in (1, 10, 15, 16):
            clock.seconds = minutes * 60
            await manager.deliver([], states)
        await manager.close()
    assert [len(body) for body in server.bodies] == [1, 1, 1]


@pytest.mark.asyncio
async def test_an_alert_that_fires_again_is_not_reported_to_be_resolved() -> None:
    async with Server().running() as server:
        await (await send(server, FakeClock(), received(), received("resolved", 0, 50), received(start=60))).close()
    assert len(server.bodies[0]) == 1


@pytest.mark.asyncio
async def test_one_alert_that_alertmanager_fails_on_does_not_stop_the_others() -> None:
    clock = FakeClock()
    every = [received(), received(name="B"), received(name="C")]
    async with Server().running() as server:
        server.failing = {"B"}
        manager = await send(server, clock, *every)
        assert manager.poster.tally["parked"] == 1
        assert [[name for name, *_ in posted(body)] for body in server.bodies[-3:]] == [["A"], ["B"], ["C"]]
        server.failing.clear()
        server.bodies.clear()
        await manager.deliver([], states_after(*every))
        assert [[name for name, *_ in posted(body)] for body in server.bodies] == [["A", "B", "C"]]
        await manager.close()


@pytest.mark.asyncio
async def test_one_alert_that_alertmanager_refuses_does_not_stop_the_others() -> None:
    clock = FakeClock()
    async with Server().running() as server:
        server.answers = [400, 200, 400, 400]
        manager = await send(server, clock, received(), received(name="B"), received(name="C"))
        assert [[name for name, *_ in posted(body)] for body in server.bodies] == [
            ["A", "B", "C"],
            ["A"],
            ["B"],
            ["B"],
            ["C"],
        ]
        server.bodies.clear()
        await manager.deliver([], states_after(received(), received(name="B"), received(name="C")))
        assert [name for name, *_ in posted(server.bodies[0])] == ["A", "C"]
        server.bodies.clear()
        await manager.deliver([], states_after(received(name="B", update=60)))
        assert [name for name, *_ in posted(server.bodies[0])] == ["B"]
        await manager.close()


@pytest.mark.asyncio
async def test_many_alerts_are_several_requests() -> None:
    async with Server().running() as server:
        manager = await send(server, FakeClock(), *(received(name=f"a{i}") for i in range(450)))
        await manager.close()
    assert [len(body) for body in server.bodies] == [200, 200, 50]


# Slack, standard output, names


def test_what_a_cluster_named_is_neither_mention_nor_link_in_slack() -> None:
    hostile = received()
    hostile.alert.annotations["summary"] = "<!channel> <https://evil|click> & \u202e \n"
    text = json.dumps(slack_message(hostile), ensure_ascii=False)
    assert "<!channel>" not in text
    assert "&lt;!channel&gt; &lt;https://evil|click&gt; &amp; \\\\u202e" in text


def test_slack_shows_the_status_of_an_alert() -> None:
    assert str(slack_message(received())["text"]).startswith("FIRING (warning) A: what")
    assert str(slack_message(received("resolved", 0, 9))["text"]).startswith("RESOLVED A: what")
    (lost,) = states_after(received()).lose(START + WITHOUT_NEWS)
    assert str(slack_message(lost)["text"]).startswith("UNKNOWN A: No data since 2026-01-01 01:00:00 UTC: what")


@pytest.mark.asyncio
async def test_standard_output_gets_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    (lost,) = states_after(received()).lose(START + WITHOUT_NEWS)
    await stdout().deliver([received(), received("resolved", 0, 9), lost], AlertStates())
    assert capsys.readouterr().out.splitlines() == [
        "2026-01-01T00:00:00Z firing A what",
        "2026-01-01T00:00:09Z resolved A what",
        "2026-01-01T02:00:00Z unknown A No data since 2026-01-01 01:00:00 UTC: what",
    ]


NO_RECEIVERS = ["", "http://x", "smtp=x", "webhook", "webhook=", "webhook=x", "slack=ftp://x", "teams=", "pagerduty"]


@pytest.mark.parametrize(
    "text", [*NO_RECEIVERS, "alertmanager=http://", "webhook=http://[", "webhook=http://x:99999"]
)
def test_a_text_that_names_no_receiver_gets_what_is_allowed(text: str) -> None:
    with pytest.raises(BadReceiver, match="write alertmanager=URL, webhook=URL, slack=URL, slack=CHANNEL, pagerduty"):
        receiver(text)


def test_secrets_of_an_address_are_in_no_name_message_or_group() -> None:
    url = "https://user:hunter2@hooks.example/services/T0/B0/secret"
    assert receiver(f"slack={url}").name == "slack https://hooks.example"
    group = group_of("leadsman", f"slack={url}")
    assert group.startswith("leadsman-alert-slack-")
    assert "secret" not in group
    with pytest.raises(BadReceiver) as error:
        receiver("slack=ftp://hunter2@x")
    assert "hunter2" not in str(error.value)


def test_receivers_have_groups_of_their_own_that_stay() -> None:
    texts = ["stdout", "webhook=http://a", "webhook=http://b", "slack=http://a"]
    assert len({group_of("p", text) for text in texts}) == 4
    assert group_of("p", "stdout") == group_of("p", "stdout")


def shown(told: Received, link: Addresses = NOWHERE) -> str:
    (block,) = cast("Any", slack_message(told, link)["blocks"])
    return str(block["text"]["text"])


def test_a_message_of_slack_links_to_the_page_and_has_the_command_that_silences_it() -> None:
    labels = {"alertname": "NodeStalls", "cluster": "c", "node": "n1", "severity": "warning", "reason": "`x`; rm -rf"}
    firing = received()
    firing = firing._replace(alert=msgspec.structs.replace(firing.alert, labels=labels))
    firing.alert.annotations["runbook_url"] = "https://rules/NodeStalls"
    text = shown(firing, Addresses("https://x/node?cluster=c&node=n1"))
    assert (
        "\n<https://x/node?cluster=c&amp;node=n1|Node n1> · <https://rules/NodeStalls|What to do: runbook>\n" in text
    )
    of_node = Addresses("https://x/", "https://x/runbooks/NodeStalls?node=a|b")
    assert "<https://x/runbooks/NodeStalls?node=a%7Cb|What to do: runbook>" in str(slack_message(firing, of_node))
    firing.alert.annotations["runbook_url"] = "javascript:x"
    assert "<javascript" not in str(slack_message(firing))
    assert "`leadsman silence add alertname=NodeStalls cluster=c node=n1 --for 2h --why TEXT`" in text
    hostile = {**labels, "node": "n|1>`rm`", "cluster": "$(x)"}
    text = str(
        slack_message(
            firing._replace(alert=msgspec.structs.replace(firing.alert, labels=hostile)), Addresses("https://x/")
        )
    )
    assert "|Node n 1&gt;`rm`>" in text
    assert "`leadsman silence add alertname=NodeStalls --for 2h --why TEXT`" in text
    over = received("resolved", end=65)
    assert "silence add" not in str(slack_message(over))
    assert "\nLasted 1 min 5 s, until 2026-01-01 00:01:05 UTC." in shown(over)
