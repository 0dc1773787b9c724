"""How a lander ends."""

import asyncio
from typing import Any

import pytest

from ingest.kafka import aiokafka_fixes
from streams.kafka.landing import consumer
from streams.kafka.landing.consumer import Landing


class Client:
    """Of a Kafka that does nothing."""

    def __init__(self, **_: object) -> None: ...

    def assignment(self) -> None: ...

    def subscribe(self, *_: object, **__: object) -> None: ...

    async def start(self) -> None: ...

    async def close(self) -> None: ...


async def _nothing(*_: object) -> None: ...


@pytest.mark.asyncio
async def test_what_kafka_does_not_answer_in_time_is_no_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ended with status 0, and with a sentence about an insert."""
    monkeypatch.setattr(consumer, "AIOKafkaConsumer", Client)
    monkeypatch.setattr(consumer, "AIOKafkaAdminClient", Client)
    landing: Any = Landing(["t"], "127.0.0.1:1", lambda _: None, group="g")
    monkeypatch.setattr(aiokafka_fixes, "failure", _nothing)
    monkeypatch.setattr(aiokafka_fixes, "stop", _nothing)
    monkeypatch.setattr(landing._retention, "run", _nothing)

    async def late(_: asyncio.Event) -> None:
        raise TimeoutError

    monkeypatch.setattr(landing, "_land_until", late)
    with pytest.raises(TimeoutError):
        await landing.run(asyncio.Event())
