"""Nodes that live an hour each, through the workers' fold: what is left of them in memory, changelogs and topics.

`make churn` lets 20,000 live, or as many as CHURN says, and writes Figures as JSON for each hour; `docs/churn.svg` is
drawn of them.
"""

import asyncio
import heapq
import os
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Final, cast

import msgspec

from bench.generate import BEGIN, TOPOLOGY, node_object, observed, pod_object
from bench.shapes import Json, Shapes, load_shapes
from bench.summaries import Summaries, node_name, pod_names
from components.proc import resident_bytes
from fakes.checkpoints import write_cpu_manager_state
from ingest.kafka.publish import Publisher
from ingest.model.observation import Observation
from ingest.model.topics import encode_record, key_of, topics
from ingest.normalize.normalize import normalize
from streams.analytics.registry import REDUCERS
from streams.kafka.changelog import Changelog
from streams.kafka.message import Headers, Message
from streams.kafka.states import LogStates, Ownership
from streams.kafka.worker import LogFolder
from streams.rules.numa.cpu_checkpoint import CpuManagerState

FIGURES: Final = "tests/faults/churn.jsonl"
NODES: Final = 20_000
ALIVE: Final = 500
HOUR: Final = timedelta(hours=1)
MINUTE: Final = timedelta(minutes=1)
PODS: Final = 4
BOOKMARK_EVERY: Final = 5 * MINUTE
TOPICS: Final = topics("churn", partitions=1)


class Figures(msgspec.Struct):
    """The state at the end of an hour."""

    hour: int
    alive: int
    logs: int
    """States of nodes in the changelog."""
    changelog_bytes: int
    """Records that compaction leaves of the changelogs of nodes' and clusters' logs."""
    alerts: int
    """In their compacted topic."""
    resident_bytes: int
    """Memory of the process: one worker; the stand-in for Kafka only holds references."""


