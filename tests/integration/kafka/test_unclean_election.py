"""A follower that lacks what its leader had acknowledged becomes the leader, while a part runs and messages come.

Kafka's own consumers compare leader epochs then (KIP-320). aiokafka knows none: the broker's time of the last message
stands for the epoch, since two leaders do not store a message at one offset at the same time.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from components.hook import Hook
from components.kafka import KafkaCluster, kafka_libraries
from components.lag import lag
from components.programs.cache import require
from ingest.kafka.aiokafka_fixes import started
from ingest.model.topics import Topic, changelogs
from ingest.model.topics import topics as topics_of
from integration.kafka import test_lost_alerts as alerts
from integration.kafka.test_lost_progress import Lost, folder, found_in, observe, states_in
from streams.analytics.registry import REDUCERS
from streams.kafka.app import Worker
from streams.kafka.parts import PartsCodec
from waiting import until

pytestmark = [pytest.mark.asyncio, pytest.mark.components("kafka")]

__all__ = ["folder"]
BROKERS = (1, 2, 3)


class Election:
    """A cluster with topics of two replicas, of which any may lead and one is enough to acknowledge.

    The third broker has no replica of them. It coordinates the group, and keeps the controllers' quorum.
    """

    def __init__(self, kafka: KafkaCluster, *topics: Topic) -> None:
        self.servers = kafka.bootstrap_servers
        self._kafka = kafka
        self._topics = topics

    async def begin(self, group: str, others: Iterable[Topic] = ()) -> None:
        """Make the topics, and `others` with one replica that nothing happens to."""
        await until(lambda: self._finds_coordinator(group))
        self._leader, self._follower = (each for each in BROKERS if each != self._third)
        any_may_lead = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
        made = [self._new(each, [self._leader, self._follower], any_may_lead) for each in self._topics]
        made += [self._new(each, [self._third], {"min.insync.replicas": "1"}) for each in others]
        async with started(AIOKafkaAdminClient(bootstrap_servers=self.servers)) as admin:
            await admin.create_topics(made)

    async def stop_follower(self) -> None:
        """Let the follower lack all that the leader acknowledges from now on."""
        await asyncio.to_thread(self._kafka.nodes[self._follower - 1].kill)
        await until(lambda: self._leads(self._leader))

    def kill_leader(self) -> None:
        self._kafka.nodes[self._leader - 1].kill()

    async def elect_follower(self) -> None:
        await asyncio.to_thread(self._kafka.nodes[self._follower - 1].start)
        await until(lambda: self._leads(self._follower))

    async def _finds_coordinator(self, group: str) -> bool:
        """Take the broker that coordinates a group for the third; False while there is none."""
        with suppress(KafkaError):
            async with started(AIOKafkaAdminClient(bootstrap_servers=self.servers)) as admin:
                self._third = await admin.find_coordinator(group)
            return True
        return False

    def _new(self, topic: Topic, replicas: Sequence[int], settings: dict[str, str]) -> NewTopic:
        placed = {number: list(replicas) for number in range(topic.partitions)}
        return NewTopic(topic.name, -1, -1, placed, topic_configs={**topic.config(), **settings})

    async def _leads(self, node: int) -> bool:
        """Tell whether this broker leads every partition, and no other is in sync."""
        with suppress(KafkaError):  # it may still ask the one that is gone
            async with started(AIOKafkaAdminClient(bootstrap_servers=self.servers)) as admin:
                topics = await admin.describe_topics([each.name for each in self._topics])
            return all(
                (each["leader"], each["isr"]) == (node, [node]) for topic in topics for each in topic["partitions"]
            )
        return False


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[KafkaCluster]:
    require(kafka_libraries)
    with KafkaCluster(tmp_path / "kafka") as cluster:
        yield cluster


async def test_messages_lost_by_an_unclean_election_are_reported_and_later_ones_stored(
    kafka: KafkaCluster, folder: Path
) -> None:
    on = Lost(kafka, folder)
    election = Election(kafka, on.topics.findings)
    await election.begin(on.group)
    async with on.lander() as database:
        await on.send()
        await on.all_stored(database)
        await election.stop_follower()
        await on.send()
        await on.all_stored(database)
        await asyncio.to_thread(election.kill_leader)
        sending = asyncio.ensure_future(on.send())  # it waits for a leader
        await election.elect_follower()
        await sending
        await on.send()  # now the log ends behind what was received of the old leader
        await on.all_stored(database)
        assert {kind for _, kind in on.gaps.counts} == {"replaced"}
        found = dict(on.gaps.counts)
    await on.land()
    assert on.gaps.counts == found


async def test_states_missing_on_a_changelogs_new_leader_are_written_again(kafka: KafkaCluster) -> None:
    """The second node's state is among them, and nothing of its log is folded any more."""
    topics = topics_of("elected", partitions=1)
    changelog, other = changelogs("elected", topics)
    election = Election(kafka, changelog)
    await election.begin("elected", [*topics, other])
    folding = Folding(kafka)
    await folding.fold(range(4))
    await election.stop_follower()
    await folding.fold([4, 5])
    await asyncio.to_thread(election.kill_leader)
    await election.elect_follower()
    await folding.fold([6])
    await folding.stop()
    wanted = folding.worker._takeovers.changelogs[topics.nodes.name]
    stored = await states_in(kafka.bootstrap_servers, changelog.name)
    assert {log: stored.get(log) for log in (b"c/n0", b"c/n1")} == {log: wanted.get(log) for log in wanted.logs(0)}
    assert stored.covered(0) == wanted.covered(0)


