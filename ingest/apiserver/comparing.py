"""When the whole list of a resource is compared with what its watch showed (delivery.md#reconciling).

A watch alone trusts that one history leads from version to version. It does not where etcd was restored from a
snapshot: versions go back, and pass the old ones again with other objects.
"""

import math
from typing import Final

from common.clock import Clock

SOON_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 15.0
PAUSE_SECONDS: Final = 300.0
"""Between two comparisons, unless versions go back: a server that comes and goes is not listed each time."""
EVERY_SECONDS: Final = 4 * 3600.0
JITTER: Final = 0.5
"""A time is between one half less and one half more, so that watches do not ask at once."""


def went_back(version: str, before: str) -> bool:
    """Tell whether a version is older than the one before it; False if one of them is not a number."""
    return version.isdecimal() and before.isdecimal() and int(version) < int(before)


class Comparing:
    """The time of the next comparison."""

    def __init__(self, clock: Clock) -> None:
        self.anew = False
        """All objects are emitted then: what was published before this process began is not known."""
        self._resumes = False
        """The stream goes on at a version before what was published last; a watch leads on from there first."""
        self._clock = clock
        self._due_at_seconds = math.inf
        self._not_before_seconds = -math.inf

    @property
    def is_due(self) -> bool:
        return not self._resumes and self._clock.monotonic() >= self._due_at_seconds

    @property
    def due_in_seconds(self) -> float:
        """No less than a server needs that was away to begin a watch."""
        return max(ANSWER_SECONDS, self._due_at_seconds - self._clock.monotonic())

    def resumed(self) -> None:
        """The stream goes on at a version that was kept; all that was published since is soon seen again."""
        self.anew = self._resumes = True
        self.soon()

    def watched(self) -> None:
        """A watch has begun."""
        self._resumes = False

    def soon(self) -> None:
        """The server was away: compare once it has answered for a while, and not after each of its absences."""
        self._due_at_seconds = min(self._due_at_seconds, max(self._after(SOON_SECONDS), self._not_before_seconds))

    def now(self) -> None:
        """The versions went back."""
        self._due_at_seconds = self._clock.monotonic()

    def begun(self) -> None:
        """Try again later, should this one fail."""
        self._not_before_seconds = self._due_at_seconds = self._after(PAUSE_SECONDS)

    def done(self) -> None:
        """All is compared."""
        self.anew = False
        self._due_at_seconds = self._after(EVERY_SECONDS)

    def listed(self) -> None:
        """Record that a new list shows the same, unless everything must be emitted again."""
        if not self.anew:
            self.done()

    def _after(self, seconds: float) -> float:
        return self._clock.monotonic() + seconds * (1 - JITTER + 2 * JITTER * self._clock.random())
