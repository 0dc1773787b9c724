"""Time and randomness for the live sources, so that a test controls both, and how far a server's clock is off."""

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import structlog
from prometheus_client import Gauge

from common.durations import in_words


class Instant(NamedTuple):
    """One moment, by the monotonic clock and by the wall clock."""

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
        """Return the seconds by the faster clock: the monotonic one stands still while the machine is suspended."""
        return max(self.monotonic() - earlier.monotonic, (self.now() - earlier.now).total_seconds())


def _utc_now() -> datetime:
    return datetime.now(UTC)


SYSTEM: Final = Clock(now=_utc_now, monotonic=time.monotonic, sleep=asyncio.sleep, random=random.random)


async def steadily(interval_seconds: float, work: Callable[[], Awaitable[None]], clock: Clock = SYSTEM) -> None:
    """Do the work once an interval until cancelled; work that takes longer skips the intervals that it overlaps."""
    while True:
        began = clock.monotonic()
        await work()
        spent = clock.monotonic() - began
        await clock.sleep(interval_seconds - spent % interval_seconds)


TOLERATED: Final = timedelta(seconds=5)
"""An HTTP date has whole seconds, and an answer takes its time."""
MEND: Final = "timedatectl status, and chronyc tracking, on both machines"
LOG_SECONDS: Final = 600.0
"""Shortest time between two log lines about a skew."""
SECONDS: Final = Gauge(
    "leadsman_clock_skew_seconds", "How far this machine's clock is ahead of a server's, at least", ["server"]
)
log = structlog.get_logger(__name__)


class Skew:
    """Measures the skew against one kind of server, and logs one above TOLERATED every LOG_SECONDS at most."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._next_log = -math.inf

    def measure(self, asked_at: datetime, there: datetime, answered_at: datetime) -> None:
        """Compare a server's own time with this clock's times of the request and of the answer."""
        ahead = max(asked_at - there, timedelta()) or min(answered_at - there, timedelta())
        SECONDS.labels(self._server).set(ahead.total_seconds())
        if abs(ahead) > TOLERATED and SYSTEM.monotonic() >= self._next_log:
            self._next_log = SYSTEM.monotonic() + LOG_SECONDS
            log.warning(
                "the clocks differ: times and silences are wrong by that",
                server=self._server,
                this_machine=f"{in_words(abs(ahead).total_seconds())} {'ahead' if ahead > timedelta() else 'behind'}",
                mend=MEND,
            )
