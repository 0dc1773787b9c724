"""Records the live sources of a cluster into a capture file (capture-format.md)."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

from common.amounts import counted
from common.clock import SYSTEM, Clock
from common.scrub import scrub
from common.tasks import Tasks, run_until, stop_on_signals
from ingest.files.rotate import Rotation, Writer, open_capture
from ingest.live.run import Live
from ingest.live.settings import LiveSettings

REPORT_SECONDS: Final = 10.0


class Captured(NamedTuple):
    observations: int = 0
    errors: int = 0
    """Number of ERROR observations among them: a source could not be read, or was silent."""


class Capturing:
    """Captures a cluster. Each line reaches the operating system before the next observation is taken.

    `report` gets a progress line every 10 s.
    """

    def __init__(self, live: Live, writer: Writer, report: Callable[[str], None], clock: Clock = SYSTEM) -> None:
        self.captured = Captured()
        self._live = live
        self._writer = writer
        self._report = report
        self._clock = clock
        self._began = clock.now()

    async def run(self, stop: asyncio.Event, *, seconds: float | None = None) -> Captured:
        """Capture until `stop` is set or the time is over, then close the writer.

        Raises OSError if a line cannot be written, and unexpected errors of sources.
        """
        try:
            async with Tasks() as spawn:
                spawn(self._report_regularly())
                await run_until(stop, self._take(), seconds=seconds)
        finally:
            self._writer.close()
        return self.captured

    async def _take(self) -> None:
        async with self._live.deliveries() as deliveries:
            async for delivery in deliveries:
                observation = delivery.observation
                self._writer.write(observation)
                self._live.acknowledge(delivery)
                self.captured = Captured(
                    self.captured.observations + 1, self.captured.errors + (observation.type == "ERROR")
                )

    async def _report_regularly(self) -> None:
        while True:
            await self._clock.sleep(REPORT_SECONDS)
            self._report(self.line())

    def line(self) -> str:
        """Return the progress as one line that is safe to print."""
        lasted = timedelta(seconds=int((self._clock.now() - self._began).total_seconds()))
        parts = [f"captured {counted(self.captured.observations, 'observation')} in {lasted}"]
        if self.captured.errors:
            parts.append(f"{counted(self.captured.errors, 'error')} among them")
        parts += [f"{stream} cannot be read: {scrub(text)}" for stream, text in sorted(self._live.degraded().items())]
        return "; ".join(parts)


async def record(
    settings: LiveSettings,
    out: Path,
    rotation: Rotation,
    report: Callable[[str], None],
    *,
    seconds: float | None = None,
) -> Captured:
    """Capture a cluster until SIGTERM, SIGINT or the end of the time.

    Raises SourceUnusable, and what `open_capture` and `Capturing.run` raise.
    """
    with stop_on_signals() as stop:
        live = await Live.connect(settings)
        capturing = Capturing(live, open_capture(out, settings.cluster, rotation), report)
        captured = await capturing.run(stop, seconds=seconds)
    report(capturing.line())
    return captured
