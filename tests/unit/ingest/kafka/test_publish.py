"""A publisher that cannot go on: it says why, takes nothing more, and ends the block that it is used in."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import certifi
import pytest
import uvloop
from aiokafka.errors import KafkaError

from common.errors import FilesUnusable
from common.telemetry import why_not
from common.tls import RotatingContext
from ingest.kafka import aiokafka_fixes
from ingest.kafka.publish import MAX_NUMBERED, SENT, Publisher, PublisherEnded, _Numbers
from waiting import PATIENCE_SECONDS, until


def test_a_briefly_empty_ca_file_ends_the_publisher_with_a_reason(tmp_path: Path) -> None:
    ca = tmp_path / "ca.crt"
    ca.write_text(Path(certifi.where()).read_text())
    options = {"security_protocol": "SSL", "ssl_context": RotatingContext.of(ca, None, None)}
    ca.write_text("")
    reasons: list[str] = []

    async def publish() -> None:
        # what a connection can be opened to; it is no Kafka, and need not be one
        async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0) as server:
            address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with asyncio.timeout(PATIENCE_SECONDS), Publisher(address, options) as publisher:
                try:
                    await asyncio.Event().wait()
                finally:
                    reasons.extend(why_not())
                    with pytest.raises(PublisherEnded, match="publishing to Kafka has ended"):
                        await publisher.send("topic", b"key", b"value")

    with pytest.raises(FilesUnusable, match=r"ca_file: .*/ca\.crt cannot be used"):
        uvloop.run(publish())
    assert any("publishing to Kafka has ended" in each and "ca.crt" in each for each in reasons)


def test_a_keys_numbers_rise_and_never_repeat_even_after_it_was_forgotten() -> None:
    numbers = _Numbers()
    assert [numbers.next("t", b"a") for _ in range(3)] == [1, 2, 3]
    assert numbers.next("other", b"a") == 1
    for number in range(MAX_NUMBERED):
        numbers.next("t", b"%d" % number)
    assert numbers.next("t", b"a") == 4
    assert numbers.next("t", b"a") == 5
    assert len(numbers._last) == MAX_NUMBERED


@pytest.mark.asyncio
async def test_a_message_whose_partition_is_given_has_no_number_and_nothing_of_its_key_is_kept() -> None:
    """The keys of states are ever new."""
    publisher: Any = Publisher("127.0.0.1:1")
    for number in range(3):
        await publisher.send("changelog", b"%d" % number, b"v", partition=0)
    await publisher.send("nodes", b"c/n", b"v")
    sent = [[name for name, _ in message.headers] for message in publisher._unacknowledged.values()]
    assert sent == [[], [], [], [SENT]]
    assert list(publisher._numbers._last) == [("nodes", b"c/n")]


class Wire:
    """A producer of which each message waits until a test lets Kafka acknowledge it."""

    def __init__(self, sent: list[bytes]) -> None:
        self.sent = sent
        self.waiting: dict[bytes, asyncio.Future[Any]] = {}
        self.topics: set[str] | None = None
        self.client = self

    async def set_topics(self, topics: set[str]) -> None:
        assert not self.waiting
        self.topics = topics

    async def start(self) -> None: ...

    async def partitions_for(self, _: str) -> set[int]:
        return {0}

    async def send(self, _topic: str, value: bytes, *_: object, **__: object) -> asyncio.Future[Any]:
        self.sent.append(value)
        self.waiting[value] = asyncio.get_running_loop().create_future()
        return self.waiting[value]

    def acknowledge(self, value: bytes) -> None:
        self.waiting.pop(value).set_result(SimpleNamespace(timestamp_type=0))


@pytest.fixture
def wires(monkeypatch: pytest.MonkeyPatch) -> list[Wire]:
    """Each producer that a publisher has begun; they share what was sent."""
    made: list[Wire] = []

    def make(**_: object) -> Wire:
        made.append(Wire(made[-1].sent if made else []))
        return made[-1]

    async def discard(*_: object) -> None: ...

    async def failure(_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("ingest.kafka.publish.AIOKafkaProducer", make)
    monkeypatch.setattr("ingest.kafka.publish.FIRST_BACKOFF_SECONDS", 0.0)
    for fake in (discard, failure):
        monkeypatch.setattr(aiokafka_fixes, fake.__name__, fake)
    monkeypatch.setattr(aiokafka_fixes, "hand_on", lambda _: None)
    return made


async def _turns() -> None:
    """Let everything happen that waits for nothing from outside."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.asyncio
