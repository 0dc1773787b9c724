"""Waiting for what another process, thread or task brings about: a test names the condition, and guesses no time."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import Final

POLL_SECONDS: Final = 0.05
SELDOM_SECONDS: Final = 2.0
PATIENCE_SECONDS: Final = 300.0
"""Only what fails waits for so long."""
LOOPS: Final = 5_000_000
LOOP_SECONDS: Final = 0.1
"""Time of so many loops with nothing else on the machine."""


class NotReady(RuntimeError):
    """A condition did not hold in time, or a component exited before it did; the message has the end of its log."""


def unhurried(seconds: float) -> float:
    """Seconds promised for a machine with nothing else to do, scaled to this one: by the load of the last minute, and
    by how much longer a loop takes than on the machine that the promises were measured on.
    """
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    return seconds * max(1.0, load, _loop_seconds() / LOOP_SECONDS)


def _loop_seconds() -> float:
    began = time.perf_counter()
    for _ in range(LOOPS):
        pass
    return time.perf_counter() - began


def holds_in_time(
    holds: Callable[[], object], timeout_seconds: float = PATIENCE_SECONDS, every_seconds: float = POLL_SECONDS
) -> bool:
    """Wait until `holds()` is true, and return whether it became so within the time. The check takes at most a tenth
    of the time, so that the rest has the machine, and runs at least every two seconds or `every_seconds`.
    """
    deadline = time.monotonic() + timeout_seconds
    while True:
        began = time.monotonic()
        if holds():
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(max(every_seconds, min(9 * (time.monotonic() - began), SELDOM_SECONDS)))


def eventually(
    what: str,
    holds: Callable[[], object],
    timeout_seconds: float = PATIENCE_SECONDS,
    every_seconds: float = POLL_SECONDS,
) -> None:
    """Return when `holds()` is true; NotReady naming `what` when the time is over."""
    if not holds_in_time(holds, timeout_seconds, every_seconds):
        raise NotReady(f"not within {timeout_seconds:.0f} s: {what}")


async def until(holds: Callable[[], object | Awaitable[object]], timeout_seconds: float = PATIENCE_SECONDS) -> None:
    """The same for tasks of the running loop, with a condition that may be awaited; TimeoutError."""
    async with asyncio.timeout(timeout_seconds):
        while not await _answer(holds()):  # noqa: ASYNC110  # an event of this loop cannot tell of another process
            await asyncio.sleep(POLL_SECONDS / 5)


async def _answer(given: object | Awaitable[object]) -> object:
    return await given if isinstance(given, Awaitable) else given


def lasting(seconds: float) -> None:
    """Let a fault last, or choose the moment of an attack: there the time itself is what is tested."""
    time.sleep(seconds)
