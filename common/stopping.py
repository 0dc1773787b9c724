"""How work that goes on for ever is ended: by SIGTERM, SIGINT, or when its time is over."""

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Final

from common.tasks import tasks

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
    """Run the work until it ends, `stop` is set, or the seconds are over; then it is cancelled and has ended.

    Raises what the work raises.
    """
    async with tasks() as begin:
        await asyncio.wait({begin(work), begin(stop.wait())}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
