"""Time and randomness for the live sources, so that a test controls both."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Final, NamedTuple


class Clock(NamedTuple):
    now: Callable[[], datetime]
    """Aware UTC: the `ts` of an observation."""
    monotonic: Callable[[], float]
    """Seconds, for durations."""
    sleep: Callable[[float], Awaitable[None]]
    """Seconds."""
    random: Callable[[], float]
    """0 <= x < 1."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


SYSTEM: Final = Clock(now=_utc_now, monotonic=time.monotonic, sleep=asyncio.sleep, random=random.random)
