"""Time and randomness for the live sources, so that a test controls both."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple


class Instant(NamedTuple):
    """The same time by the monotonic clock and by the wall clock."""

    monotonic: float
    now: datetime


class Clock(NamedTuple):
    now: Callable[[], datetime]
    """Aware UTC: the `ts` of an observation."""
    monotonic: Callable[[], float]
    """Seconds, for durations."""
    sleep: Callable[[float], Awaitable[None]]
    """Seconds."""
    random: Callable[[], float]
    """0 <= x < 1."""

    def instant(self) -> Instant:
        return Instant(self.monotonic(), self.now())

    def seconds_since(self, earlier: Instant) -> float:
        """Return the seconds by the faster clock, because the monotonic clock stops while the machine is
        suspended.
        """
        return max(self.monotonic() - earlier.monotonic, (self.now() - earlier.now).total_seconds())


SYSTEM: Final = Clock(
    now=lambda: datetime.now(UTC), monotonic=time.monotonic, sleep=asyncio.sleep, random=random.random
)


def unstepped(clock: Clock = SYSTEM) -> Clock:
    """Return a clock whose wall clock continues from now, even if the machine's clock is set."""
    began = clock.instant()
    return clock._replace(now=lambda: began.now + timedelta(seconds=clock.monotonic() - began.monotonic))


async def steadily(interval_seconds: float, work: Callable[[], Awaitable[None]], clock: Clock = SYSTEM) -> None:
    """Do the work once each interval until cancelled. Work that takes longer skips the intervals that it overlaps."""
    while True:
        began = clock.monotonic()
        await work()
        spent = clock.monotonic() - began
        await clock.sleep(interval_seconds - spent % interval_seconds)
