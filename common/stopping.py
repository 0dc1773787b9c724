"""Stops endless work at SIGTERM or SIGINT, or when its time is up."""

import asyncio
import signal
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

from common.tasks import Tasks

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_on_signals() -> Iterator[asyncio.Event]:
    """Give an event that SIGTERM and SIGINT set instead of ending the process; for the main thread's running loop."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


async def run_until(stop: asyncio.Event, work: Coroutine[Any, Any, None], *, seconds: float | None = None) -> None:
    """Run the work until it ends, `stop` is set, or the time is up; it has ended, or was cancelled, on return.

    Raises what the work raises.
    """
    async with Tasks() as begin:
        await asyncio.wait({begin(work), begin(stop.wait())}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


@asynccontextmanager
async def grace(stop: asyncio.Event, seconds: float) -> AsyncIterator[None]:
    """A block that must end within this time once `stop` is set; raises TimeoutError if it does not."""
    async with asyncio.timeout(None) as limit, Tasks() as begin:

        async def set_limit() -> None:
            await stop.wait()
            limit.reschedule(asyncio.get_running_loop().time() + seconds)

        begin(set_limit())
        yield
