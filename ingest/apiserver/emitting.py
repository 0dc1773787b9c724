"""Emits what a live source receives from a cluster, and why it receives nothing."""

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from common.clock import Clock
from ingest.model.observation import Origin, observation_of
from ingest.model.reports import Report, Tally, error_observation
from ingest.normalize.redact import Received


class Emitter(NamedTuple):
    cluster: str
    emit: Callable[[Received], Awaitable[None]]
    clock: Clock
    tally: Tally

    async def answer(self, source: Origin, resource: str, body: bytes, decoded: Any = None, node: str = "") -> None:
        """Emit an object, which is JSON and may be decoded already."""
        seen = observation_of(self.clock.now(), self.cluster, source, resource, body, node)
        await self.emit(Received(seen, decoded))

    async def error(self, source: Origin, resource: str, text: str, node: str = "") -> None:
        await self.emit(Received(error_observation(self.clock, self.cluster, source, resource, Report(text), node)))
