"""Tells whether this worker is certainly still a member of its group.

Messages of a former member would come after its successor's, and the last row or alert of a key counts. So a worker
sends nothing once its session may be over, until the group has confirmed its membership. It ends if the group has
expelled it.
"""

import asyncio
from typing import Final

from common.clock import SYSTEM, Clock, Instant
from common.errors import KafkaUnusable

SURE: Final = 0.8
"""Part of a session for which a confirmation is valid: a message sent at its end still arrives before the session
ends.
"""
POLL_SECONDS: Final = 0.05


class MembershipLost(KafkaUnusable):
    """Another worker has the partitions."""


class Membership:
    """Tracks the group's answers about this member, which another thread delivers."""

    def __init__(self, session_seconds: float, clock: Clock = SYSTEM) -> None:
        self._sure_seconds = session_seconds * SURE
        self._clock = clock
        self._confirmed: Instant | None = None
        self._is_over = False
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop in which `ending` waits."""
        self._over = asyncio.Event()

    def confirm(self, asked_at: Instant) -> None:
        """Record that the group has answered that this is a member."""
        self._confirmed = asked_at

    def end(self) -> None:
        self._is_over = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._over.set)

    @property
    def in_doubt(self) -> bool:
        """True if another worker may have the partitions."""
        confirmed = self._confirmed
        return self._is_over or confirmed is None or self._clock.seconds_since(confirmed) > self._sure_seconds

    async def assured(self) -> None:
        """Return once no other worker can have the partitions; never after the membership ended."""
        while self.in_doubt:
            await self._clock.sleep(POLL_SECONDS)

    async def ending(self) -> None:
        """Raise MembershipLost once the membership ends."""
        self._loop = asyncio.get_running_loop()
        if not self._is_over:
            await self._over.wait()
        raise MembershipLost(
            "the group has expelled this worker, because it was paused or could not reach Kafka for a whole session: "
            "another worker has its partitions, and folds unacknowledged messages again. Restart this worker"
        )
