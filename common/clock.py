"""Time and randomness for the live sources, so that a test controls both."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping
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


class Backoff:
    """Waits that double from `initial_seconds` to `limit_seconds`, each times a random 1 to 1 + `jitter`.

    They start again after `reset_seconds` without a failure, as client-go's reflector does (delivery.md#watching).
    """

    def __init__(
        self,
        clock: Clock,
        *,
        initial_seconds: float = 0.8,
        limit_seconds: float = 30.0,
        reset_seconds: float = 120.0,
        jitter: float = 1.0,
    ) -> None:
        self._clock = clock
        self._initial_seconds = initial_seconds
        self._limit_seconds = limit_seconds
        self._reset_seconds = reset_seconds
        self._jitter = jitter
        self._next_seconds = initial_seconds
        self._healthy_since = clock.monotonic()

    def next_seconds(self) -> float:
        now = self._clock.monotonic()
        if now - self._healthy_since > self._reset_seconds:
            self._next_seconds = self._initial_seconds
        base = self._next_seconds
        self._next_seconds = min(base * 2, self._limit_seconds)
        wait = base * (1 + self._jitter * self._clock.random())
        self._healthy_since = now + wait
        return wait

    def reset(self) -> None:
        self._next_seconds = self._initial_seconds

    async def wait(self, at_least_seconds: float = 0.0) -> None:
        """Sleep for the next delay, or longer if the server asked for that."""
        await self._clock.sleep(max(self.next_seconds(), at_least_seconds))


def retry_after_seconds(headers: Mapping[str, str]) -> float:
    """Return the seconds that a server asks to wait; 0 if it does not, or asks for a date."""
    text = headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() else 0.0
