"""A Publisher whose Kafka acknowledges at once, and that remembers what it was sent."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Sent(NamedTuple):
    topic: str
    key: bytes
    value: bytes
    headers: list[tuple[str, bytes]]
    follows: bool


class Recorded:
    def __init__(self) -> None:
        self.sent: list[Sent] = []
        self.dead_letters: Counter[str] = Counter()

    async def send(
        self,
        topic: str,
        key: bytes,
        value: bytes,
        headers: Sequence[tuple[str, bytes]] = (),
        *,
        follows: bool = False,
    ) -> asyncio.Future[None]:
        self.sent.append(Sent(topic, key, value, list(headers), follows))
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def flush(self) -> None:
        """Return at once."""
