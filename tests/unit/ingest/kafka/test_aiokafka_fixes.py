"""Stopping a consumer whose background task died, and being stopped oneself."""

import asyncio
from typing import Any

import pytest

from ingest.kafka import aiokafka_fixes

pytestmark = pytest.mark.asyncio


class Client:
    def __init__(self) -> None:
        self._sync_task: asyncio.Task[None] | None = None
        self.closed = False

    async def close(self) -> None:
        self.closed = True


class Broken:
    """A consumer whose `stop` raises what ended its background task, or waits."""

    def __init__(self, error: BaseException | None) -> None:
        self._client = Client()
        self._error = error
        self.stopping = asyncio.Event()

    async def stop(self) -> None:
        self.stopping.set()
        if self._error is not None:
            raise self._error
        await asyncio.Event().wait()


@pytest.mark.parametrize("error", [ValueError("an empty CA file"), asyncio.CancelledError()])
async def test_what_ended_a_background_task_does_not_replace_the_reason_to_stop(error: BaseException) -> None:
    consumer: Any = Broken(error)
    with pytest.raises(RuntimeError, match="the reason"):  # noqa: PT012  # as a `finally` of ours does
        try:
            raise RuntimeError("the reason")
        finally:
            await aiokafka_fixes.stop(consumer)
    assert consumer._client.closed


async def test_a_cancellation_of_ours_goes_on() -> None:
    consumer: Any = Broken(None)
    stopping = asyncio.create_task(aiokafka_fixes.stop(consumer))
    await consumer.stopping.wait()
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert consumer._client.closed


async def test_a_consumer_that_never_stops_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiokafka_fixes, "STOP_SECONDS", 0.01)
    consumer: Any = Broken(None)
    await aiokafka_fixes.stop(consumer)
    assert consumer._client.closed