async def test_a_message_is_sent_once_kafka_has_everything_before_it(wires: list[Wire]) -> None:
    """Messages after it do not keep it back, and it keeps back none of them."""
    async with Publisher("") as publisher:
        await _turns()
        for value in (b"node 1", b"node 2"):
            await publisher.send("nodes", value, value)
        reported = await publisher.send("cluster", b"c", b"after 2", follows=True)
        await publisher.send("nodes", b"node 3", b"node 3")
        await publisher.send("cluster", b"c", b"after 3", follows=True)
        [wire] = wires
        assert wire.sent == [b"node 1", b"node 2", b"node 3"]
        wire.acknowledge(b"node 2")
        await _turns()
        assert wire.sent[3:] == []
        wire.acknowledge(b"node 1")
        await _turns()
        assert wire.sent[3:] == [b"after 2"]
        wire.acknowledge(b"node 3")
        await _turns()
        assert wire.sent[3:] == [b"after 2", b"after 3"]
        assert not reported.done()
        for value in (b"after 2", b"after 3"):
            wire.acknowledge(value)
        await publisher.flush()
        await publisher.send("cluster", b"c", b"alone", follows=True)
        assert wire.sent[5:] == [b"alone"], "nothing is before it"


@pytest.mark.asyncio
async def test_a_message_also_waits_for_messages_that_another_producer_repeats(wires: list[Wire]) -> None:
    async with Publisher("") as publisher:
        await _turns()
        await publisher.send("nodes", b"n", b"node 1")
        await publisher.send("cluster", b"c", b"after 1", follows=True)
        wires[0].waiting[b"node 1"].set_exception(KafkaError("refused"))
        await until(lambda: len(wires) == 2 and bool(wires[1].waiting))
        assert wires[1].sent == [b"node 1", b"node 1"]
        wires[1].acknowledge(b"node 1")
        await _turns()
        wires[1].waiting[b"after 1"].set_exception(KafkaError("refused"))
        await until(lambda: len(wires) == 3 and bool(wires[2].waiting))
        assert wires[2].sent[2:] == [b"after 1", b"after 1"]


@pytest.mark.asyncio
@pytest.mark.parametrize("waits_in", ["the producer", "line"])
async def test_a_cancelled_send_blocks_no_later_message(
    wires: list[Wire], monkeypatch: pytest.MonkeyPatch, waits_in: str
) -> None:
    """A watcher that loses its Lease while the producer has no room for a message may lead again."""

    async def has_no_room(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    async with Publisher("", limit=2) as publisher:
        await _turns()
        with monkeypatch.context() as patched:
            patched.setattr(wires[0], "send", has_no_room)
            given_up = [asyncio.create_task(publisher.send("nodes", b"n", b"lost"))]
            if waits_in == "line":
                await _turns()
                given_up.insert(0, asyncio.create_task(publisher.send("nodes", b"n", b"lost too")))
            await _turns()
            for each in given_up:
                each.cancel()
                await asyncio.wait([each])
        for value in (b"1", b"2"):
            await publisher.send("cluster", b"c", value, follows=True)
        assert wires[0].sent == [b"1", b"2"]


@pytest.mark.asyncio
async def test_a_new_producer_learns_the_leaders_of_all_topics_before_it_sends(wires: list[Wire]) -> None:
    """Regression: what Kafka refused again ended each new producer before the other topics' messages were sent."""
    async with Publisher("") as publisher:
        await _turns()
        for topic in ("refuses", "takes"):
            await publisher.send(topic, b"k", b"v")
        publisher._break(wires[0], KafkaError("refused"))  # type: ignore[arg-type]
        await until(lambda: len(wires) == 2)
        await _turns()
        assert wires[1].topics == {"refuses", "takes"}
        assert wires[1].waiting
        wires[1].acknowledge(b"v")
        publisher._unacknowledged.clear()
