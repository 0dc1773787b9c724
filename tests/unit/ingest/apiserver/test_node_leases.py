"""Leases are asked for once, one after the other, and never fail what runs beside."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from common.tasks import Tasks
from fakes.apiserver import Answer, FakeApiServer, refusal
from fakes.clock import START, FakeClock
from ingest.apiserver.emitting import Emitter
from ingest.apiserver.node_leases import PATH, PAUSE_SECONDS, NodeLeases
from ingest.model.objects.base import Condition
from ingest.model.objects.node import Node, NodeMetadata, NodeStatus
from ingest.model.observation import Observation
from ingest.model.reports import Tally
from ingest.normalize.redact import Received
from waiting import until

pytestmark = pytest.mark.asyncio


def node(name: str, ready: str = "") -> Node:
    conditions = [Condition(type="Ready", status=ready)] if ready else None
    return Node(metadata=NodeMetadata(name=name), status=NodeStatus(conditions=conditions))


def lease(name: str) -> Answer:
    metadata = {"name": name, "namespace": "kube-node-lease"}
    return Answer(msgspec.json.encode({"kind": "Lease", "metadata": metadata, "spec": {}}))


class Asked:
    """Leases of one server, and what came of them."""

    def __init__(self, server: FakeApiServer, leases: NodeLeases, tally: Tally, seen: list[Observation]) -> None:
        self.server, self.leases, self.tally, self.seen = server, leases, tally, seen

    def changed(self, *nodes: Node) -> None:
        for each in nodes:
            self.leases.changed(each)

    @property
    def paths(self) -> list[str]:
        return [request.path.removeprefix(f"{PATH}/") for request in self.server.requests]

    async def happened(self, **counts: int) -> None:
        await until(lambda: dict(self.tally) == {("node_leases", name): count for name, count in counts.items()})


@asynccontextmanager
async def asking(
    clock: FakeClock | None = None, emit: Callable[[Received], Awaitable[None]] | None = None
) -> AsyncIterator[Asked]:
    tally: Tally = Counter()
    seen: list[Observation] = []

    async def keep(received: Received) -> None:
        seen.append(received.redacted())

    async with FakeApiServer().running() as server, server.client() as client, Tasks() as spawn:
        leases = NodeLeases(client, Emitter("lab", emit or keep, (clock or FakeClock()).clock, tally))
        spawn(leases.run())
        yield Asked(server, leases, tally, seen)


async def test_a_lease_is_read_when_ready_stops_being_true() -> None:
    async with asking() as asked:
        for name in "ab":
            asked.server.script[f"{PATH}/{name}"] = [lease(name)]
        asked.changed(node("a", "True"), node("b", "False"), node("b", "False"))
        await asked.happened(observation=1)
        asked.changed(node("b", "False"), node("b", "Unknown"), node("a"))
        await asked.happened(observation=3)
        assert asked.paths == ["b", "b", "a"], "once for each state; a condition that lacks is unknown"
        assert asked.server.asked(f"{PATH}/b") == [{"resourceVersion": "0"}] * 2
        (first, *_) = asked.seen
    assert (first.source, first.resource, first.type, first.ts >= START) == ("list", "node_leases", "SNAPSHOT", True)
    assert msgspec.json.decode(first.object)["metadata"]["name"] == "b"


async def test_leases_are_read_one_at_a_time_and_not_for_nodes_that_are_ready_again() -> None:
    taken, held = 0, asyncio.Event()

    async def hold(_: Received) -> None:
        nonlocal taken
        taken += 1
        await held.wait()

    clock = FakeClock()
    async with asking(clock, hold) as asked:
        names = [f"n{number}" for number in range(100)]
        for name in names:
            asked.server.script[f"{PATH}/{name}"] = [lease(name)]
        asked.changed(*[node(name, "Unknown") for name in names])
        await until(lambda: taken == 1)
        asked.changed(*[node(name, "True") for name in names[10:]])
        asked.leases.gone("n9")
        assert asked.paths == ["n0"], "what nobody takes holds up the next"
        held.set()
        await asked.happened(observation=9)
        assert asked.paths == names[:9]
    assert set(clock.slept) == {PAUSE_SECONDS}


async def test_a_missing_or_unreadable_lease_yields_no_observation() -> None:
    async with asking() as asked:
        asked.server.script[f"{PATH}/torn"] = [Answer(b'{"metadata": {"na')]
        asked.server.script[f"{PATH}/long"] = [Answer(b" " * 2_000_000)]
        asked.changed(node("none", "False"), node("torn", "False"), node("long", "False"), node("../x?y", "False"))
        await asked.happened(absent=2, failure=2)
        assert asked.seen == []


async def test_a_missing_permission_is_reported_once_and_pending_reads_are_dropped() -> None:
    async with asking() as asked:
        for name in "abc":
            asked.server.script[f"{PATH}/{name}"] = [refusal(403, "Forbidden", "no")]
        asked.changed(node("a", "False"), node("b", "False"))
        await asked.happened(forbidden=1)
        asked.changed(node("c", "False"))
        await asked.happened(forbidden=2)
        assert asked.paths == ["a", "c"]
    (reported,) = [(each.type, each.resource, msgspec.json.decode(each.object)) for each in asked.seen]
    text = "get leases in kube-node-lease is not allowed: the age of the Lease of a NotReady node is unknown"
    assert reported == ("ERROR", "node_leases", {"error": text})


@pytest.mark.parametrize("answer", [refusal(500, "InternalError", "no"), Answer(b"{", cut=True)])
async def test_a_failed_read_is_retried_while_the_node_is_not_ready(answer: Any) -> None:
    clock = FakeClock()
    async with asking(clock) as asked:
        asked.server.script[f"{PATH}/a"] = [answer, answer, lease("a")]
        asked.changed(node("a", "Unknown"))
        await asked.happened(failure=2, observation=1)
    assert clock.slept[:4] == [0.8, PAUSE_SECONDS, 1.6, PAUSE_SECONDS]
