"""Ends the queries of one task from another thread."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import Any, Final
from uuid import uuid4

from sql.database.errors import DatabaseError

KILL: Final = "KILL QUERY WHERE Settings['log_comment'] = {name:String} ASYNC"
ENDS_BY_ITSELF_SECONDS: Final = 0.2
"""Grace period for abandoned queries, after which they are killed."""


class Stop:
    """Stops one task. Its queries have a name by which the running one can be killed."""

    def __init__(self) -> None:
        self.name = f"leadsman-{uuid4().hex}"
        self._over = Event()

    @property
    def is_set(self) -> bool:
        return self._over.is_set()

    def set(self) -> None:
        """Prevent further queries of this task."""
        self._over.set()


async def end(stop: Stop, running: "asyncio.Future[Any]", kill: Callable[[], None]) -> None:
    """Stop the task, and call `kill` on the query that it waits for, until its thread has ended."""
    stop.set()
    await asyncio.wait({running}, timeout=ENDS_BY_ITSELF_SECONDS)
    while not running.done():
        with suppress(DatabaseError):
            await asyncio.to_thread(kill)
        await asyncio.wait({running}, timeout=ENDS_BY_ITSELF_SECONDS)
    if not running.cancelled():
        running.exception()  # otherwise asyncio logs it, because nothing awaits it
