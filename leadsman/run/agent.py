"""Publishes what the on-node agent reads to Kafka, to the log of its node."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog

from common.clock import steadily
from common.tasks import run_until
from common.telemetry import registered
from ingest.kafka.replay import Feed, Publish
from ingest.kafka.settings import KafkaSettings
from ingest.model.observation import Observation
from ingest.node.agent import Agent, AgentSettings
from ingest.normalize.redact import Received
from leadsman.run.kafka import make_topics, publisher

DRAIN_SECONDS: Final = 10.0
"""Time for Kafka to acknowledge the last messages; the next start publishes everything again."""
log = structlog.get_logger(__name__)


async def run_agent_into_kafka(
    kafka: KafkaSettings, settings: AgentSettings, stop: asyncio.Event, *, once: bool = False
) -> None:
    """Publish this machine's changes to Kafka until `stop`, or once. Raises KafkaUnusable and FilesUnusable."""
    await make_topics(kafka)
    async with publisher(kafka) as opened:
        publish, agent = Feed(opened, kafka.topics()).publish, Agent(settings)
        log.info("the agent begins", cluster=settings.cluster, node=settings.node)
        if once:
            await send(agent.look, publish)
            await opened.flush()
            return
        with registered(agent.figures(), agent.why_not):
            # while Kafka is down, the publisher keeps what is not acknowledged
            await run_until(stop, steadily(settings.interval_seconds, partial(send, agent.observe, publish)))
        try:
            await asyncio.wait_for(opened.flush(), DRAIN_SECONDS)
        except TimeoutError:
            log.warning("Kafka did not acknowledge all in time; the next start publishes everything again")


async def send(look: Callable[[], list[Observation]], publish: Publish) -> None:
    """Read files and the kubelet's socket outside the event loop, so that a hanging kubelet blocks nothing."""
    for observation in await asyncio.to_thread(look):
        await publish(Received(observation))
