"""Updates live pages: one query for all clients finds changes, and each client is notified."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from aiohttp import web

from common.tasks import detached
from leadsman.web.reading.ask import rows
from sql.database.open import Database

EVERY_SECONDS: Final = 5.0
MOST_READERS: Final = 200
PATIENCE_SECONDS: Final = 20.0
"""Time for which a client may read nothing, or the database may not answer."""
MOST_ID: Final = 40
"""Number of characters of a mark."""


def read_marks(db: Database) -> dict[str, str]:
    """Return a mark for each cluster, which changes when the content of its pages changes. Raises DatabaseError."""
    return {row["cluster"]: row["mark"] for row in rows(db, "pulse", {})}


class Pulse:
    """Queries the marks while there are clients, and sends each client marks that it has not seen."""

    def __init__(self, read: Callable[[], Awaitable[Mapping[str, str] | None]], every: float = EVERY_SECONDS) -> None:
        self._read = read
        self._every = every
        self.readers = 0
        self._asking: asyncio.Task[None] | None = None
        self._answered = asyncio.Event()
        self._closed = False
        self.marks: Mapping[str, str] | None = None
        """None while the database does not answer, or nobody reads."""

    @property
    def full(self) -> bool:
        return self._closed or self.readers >= MOST_READERS

    async def send(self, response: web.StreamResponse, cluster: str, seen: str) -> None:
        """Send server-sent events until the client disconnects or `close`; `seen` is the client's mark, empty for
        none. `changed` has the new mark as its id, `same` is a heartbeat, and `down` means that the database does not
        answer.
        """
        self.readers += 1
        if self._asking is None:
            self._asking = detached(self._ask())
        try:
            known = self.marks is not None
            while known or await self._next():
                mark = None if self.marks is None else self.marks.get(cluster, "none")
                event = "down" if mark is None else "same" if mark == seen else "changed"
                await asyncio.wait_for(response.write(_event(event, mark)), PATIENCE_SECONDS)
                seen, known = mark or seen, False
        finally:
            self.readers -= 1
            if not self.readers:
                self._asking.cancel()
                self._asking, self.marks = None, None

    def close(self) -> None:
        """End every client's connection."""
        self._closed = True
        self._answered.set()

    async def _next(self) -> bool:
        """Wait until the database was queried again, or does not answer; return False once this is closed."""
        try:
            await asyncio.wait_for(self._answered.wait(), PATIENCE_SECONDS)
        except TimeoutError:
            self.marks = None
        return not self._closed

    async def _ask(self) -> None:
        while True:
            self.marks = await self._read()
            answered, self._answered = self._answered, asyncio.Event()
            answered.set()
            await asyncio.sleep(self._every)


def _event(name: str, mark: str | None) -> bytes:
    identified = "" if mark is None else f"id: {mark}\n"
    return f"event: {name}\n{identified}data: {name}\n\n".encode()