async def test_states_that_a_leader_lacks_since_before_the_first_write_are_folded_again(kafka: KafkaCluster) -> None:
    """The last worker finds progress that relies on a state of the second node which the leader lacks."""
    topics = topics_of("elected", partitions=1)
    changelog, other = changelogs("elected", topics)
    election = Election(kafka, changelog)
    await election.begin("elected", [*topics, other])
    first = Folding(kafka)
    await first.fold(range(4))
    await election.stop_follower()
    await first.fold([4, 5])
    await first.stop()
    second = Folding(kafka, 3600)  # it writes when it stops
    await second.fold([6])
    await asyncio.to_thread(election.kill_leader)
    await election.elect_follower()
    await second.stop()
    wanted = second.worker._takeovers.changelogs[topics.nodes.name]
    assert wanted.covered(0) == 7
    assert (await states_in(kafka.bootstrap_servers, changelog.name)).covered(0) == 4
    last = Folding(kafka)
    await last.fold([8])
    await last.stop()
    assert last.worker._takeovers.gaps.counts == {(topics.nodes.name, "unfolded"): 3}
    stored, codec = await states_in(kafka.bootstrap_servers, changelog.name), PartsCodec(REDUCERS)
    assert codec.decode(stored.get(b"c/n1")) == codec.decode(wanted.get(b"c/n1"))
    assert stored.covered(0) == 8


class Folding:
    """A worker that runs, and writes its states at once unless it has longer."""

    def __init__(self, kafka: KafkaCluster, state_seconds: float = 0.1) -> None:
        self._servers, self._topics = kafka.bootstrap_servers, topics_of("elected", partitions=1)
        self._is_at_once = state_seconds < 1
        self.worker = Worker(
            REDUCERS, self._topics, self._servers, group="elected", instance="0", state_seconds=state_seconds
        )
        self._stop = asyncio.Event()
        self._running = asyncio.ensure_future(self.worker.run(self._stop))

    async def fold(self, numbers: Iterable[int]) -> None:
        """Let it conclude from these Events, and write its states if it does so at once."""

        async def is_folded() -> bool:
            left = await lag(self._servers, "elected", [self._topics.nodes.name]) if self._is_at_once else 0
            return self._running.done() or (left == 0 and await found_in(self._servers, self._topics) >= set(numbers))

        await observe(self._servers, self._topics, numbers)
        await until(is_folded)

    async def stop(self) -> None:
        self._stop.set()
        await self._running


@pytest.fixture
def hook() -> Iterator[Hook]:
    running = Hook()
    yield running
    running.close()


async def test_alerts_behind_those_that_a_new_leader_lacks_are_delivered(
    kafka: KafkaCluster, hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported = alerts.Reported(kafka, hook, monkeypatch)
    election = Election(kafka, alerts.TOPIC)
    await election.begin("told")
    reported.start()
    await reported.send("A", "B")
    await reported.all_told("A", "B")
    await election.stop_follower()
    await reported.send("C", "D")
    await reported.all_told("A", "B", "C", "D")
    await asyncio.to_thread(election.kill_leader)
    await election.elect_follower()
    await reported.send("E", "F", "G")  # the log ends behind what was delivered
    await reported.all_told("A", "B", "C", "D", "E", "F", "G")
    await reported.stop()
