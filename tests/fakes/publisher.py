"""A Publisher whose Kafka acknowledges at once, and that remembers what it was sent."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple


class Sent(NamedTuple):
    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]


class Recorded:
    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.flushed: list[int] = []
        """Number of messages sent before each flush."""

    async def send(
        self, topic: str, key: bytes, value: bytes, headers: Sequence[tuple[str, bytes]] = ()
    ) -> asyncio.Future[None]:
        self.sent.append(Sent(topic, key, value, list(headers)))
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def flush(self) -> None:
        self.flushed.append(len(self.sent))
