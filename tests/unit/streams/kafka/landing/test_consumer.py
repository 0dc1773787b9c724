"""A lander ends in several ways."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from common.errors import FilesUnusable
from common.tls import RotatingPassword
from ingest.kafka import aiokafka_fixes
from streams.kafka.landing import consumer
from streams.kafka.landing.consumer import Landing
from streams.kafka.landing.resume import Landed


class Client:
    """A lander of a Kafka that does nothing."""

    def __init__(self, **_: object) -> None: ...

    def assignment(self) -> None: ...

    def subscribe(self, *_: object, **__: object) -> None: ...

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    async def describe_cluster(self) -> dict[str, str]:
        return {"cluster_id": "k"}


class Nowhere:
    """A store that nothing is stored in."""

    def __call__(self, *_: object) -> None: ...

    def landed(self, _: str) -> dict[TopicPartition, Landed]:
        return {}

    def resume_from(self, _: Mapping[TopicPartition, Landed]) -> None: ...


async def _nothing(*_: object) -> None: ...


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Makes a lander that ends with an error."""
    monkeypatch.setattr(consumer, "AIOKafkaConsumer", Client)
    monkeypatch.setattr(consumer, "AIOKafkaAdminClient", Client)
    monkeypatch.setattr(aiokafka_fixes, "failure", _nothing)
    monkeypatch.setattr(aiokafka_fixes, "stop", _nothing)
    monkeypatch.setattr(aiokafka_fixes, "hand_on", lambda _: None)

    def make(error: Exception, **client_options: object) -> Any:
        landing: Any = Landing(["t"], "127.0.0.1:1", Nowhere(), group="g", client_options=client_options)
        monkeypatch.setattr(landing._retention, "run", _nothing)

        async def fails(_: asyncio.Event) -> None:
            raise error

        monkeypatch.setattr(landing, "_land_until", fails)
        return landing

    return make


TP = TopicPartition("t", 0)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("then", "offsets", "is_known"),
    [("leader 1", [1], True), ("leader 2", [1], False), (None, [1], False), (None, [], True)],
)
async def test_messages_are_accepted_only_over_the_connection_of_earlier_ones(
    ending: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    then: object,
    offsets: Sequence[int],
    is_known: bool,
) -> None:
    """Nobody knows the leader that sent messages over a connection that is gone: it may have another log."""
    landing = ending(KafkaError())
    landing.assigned({TP})
    landing._unknown, landing._known = set(), {TP}
    landing._arrivals.start(TP, 0, 0)
    for connection, brought in (("leader 1", [0]), (then, offsets)):
        records = [
            SimpleNamespace(**TP._asdict(), offset=each, timestamp=1, key=b"k", value=b"v", headers=())
            for each in brought
        ]

        async def getmany(records: Any = records, **_: object) -> dict[TopicPartition, Any]:
            return {TP: records}

        monkeypatch.setattr(landing._consumer, "getmany", getmany, raising=False)
        monkeypatch.setattr(aiokafka_fixes, "leader_connection", lambda *_, connection=connection: connection)
        await landing._receive()
    assert (TP in landing._known, TP in landing._unknown) == (is_known, not is_known)
    assert landing._received[TP].end == 1 + (is_known and len(offsets))


@pytest.mark.asyncio
async def test_a_kafka_timeout_does_not_stop_the_lander(ending: Callable[..., Any]) -> None:
    """It ended with status 0, and with a sentence about an insert."""
    with pytest.raises(TimeoutError):
        await ending(TimeoutError()).run(asyncio.Event())


@pytest.mark.asyncio
async def test_an_unusable_file_is_reported_as_the_cause_of_a_kafka_failure(
    ending: Callable[..., Any], tmp_path: Path
) -> None:
    """A copy of what ended a task of aiokafka, which has no cause, sometimes came before what ended it."""
    file = tmp_path / "password"
    file.touch(0o600)
    file.write_text("canary")
    landing = ending(KafkaError("Unexpected error"), sasl_plain_password=RotatingPassword.of(file))
    with pytest.raises(KafkaError):
        await landing.run(asyncio.Event())
    file.write_text("")
    with pytest.raises(FilesUnusable, match=r"password_file: .* is empty"):
        await landing.run(asyncio.Event())
