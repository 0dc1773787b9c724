"""A receiver gets alerts while silences come and go."""

from collections.abc import Awaitable, Collection, Sequence
from datetime import timedelta
from typing import cast

import pytest

from fakes.clock import START, FakeClock
from streams.alerting.receivers.alert_states import MOST, AlertStates, DeliveryState, Received
from streams.alerting.receivers.alertmanager import Alertmanager
from streams.alerting.receivers.choose import Receiver
from streams.alerting.receivers.consume import LOOK_SECONDS, SilenceFilter
from streams.alerting.receivers.posting import Poster
from streams.alerting.silences import Silence, matchers
from streams.kafka.messages.alerts import AlertMessage


class Recording:
    """A receiver that remembers what it was sent, and can have something parked."""

    name = "recording"
    poster: Poster | None = None
    resend_seconds: float | None = None

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.shown: list[str] = []
        self.parked: Collection[str] = ()

    def park(self, received: Received) -> None:
        self.parked = [received.alert.fingerprint]

    async def deliver(self, news: Sequence[Received], states: AlertStates) -> None:
        self.sent += [f"{each.alert.fingerprint} {each.alert.status}" for each in news]
        self.shown = [each.alert.fingerprint for each in states.firing()]
        self.parked = [each for each in self.parked if each in states]

    def close(self) -> Awaitable[None]:
        raise NotImplementedError


class Case:
    """A receiver behind silences, and how alerts stand."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.silences: list[Silence] = []
        self.receiver = Recording()
        self.withholding = SilenceFilter(
            cast("Receiver", self.receiver), lambda: tuple(self.silences), self.clock.clock
        )
        self.states = AlertStates()

    def silence(self, text: str, seconds: float) -> None:
        now = START + timedelta(seconds=self.clock.seconds)
        self.silences.append(Silence("a", matchers([text]), now, now + timedelta(seconds=seconds), "ana", "why", now))

    async def __call__(self, *news: Received) -> list[str]:
        """Return the messages that these news cause."""
        self.receiver.sent.clear()
        await self.withholding.deliver([each for each in news if self.states.read(each)], self.states)
        return list(self.receiver.sent)


def alert(name: str, status: str = "firing", start: float = 0) -> Received:
    message = AlertMessage(
        status="resolved" if status == "resolved" else "firing",
        fingerprint=name,
        labels={"alertname": name},
        annotations={},
        starts_at=START + timedelta(seconds=start),
        updated_at=START + timedelta(seconds=start + (5 if status == "resolved" else 0)),
    )
    return Received(message, f"{name}{status}{start}", START)


@pytest.mark.asyncio
async def test_silenced_alerts_are_not_sent_and_all_others_are() -> None:
    case = Case()
    case.silence("alertname=A", 60)
    assert await case(alert("A"), alert("B")) == ["B firing"]
    assert case.receiver.shown == ["B"]
    assert case.withholding.resend_seconds == LOOK_SECONDS


@pytest.mark.asyncio
async def test_what_still_fires_when_the_silence_ends_is_sent_then_and_once() -> None:
    case = Case()
    case.silence("alertname=A", 60)
    await case(alert("A"))
    case.clock.seconds = 60
    assert await case() == ["A firing"]
    assert await case() == []
    assert case.withholding.resend_seconds is None
    assert await case(alert("A", "resolved")) == ["A resolved"]


@pytest.mark.asyncio
async def test_what_began_and_ended_in_silence_is_never_sent() -> None:
    case = Case()
    case.silence("alertname=A", 60)
    assert await case(alert("A")) == []
    assert await case(alert("A", "resolved")) == []
    case.clock.seconds = 100
    assert await case() == []
    assert await case(alert("A", start=100)) == ["A firing"]


@pytest.mark.asyncio
async def test_the_end_of_what_was_sent_before_the_silence_is_sent() -> None:
    case = Case()
    assert await case(alert("A")) == ["A firing"]
    case.silence("alertname=A", 60)
    assert await case() == []
    assert case.receiver.shown == []
    assert await case(alert("A", "resolved")) == ["A resolved"]


@pytest.mark.asyncio
async def test_an_expired_silence_lets_go_at_once() -> None:
    case = Case()
    case.silence("alertname=A", 3600)
    await case(alert("A"))
    case.silences = [case.silences[0].expired(START + timedelta(seconds=5))]
    case.clock.seconds = 5
    assert await case() == ["A firing"]


@pytest.mark.asyncio
async def test_a_parked_alert_that_is_silenced_is_not_tried_again_before_the_silence_ends() -> None:
    case = Case()
    await case(alert("A"))
    case.receiver.park(alert("A"))
    case.silence("alertname=A", 60)
    assert await case() == []
    assert case.receiver.parked == []
    case.clock.seconds = 60
    assert await case() == ["A firing"]


@pytest.mark.asyncio
async def test_the_next_process_withholds_what_this_one_did() -> None:
    case = Case()
    case.silence("alertname=A", 60)
    await case(alert("A"), alert("B"))
    after = Case()
    after.states = case.states
    after.withholding.withhold(case.withholding.withheld)
    assert await after() == ["A firing"]  # the silence ended while none ran


def remembered_by(case: Case) -> DeliveryState:
    """A silence as it comes back from Kafka, which takes no more."""
    text = case.withholding.remembered(START).metadata()
    assert len(text) <= 4096
    return DeliveryState.parse(text)


async def next_process(case: Case) -> Case:
    after, remembered = Case(), remembered_by(case)
    after.states, after.silences, after.clock.seconds = case.states, case.silences, case.clock.seconds
    after.withholding.withhold(remembered.withheld, more=remembered.more)
    return after


@pytest.mark.asyncio
async def test_more_than_is_remembered_are_sent_when_their_silence_ends_however_many_processes_there_were() -> None:
    """Thousands of alerts that fire in a silence must not make the receiver miss one."""
    many, case = [f"{number:016x}" for number in range(MOST + 100)], Case()
    case.silence("alertname=~0.*", 60)
    assert await case(*map(alert, many), alert("B")) == ["B firing"]
    for _ in range(2):
        case = await next_process(case)
        assert await case() == ["B firing"], "which may be one of those that are not named"
        assert case.withholding.resend_seconds == LOOK_SECONDS
    case.clock.seconds = 60
    assert sorted(await case()) == [f"{each} firing" for each in many]
    assert await case() == []
    assert not remembered_by(case).more


@pytest.mark.asyncio
async def test_the_end_of_what_may_have_been_sent_is_sent_where_it_is_not_known() -> None:
    many, case = [f"{number:016x}" for number in range(MOST + 1)], Case()
    assert await case(alert("z")) == ["z firing"]
    case.silence("alertname=~[0z].*", 60)
    assert await case(*map(alert, many)) == []
    after = await next_process(case)
    assert await after() == []
    assert await after(alert("z", "resolved")) == ["z resolved"]
    assert await after(alert(many[0], "resolved")) == [], "that one is named"


def test_alertmanager_is_a_receiver_that_can_be_withheld_from() -> None:
    assert SilenceFilter(Alertmanager("http://x")).resend_seconds == Alertmanager("http://x").resend_seconds