class Worker:
    """A worker's folders of both topics on a Kafka that keeps of compacted topics what compaction leaves."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[bytes, bytes]] = {}
        self._waiting: dict[str, list[Message]] = {TOPICS.nodes.name: [], TOPICS.cluster.name: []}
        self._offsets = dict.fromkeys(self._waiting, 0)
        publisher = cast("Publisher", self)
        self.logs = {name: Changelog() for name in self._waiting}
        self._folders: dict[str, LogFolder] = {}
        for name, changelog in self.logs.items():
            changelog.own({0})
            states = LogStates(REDUCERS, changelog, f"{name}-changelog", publisher)
            self._folders[name] = LogFolder(REDUCERS, states, publisher, TOPICS)

    async def send(
        self,
        topic: str,
        key: bytes,
        value: bytes | None,
        headers: Headers = (),
        partition: int | None = None,  # noqa: ARG002  # as a publisher's
    ) -> "asyncio.Future[None]":
        if value is None:
            self.kept[topic].pop(key, None)
        elif topic in self._waiting:
            offset = self._offsets[topic]
            self._offsets[topic] += 1
            self._waiting[topic].append(Message(topic, 0, offset, offset, key, value, headers))
        elif topic.endswith(("-changelog", ".alerts")):
            self.kept.setdefault(topic, {})[key] = value
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def take(self, observation: Observation) -> None:
        for record in normalize(observation):
            await self.send(TOPICS.of(record).name, key_of(record.cluster, record.node), encode_record(record))

    async def fold(self) -> None:
        """Everything that waits, and what is emitted meanwhile; then the states are written."""
        turns = {name: self._ownership(name) for name in self._waiting}
        while any(self._waiting.values()):
            for name, folder in self._folders.items():
                messages, self._waiting[name] = self._waiting[name], []
                if messages:
                    await folder.fold(messages, turns[name])
        for name, folder in self._folders.items():
            await folder.write(self._ownership(name))

    def _ownership(self, topic: str) -> Ownership:
        return Ownership(1, lambda: True, {0: self._offsets[topic]})

    def figures(self, hour: int, alive: int) -> Figures:
        changelogs = [kept for topic, kept in self.kept.items() if topic.endswith("-changelog")]
        return Figures(
            hour=hour,
            alive=alive,
            logs=len(self.logs[TOPICS.nodes.name].logs(0)),
            changelog_bytes=sum(len(key) + len(value) for kept in changelogs for key, value in kept.items()),
            alerts=len(self.kept.get(TOPICS.alerts.name, ())),
            resident_bytes=resident_bytes(os.getpid()),
        )


def observations(nodes: int, alive: int, empty_hours: int) -> Iterator[Observation]:
    """Nodes that are born evenly so that `alive` live at once, and some hours after the last; in order of time."""
    shapes, summaries = load_shapes(), Summaries(load_shapes(), PODS, 0, BEGIN)
    waiting: list[tuple[Any, int, Iterator[Observation], Observation]] = []
    for number in range(nodes):
        life = _life(shapes, summaries, number, HOUR * number / alive)
        heapq.heappush(waiting, (HOUR * number / alive, number, life, next(life)))
        until = HOUR * (number + 1) / alive if number + 1 < nodes else timedelta.max
        while waiting and waiting[0][0] < until:
            _, of, life, observation = heapq.heappop(waiting)
            yield observation
            if (following := next(life, None)) is not None:
                heapq.heappush(waiting, (following.ts - BEGIN, of, life, following))
    last = HOUR * nodes / alive + HOUR
    yield from (observed(BEGIN + last + HOUR * hour, "watch", "nodes", "BOOKMARK", {}) for hour in range(empty_hours))


def _life(shapes: Shapes, summaries: Summaries, node: int, born: timedelta) -> Iterator[Observation]:
    """Yield the life of a node with pods that outlive it: one has exclusive CPUs, and one is evicted."""
    name, begin = node_name(node), BEGIN + born
    pods = [pod_object(shapes, node, pod) for pod in range(PODS)]
    yield observed(begin, "watch", "nodes", "ADDED", node_object(shapes, node))
    yield observed(begin, "watch", "nodes", "BOOKMARK", {})
    yield observed(begin, "kubelet", "configz", "SNAPSHOT", shapes.configz, name)
    yield observed(begin, "agent", "cpu_topology", "SNAPSHOT", TOPOLOGY, name)
    for pod in pods:
        yield observed(begin + MINUTE, "watch", "pods", "ADDED", pod)
    uid = pod_names(node, 0)[2]
    state = CpuManagerState("static", "0-1,4-15", {uid: {"w": "2-3"}}, {}, version=2)
    checkpoint = msgspec.json.decode(write_cpu_manager_state(state))
    yield observed(begin + 2 * MINUTE, "agent", "cpu_manager_state", "SNAPSHOT", checkpoint, name)
    for minutes in (5, 15, 30, 45, 59):
        at = begin + minutes * MINUTE
        yield observed(at, "kubelet", "stats/summary", "SNAPSHOT", summaries.at(node, at), name)
    evicted = _evicted(pods[1])
    yield observed(begin + 59.5 * MINUTE, "watch", "pods", "MODIFIED", evicted)
    yield observed(begin + HOUR, "watch", "nodes", "DELETED", node_object(shapes, node))
    for pod in (pods[0], evicted, *pods[2:]):
        yield observed(begin + HOUR + MINUTE, "watch", "pods", "DELETED", pod)


def _evicted(pod: Json) -> Json:
    message = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. "
    return {**pod, "status": {"phase": "Failed", "reason": "Evicted", "message": message}}


async def churn(nodes: int, alive: int, empty_hours: int) -> Sequence[Figures]:
    """Figures at the end of each hour."""
    worker, found, reported_at, hour = Worker(), list[Figures](), BEGIN, 1
    for observation in observations(nodes, alive, empty_hours):
        if observation.ts >= reported_at + MINUTE:
            await worker.fold()
            reported_at = observation.ts
        while observation.ts >= BEGIN + hour * HOUR:
            found.append(worker.figures(hour, alive if hour * alive <= nodes else 0))
            hour += 1
        await worker.take(observation)
    await worker.fold()
    return [*found, worker.figures(hour, 0)]


if __name__ == "__main__":
    of_nodes, at_once = map(int, sys.argv[1:] or (NODES, ALIVE))
    sys.stdout.writelines(
        msgspec.json.encode(each).decode() + "\n" for each in asyncio.run(churn(of_nodes, at_once, empty_hours=0))
    )
