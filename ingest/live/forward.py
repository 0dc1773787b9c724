"""Forwards a cluster's live sources to Kafka, and acknowledges observations that Kafka has
(delivery.md#publishing).
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

import structlog

from common.clock import SYSTEM, Clock
from common.scrub import scrub
from common.tasks import Tasks
from common.telemetry import STAGE_SECONDS
from ingest.kafka.replay import Publish
from ingest.live.run import Delivery, Live

DRAIN_SECONDS: Final = 10.0
"""Time for Kafka to acknowledge the last messages; other messages are sent again after a restart."""
LOOK_SECONDS: Final = 1.0
REPORT_SECONDS: Final = 60.0
log = structlog.get_logger(__name__)


class Watching:
    """Forwards one cluster while this watcher is the leader."""

    def __init__(self, live: Live, publish: Publish, clock: Clock = SYSTEM) -> None:
        self.observations = 0
        self.unacknowledged = 0
        """Observations with messages that Kafka has not acknowledged yet."""
        self._live = live
        self._publish = publish
        self._clock = clock
        self._degraded: dict[str, str] = {}
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self, stop: asyncio.Event) -> None:
        """Forward until `stop`, then wait until Kafka has acknowledged the rest, and store the versions.

        Raises unexpected errors of sources and of `publish`.
        """
        async with self._live.deliveries() as deliveries, Tasks() as spawn:
            spawn(self._forward_all(deliveries, stop))
            spawn(self._report())
            spawn(self._failing())
            await stop.wait()
            await self._drain()

    async def _forward_all(self, deliveries: AsyncIterator[Delivery], stop: asyncio.Event) -> None:
        async for delivery in deliveries:
            if stop.is_set():
                return  # observations after this are seen again after a restart
            await self._forward(delivery)

    async def _failing(self) -> None:
        """Raise the error of a message that Kafka rejected permanently."""
        await self._failed

    async def _forward(self, delivery: Delivery) -> None:
        began = self._clock.monotonic()
        self.unacknowledged += 1
        acknowledgements = await self._publish(delivery.received)
        self.observations += 1
        missing = len(acknowledgements)

        def acknowledged(message: asyncio.Future[None]) -> None:
            nonlocal missing
            if message.cancelled():
                return
            if error := message.exception():
                if not self._failed.done():
                    self._failed.set_exception(error)
                return
            missing -= 1
            if not missing:
                STAGE_SECONDS.labels("publish").observe(self._clock.monotonic() - began)
                self._safe(delivery)

        if not missing:
            self._safe(delivery)
        for each in acknowledgements:
            each.add_done_callback(acknowledged)

    def _safe(self, delivery: Delivery) -> None:
        self.unacknowledged -= 1
        self._live.acknowledge(delivery)

    async def _drain(self) -> None:
        deadline = self._clock.monotonic() + DRAIN_SECONDS
        while self.unacknowledged and self._clock.monotonic() < deadline:
            await self._clock.sleep(0.02)
        if self.unacknowledged:
            log.warning("Kafka did not acknowledge all in time; it is seen again", observations=self.unacknowledged)

    async def _report(self) -> None:
        reported_at = self._clock.monotonic()
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            self._log_degraded()
            if self._clock.monotonic() - reported_at >= REPORT_SECONDS:
                reported_at = self._clock.monotonic()
                ages = self._live.ages_seconds()
                log.info(
                    "watching",
                    observations=self.observations,
                    unacknowledged=self.unacknowledged,
                    streams=len(ages),
                    oldest_seconds=round(max(ages.values(), default=0.0), 1),
                    degraded=sorted(self._degraded),
                )

    def _log_degraded(self) -> None:
        """Log each stream's reason when it changes and when it is resolved."""
        now = {stream: scrub(text) for stream, text in self._live.degraded().items()}
        for stream, text in now.items():
            if self._degraded.get(stream) != text:
                log.warning("a stream is degraded", stream=stream, reason=text)
        for stream in self._degraded.keys() - now.keys():
            log.info("a stream has recovered", stream=stream)
        self._degraded = now
