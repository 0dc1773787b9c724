"""A consumer of alerts reads its topic again from leaders that lack messages, and whose clocks are wrong."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, cast

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, OffsetAndMetadata, TopicPartition
from hypothesis import given, settings
from hypothesis import strategies as st

from common.clock import unstepped
from fakes.clock import FakeClock
from ingest.kafka import aiokafka_fixes
from ingest.kafka.publish import BY_BROKER
from profiles import EXAMPLES
from streams.alerting.receivers.alert_states import WITHOUT_NEWS, AlertStates, Received
from streams.alerting.receivers.choose import Receiver
from streams.alerting.receivers.consume import JUDGE_EVERY, SilenceFilter, _AnotherLeader, _Following
from streams.alerting.silences import Silence, matchers
from streams.kafka.messages.alerts import AlertMessage

PARTITION: Final = TopicPartition("alerts", 0)


class Message(NamedTuple):
    offset: int
    timestamp: int
    key: bytes
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    topic: str = PARTITION.topic
    partition: int = PARTITION.partition
    timestamp_type: int = BY_BROKER


class Log:
    """A partition as its leader has it, with times by the clock of that leader."""

    def __init__(self, clock: FakeClock) -> None:
        self.messages: list[Message] = []
        self.leader = object()
        self.behind = timedelta()
        self.committed = OffsetAndMetadata(-1, "")
        self.grown = asyncio.Event()
        self._clock = clock
        self._began: dict[str, datetime] = {}
        """When what fires began, as the worker knows it."""

    def store(self, name: str, status: str = "firing") -> None:
        self._clock.seconds += 1
        at = self._clock.now()
        if status == "resolved" and name not in self._began:
            return
        began = self._began.setdefault(name, at) if status == "firing" else self._began.pop(name)
        alert = AlertMessage(
            status="resolved" if status == "resolved" else "firing",
            fingerprint=name,
            labels={"alertname": name},
            annotations={},
            starts_at=began,
            updated_at=at,
        )
        stored_ms = int((at - self.behind).timestamp() * 1000)
        self.messages.append(Message(len(self.messages), stored_ms, name.encode(), msgspec.json.encode(alert)))
        self.grown.set()

    def elect(self, lacks: int, behind: timedelta = timedelta()) -> None:
        """Another leader lacks the last messages, and its clock is behind."""
        del self.messages[len(self.messages) - lacks :]
        self.leader, self.behind = object(), behind


class Consumer:
    """Reads a log like aiokafka's."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.is_idle = asyncio.Event()
        self._at = 0
        self._highwater: int | None = None

    def assign(self, partitions: Sequence[TopicPartition]) -> None:
        assert list(partitions) == [PARTITION]

    async def seek_to_beginning(self, _: TopicPartition) -> None:
        self._at = 0

    def seek(self, _: TopicPartition, offset: int) -> None:
        self._at = offset

    async def position(self, _: TopicPartition) -> int:
        return self._at

    def highwater(self, _: TopicPartition) -> int | None:
        return self._highwater

    async def end_offsets(self, _: Sequence[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {PARTITION: len(self.log.messages)}

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.log.committed = offsets[PARTITION]

    async def getmany(self, *_: TopicPartition, **__: Any) -> Mapping[TopicPartition, Sequence[Message]]:
        if self._at >= len(self.log.messages):
            self.is_idle.set()
            await self.log.grown.wait()
        self.log.grown.clear()
        self._highwater = len(self.log.messages)
        found, self._at = self.log.messages[self._at :], self._highwater
        return {PARTITION: found} if found else {}


class Reported:
    """A receiver that was told of alerts by one process, or by several after each other."""

    name = "told"
    poster = None
    resend_seconds: float | None = None
    parked: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.log = Log(self.clock)
        self.sent: list[str] = []
        self.shown: list[str] = []
        self.stepped = timedelta()
        """Time by which somebody has set the machine's clock forward."""
        self.unstepped = unstepped(self.clock.clock._replace(now=lambda: self.clock.now() + self.stepped))
        self._reported: AlertStates | None = None
        self.silences: tuple[Silence, ...] = ()
        self._withholding = SilenceFilter(cast("Receiver", self), lambda: self.silences, self.clock.clock)

    def park(self, received: Received) -> None:
        raise AssertionError(received)

    async def deliver(self, news: Sequence[Received], states: AlertStates) -> None:
        self.sent += [f"{each.alert.fingerprint} {each.alert.status}" for each in news]
        self.shown = [each.alert.fingerprint for each in states.firing()]

    def restart(self) -> None:
        """Another process begins."""
        self._reported = None
        self._withholding = SilenceFilter(cast("Receiver", self), lambda: self.silences, self.clock.clock)

    async def all_read(self) -> list[str]:
        """Read all that the log has, as the process does that runs; return what was sent meanwhile."""
        before = len(self.sent)
        for _ in range(3):
            consumer = Consumer(self.log)
            committed = {PARTITION: self.log.committed}
            following = _Following(
                cast("AIOKafkaConsumer", consumer),
                [PARTITION],
                committed,
                self._withholding,
                self._reported,
                self.unstepped,
            )
            running = asyncio.ensure_future(following.run())
            idle = asyncio.ensure_future(consumer.is_idle.wait())
            await asyncio.wait({running, idle}, return_when=asyncio.FIRST_COMPLETED)
            self._reported = following.known_alerts
            idle.cancel()
            if not running.done():
                self.following, self.consumer, self.running = following, consumer, running
                break
            with pytest.raises(_AnotherLeader):
                running.result()
        return self.sent[before:]

    async def goes_on(self) -> list[str]:
        """Let the process that has read all read what came since."""
        before = len(self.sent)
        self.consumer.is_idle.clear()
        self.log.grown.set()
        await self.consumer.is_idle.wait()
        return self.sent[before:]

    async def stop(self) -> None:
        self._reported = self.following.known_alerts
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)


@pytest.fixture(autouse=True)
def _leaders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiokafka_fixes, "leader_connection", lambda consumer, _: consumer.log.leader)


