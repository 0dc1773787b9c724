"""Waits longer after each failure, as client-go's reflector does (delivery.md#watching)."""

from collections.abc import Mapping

from common.clock import Clock


class Backoff:
    """Delays that double from `initial_seconds` to `limit_seconds`, each multiplied by a random factor of 1 to 1 +
    `jitter`. They start again after `reset_seconds` without a failure.
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
