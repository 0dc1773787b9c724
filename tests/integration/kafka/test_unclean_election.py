"""A follower that lacks what its leader had acknowledged becomes the leader, while a lander runs and records come.

Kafka's own consumers compare leader epochs then (KIP-320). aiokafka knows none: the broker's time of the last message
stands for the epoch, since two leaders do not store a message at one offset at the same time.
"""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from components.kafka import KafkaCluster, kafka_libraries
from components.programs.cache import require
from ingest.kafka.aiokafka_fixes import started
from integration.kafka.test_lost_progress import PARTITIONS, Lost, folder
from waiting import until

pytestmark = [pytest.mark.asyncio, pytest.mark.components("kafka")]

__all__ = ["folder"]
LEADER, FOLLOWER = 1, 2
"""The third broker has no replica: it keeps the controllers' quorum, and the group's offsets."""


async def make_topic(on: Lost) -> None:
    """One replica is enough to acknowledge, and any may lead."""
    settings = {**on.topics.findings.config(), "min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
    replicas = {number: [LEADER, FOLLOWER] for number in range(PARTITIONS)}
    topic = NewTopic(on.topics.findings.name, -1, -1, replica_assignments=replicas, topic_configs=settings)
    async with started(AIOKafkaAdminClient(bootstrap_servers=on.servers)) as admin:
        await admin.create_topics([topic])


async def leads(on: Lost, node: int) -> bool:
    """Tell whether this broker leads every partition, and no other is in sync."""
    with suppress(KafkaError):  # it may still ask the one that is gone
        async with started(AIOKafkaAdminClient(bootstrap_servers=on.servers)) as admin:
            (topic,) = await admin.describe_topics([on.topics.findings.name])
        return all((each["leader"], each["isr"]) == (node, [node]) for each in topic["partitions"])
    return False


async def test_what_an_unclean_election_takes_back_is_reported_and_what_follows_is_stored(
    folder: Path, tmp_path: Path
) -> None:
    require(kafka_libraries)
    with KafkaCluster(tmp_path / "kafka") as kafka:
        on = Lost(kafka, folder)
        await make_topic(on)
        async with on.lander() as database:
            await on.send()
            await on.all_stored(database)
            await asyncio.to_thread(kafka.nodes[FOLLOWER - 1].kill)
            await until(lambda: leads(on, LEADER))
            await on.send()
            await on.all_stored(database)
            await asyncio.to_thread(kafka.nodes[LEADER - 1].kill)
            sending = asyncio.ensure_future(on.send())  # it waits for a leader
            await asyncio.to_thread(kafka.nodes[FOLLOWER - 1].start)
            await until(lambda: leads(on, FOLLOWER))
            await sending
            await on.send()  # now the log ends behind what was received of the old leader
            await on.all_stored(database)
            assert {kind for _, kind in on.gaps.counts} == {"replaced"}
            found = dict(on.gaps.counts)
        await on.land()
        assert on.gaps.counts == found