@pytest.fixture
def reported() -> Reported:
    return Reported()


BEHIND: Final = timedelta(minutes=5)


@pytest.mark.asyncio
@pytest.mark.parametrize("running", [True, False], ids=["while it runs", "before it begins"])
@pytest.mark.parametrize("behind", [timedelta(), BEHIND], ids=["a right clock", "a clock that is behind"])
async def test_alerts_stored_by_a_leader_that_lacks_delivered_ones_are_delivered(
    reported: Reported, behind: timedelta, *, running: bool
) -> None:
    await reported.all_read()
    for name in ("A", "B"):
        reported.log.store(name)
    assert await reported.goes_on() == ["A firing", "B firing"]
    await reported.stop()
    if not running:
        reported.restart()
    reported.log.elect(lacks=1, behind=behind)
    reported.log.store("C")
    found = await reported.all_read()
    assert "C firing" in found
    if running or not behind:
        assert found == ["C firing"]
    await reported.stop()


@pytest.mark.asyncio
async def test_a_delivered_resolve_that_a_new_leader_lacks_does_not_fire_again(reported: Reported) -> None:
    await reported.all_read()
    reported.log.store("A")
    reported.log.store("A", "resolved")
    assert await reported.goes_on() == ["A firing", "A resolved"]
    await reported.stop()
    reported.log.elect(lacks=1)
    reported.log.store("B")
    assert await reported.all_read() == ["B firing"]
    assert reported.shown == ["B"]
    await reported.stop()


@pytest.mark.asyncio
async def test_a_firing_alert_that_a_leader_lacks_stays_and_its_end_is_delivered(reported: Reported) -> None:
    await reported.all_read()
    reported.log.store("A")
    assert await reported.goes_on() == ["A firing"]
    await reported.stop()
    reported.log.elect(lacks=1)
    reported.log.store("B")
    assert await reported.all_read() == ["B firing"]
    assert reported.shown == ["A", "B"]
    reported.log.store("A", "resolved")
    assert await reported.goes_on() == ["A resolved"]
    await reported.stop()


