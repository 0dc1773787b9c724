"""A clock that a test moves; sleeping takes no time."""

import asyncio
from datetime import UTC, datetime, timedelta

from common.clock import SYSTEM, Clock

START = datetime(2026, 1, 1, tzinfo=UTC)


def hurried(longest_seconds: float = 0.01) -> Clock:
    """The system's clock, but no sleep of it is longer than this: what is asked for again and again is soon asked."""
    return SYSTEM._replace(sleep=lambda seconds: asyncio.sleep(min(seconds, longest_seconds)))


class FakeClock:
    def __init__(self, chance: float = 0.0) -> None:
        self.seconds = 0.0
        self.slept: list[float] = []
        self.chance = chance

    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds
        await asyncio.sleep(0)

    def random(self) -> float:
        return self.chance

    @property
    def clock(self) -> Clock:
        return Clock(self.now, self.monotonic, self.sleep, self.random)
