"""Runs several processes as one: restarts those that end, and stops all of them together."""

import asyncio
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import structlog

from common import with_parent
from common.clock import SYSTEM, Backoff, Clock
from common.tasks import run_until, together
from common.telemetry import Figure, registered

GRACE_SECONDS: Final = 30.0
"""Time that a process may take to shut down before it is killed."""
FIRST_BACKOFF_SECONDS: Final = 1.0
LONGEST_BACKOFF_SECONDS: Final = 10.0
HEALTHY_SECONDS: Final = 60.0
PART_STARTS: Final = Figure("part_starts", "counter", "Starts of a part by `up`", ("part",))
log = structlog.get_logger(__name__)


class Part(NamedTuple):
    name: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = {}
    """Variables in addition to the common ones of all parts."""


class PartFailedError(Exception):
    """A part ended with an exit status that a restart cannot fix."""

    def __init__(self, name: str, status: int) -> None:
        super().__init__(f"{name} ended with status {status}, which a restart cannot fix")
        self.status = status


class Supervisor:
    """Runs each part as a process in its own session, with this process's output.

    A part that ends is restarted, after 1 s that doubles up to 10 s. A part that ends with one of the statuses
    `lasting` ends all of them.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        lasting: frozenset[int],
        environment: Mapping[str, str],
        grace_seconds: float = GRACE_SECONDS,
        clock: Clock = SYSTEM,
    ) -> None:
        self._parts = parts
        self._lasting = lasting
        self._environment = environment
        self._grace_seconds = grace_seconds
        self._clock = clock
        self._running: dict[str, asyncio.subprocess.Process] = {}
        self._starts: Counter[tuple[str, ...]] = Counter()

    @property
    def pids(self) -> dict[str, int]:
        """Return the process id of each running part."""
        return {name: process.pid for name, process in self._running.items()}

    async def run(self, stop: asyncio.Event) -> None:
        """Keep all parts running until `stop` is set.

        At the end, or if a part fails for good, send SIGTERM to all, and SIGKILL to those still running after the
        grace period. Raises PartFailedError.
        """
        with registered({PART_STARTS: lambda: self._starts}, self._why_not):
            try:
                await run_until(stop, together(self._keep(part) for part in self._parts))
            finally:
                await together(self._end(name, process) for name, process in self._running.items())
                self._running.clear()

    def _why_not(self) -> Iterator[str]:
        for part in self._parts:
            if part.name not in self._running:
                yield f"{part.name} ended and will be restarted"

    async def _keep(self, part: Part) -> None:
        backoff = Backoff(
            self._clock,
            initial_seconds=FIRST_BACKOFF_SECONDS,
            limit_seconds=LONGEST_BACKOFF_SECONDS,
            reset_seconds=HEALTHY_SECONDS,
            jitter=0.0,
        )
        while True:
            process = await self._start(part)
            status = await process.wait()
            del self._running[part.name]
            if status in self._lasting:
                raise PartFailedError(part.name, status)
            wait_seconds = backoff.next_seconds()
            log.warning("a part ended and is restarted", part=part.name, status=status, in_seconds=wait_seconds)
            await self._clock.sleep(wait_seconds)

    async def _start(self, part: Part) -> asyncio.subprocess.Process:
        wrapper = (sys.executable, "-I", "-S", str(Path(with_parent.__file__)), str(os.getpid()))
        process = await asyncio.create_subprocess_exec(
            *wrapper,
            *part.argv,
            env={**self._environment, **part.environment},
            stdin=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        self._running[part.name] = process
        self._starts[(part.name,)] += 1
        log.info("a part is started", part=part.name, pid=process.pid)
        return process

    async def _end(self, name: str, process: asyncio.subprocess.Process) -> None:
        _signal(process, signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), self._grace_seconds)
        except TimeoutError:
            log.warning("a part did not stop in time and is killed", part=name)
            _signal(process, signal.SIGKILL)
            await process.wait()


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    if process.returncode is None:
        process.send_signal(number)