@pytest.mark.asyncio
async def test_a_leaders_slow_clock_does_not_end_firing_alerts_as_unknown(reported: Reported) -> None:
    reported.log.behind = 2 * WITHOUT_NEWS
    reported.log.store("before")
    await reported.all_read()
    reported.log.store("A")
    assert await reported.goes_on() == ["A firing"]
    reported.clock.seconds += JUDGE_EVERY.total_seconds()
    assert "A resolved" not in await reported.goes_on()
    await reported.stop()
    reported.restart()
    reported.clock.seconds += JUDGE_EVERY.total_seconds()
    assert await reported.all_read() == []
    reported.log.store("A", "resolved")
    assert await reported.goes_on() == ["A resolved"]
    await reported.stop()


@pytest.mark.asyncio
async def test_what_fires_is_not_without_news_because_the_machines_clock_is_set_forward(reported: Reported) -> None:
    await reported.all_read()
    reported.log.store("A")
    assert await reported.goes_on() == ["A firing"]
    reported.stepped = 2 * WITHOUT_NEWS
    reported.clock.seconds += JUDGE_EVERY.total_seconds()
    assert await reported.goes_on() == []
    reported.clock.seconds += WITHOUT_NEWS.total_seconds()
    assert await reported.goes_on() == ["A resolved"]
    await reported.stop()


@pytest.mark.asyncio
async def test_what_was_withheld_is_sent_after_its_silence_also_if_that_was_not_committed(reported: Reported) -> None:
    await reported.all_read()
    at = reported.clock.now()
    reported.silences = (Silence("a", matchers(["alertname=A"]), at, at + BEHIND, "ana", "why", at),)
    committed = reported.log.committed
    reported.log.store("A")
    assert await reported.goes_on() == []
    await reported.stop()
    reported.log.committed = committed
    assert await reported.all_read() == []
    reported.silences = ()
    reported.log.store("B")
    assert sorted(await reported.goes_on()) == ["A firing", "B firing"]
    await reported.stop()


@pytest.mark.asyncio
async def test_a_withdrawn_alert_is_not_sent_again_by_a_leader_that_lost_the_withdrawal(reported: Reported) -> None:
    await reported.all_read()
    for status in ("firing", "resolved"):
        reported.log.store("A", status)
    assert await reported.goes_on() == ["A firing", "A resolved"]
    reported.log.messages.append(reported.log.messages[-1]._replace(offset=2, value=None))
    assert await reported.goes_on() == []
    await reported.stop()
    reported.log.elect(lacks=1)
    reported.log.store("B")
    assert await reported.all_read() == ["B firing"]
    await reported.stop()


Step = tuple[str, str, int]


async def _follow(reported: Reported, steps: Sequence[Step]) -> None:
    await reported.all_read()
    for what, name, number in steps:
        if what == "elect":
            await reported.stop()
            reported.log.elect(min(number, len(reported.log.messages)), timedelta(seconds=number * 50 - 100))
            await reported.all_read()
        else:
            reported.log.store(name, what)
            await reported.goes_on()
    await reported.stop()
    last: dict[str, str] = {}
    for each in reported.log.messages:
        alert = msgspec.json.decode(each.value or b"", type=AlertMessage)
        last[alert.fingerprint] = f"{alert.fingerprint} {alert.status}"
    for name, wanted in last.items():
        assert any(each == wanted for each in reported.sent if each.startswith(f"{name} "))


@settings(max_examples=EXAMPLES)
@given(
    st.lists(
        st.tuples(st.sampled_from(["firing", "resolved", "elect"]), st.sampled_from("ABC"), st.integers(0, 4)),
        max_size=15,
    )
)
def test_everything_in_the_topic_is_delivered_despite_leader_changes_and_clocks(
    steps: list[Step],
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aiokafka_fixes, "leader_connection", lambda consumer, _: consumer.log.leader)
        asyncio.run(_follow(Reported(), steps))
