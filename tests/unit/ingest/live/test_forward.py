"""Forwards a fake API server to a publisher in memory: acknowledgements, repeats and ownership."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec
import pytest
from kubernetes_asyncio.client.configuration import Configuration
from structlog.testing import capture_logs

from common.clock import SYSTEM
from common.errors import SourceUnusable
from fakes.apiserver import Answer, FakeApiServer, event, listing, pod, refusal, watching
from fakes.clock import hurried
from ingest.apiserver.leader import LeaderElection, LeaseName
from ingest.apiserver.versions import NOT_KEPT, VersionFile
from ingest.kubelet.settings import KubeletSettings
from ingest.live.forward import Watching
from ingest.live.run import Live
from ingest.live.settings import LiveSettings
from ingest.normalize.redact import Received
from leadsman.run.watch import lead
from waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.asyncio

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


class Memory:
    """A publisher whose messages a test acknowledges."""

    def __init__(self, messages: int = 2, *, at_once: bool = True) -> None:
        self.seen: list[Received] = []
        self.out: list[list[asyncio.Future[None]]] = []
        self._messages = messages
        self._at_once = at_once

    async def publish(self, received: Received) -> Sequence[asyncio.Future[None]]:
        if received.redacted().type in {"INVENTORY", "BOOKMARK"}:
            return ()
        self.seen.append(received)
        self.out.append([asyncio.get_running_loop().create_future() for _ in range(self._messages)])
        if self._at_once:
            self.acknowledge(len(self.out) - 1)
        return self.out[-1]

    def acknowledge(self, number: int) -> None:
        for message in self.out[number]:
            message.set_result(None)

    @property
    def names(self) -> list[str]:
        return [str(msgspec.json.decode(one.redacted().object)["metadata"]["name"]) for one in self.seen]


@asynccontextmanager
async def _server(*events: bytes) -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer().running() as server:
        server.script["/api/v1/pods"] = [listing("7", [pod("a", "3")]), watching(*events)]
        yield server


TWO_MORE = (event("ADDED", pod("b", "8")), event("ADDED", pod("c", "9")))


def _live(server: FakeApiServer, store: VersionFile | None = None, resources: tuple[str, ...] = ("pods",)) -> Live:
    access = Configuration()
    access.host = server.url
    settings = LiveSettings(cluster="lab", resources=resources, kubelet=KubeletSettings(access="off"))
    return Live(settings, access, store.kept() if store else NOT_KEPT)


@asynccontextmanager
async def _running(watcher: Watching) -> AsyncIterator[None]:
    """The watcher runs within, and has ended in order after."""
    stop = asyncio.Event()
    run = asyncio.ensure_future(watcher.run(stop))
    try:
        yield
    finally:
        stop.set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await run


async def test_a_version_is_stored_only_once_kafka_has_all_its_messages(tmp_path: Path) -> None:
    store = VersionFile(tmp_path / "versions.json", "lab")
    memory = Memory(at_once=False)
    async with _server(*TWO_MORE) as server:
        watcher = Watching(_live(server, store), memory.publish, hurried()._replace(monotonic=_fast()))
        async with _running(watcher):
            await until(lambda: len(memory.seen) == 3)
            memory.acknowledge(0)
            memory.acknowledge(2)
            memory.out[1][0].set_result(None)  # the second message of the pod b is still out
    assert memory.names == ["a", "b", "c"]
    assert store.load() == {"pods": "7"}


def _fast() -> Callable[[], float]:
    """Seconds that go a hundred times faster than ours: a drain that is in vain is over soon."""
    return lambda: SYSTEM.monotonic() * 100


async def test_a_stop_waits_for_outstanding_acknowledgements(tmp_path: Path) -> None:
    store = VersionFile(tmp_path / "versions.json", "lab")
    memory = Memory(at_once=False)
    async with _server(*TWO_MORE) as server, _running(Watching(_live(server, store), memory.publish)):
        await until(lambda: len(memory.seen) == 3)
        for number in range(3):
            asyncio.get_running_loop().call_later(0.1, memory.acknowledge, number)
    assert store.load() == {"pods": "9"}


async def test_an_observation_without_messages_is_acknowledged(tmp_path: Path) -> None:
    store = VersionFile(tmp_path / "versions.json", "lab")
    async with _server(*TWO_MORE) as server:
        memory = Memory(messages=0)
        async with _running(Watching(_live(server, store), memory.publish)):
            await until(lambda: len(memory.seen) == 3)
    assert store.load() == {"pods": "9"}


async def test_nothing_is_sent_after_the_stop() -> None:
    memory = Memory(at_once=False)
    async with _server() as server:
        watcher = Watching(_live(server), memory.publish)
        stop = asyncio.Event()
        run = asyncio.ensure_future(watcher.run(stop))
        await until(lambda: memory.seen)
        stop.set()
        await watcher._live._emit(memory.seen[0])
        await until(watcher._live._queue.empty)
        memory.acknowledge(0)
        await run
    assert memory.names == ["a"]


async def test_a_publishers_failure_ends_the_watcher() -> None:
    memory = Memory(at_once=False)
    async with _server() as server:
        run = asyncio.ensure_future(Watching(_live(server), memory.publish).run(asyncio.Event()))
        await until(lambda: memory.seen)
        memory.out[0][0].set_exception(ZeroDivisionError())
        with pytest.raises(ZeroDivisionError):
            await run


async def test_a_degraded_stream_is_logged_when_it_begins_and_when_it_ends() -> None:
    async with _server() as server:
        server.script["/api/v1/nodes"] = [
            refusal(403, "Forbidden", "nodes is forbidden"),
            listing("5", [{"metadata": {"name": "n1", "resourceVersion": "3"}}]),
            watching(),
        ]
        live = _live(server, resources=("nodes", "pods"))
        memory = Memory()
        with capture_logs() as logs:
            async with _running(Watching(live, memory.publish, hurried())):
                await until(lambda: any(each["event"] == "a stream has recovered" for each in logs))
    reported = [(each["event"], each["stream"]) for each in logs if "stream" in each]
    assert reported == [("a stream is degraded", "nodes"), ("a stream has recovered", "nodes")]
    assert "403 Forbidden" in next(each["reason"] for each in logs if "reason" in each)
    # it is told downstream too: the others go on, and this is a record like any other
    assert ("nodes", "ERROR") in {(one.resource, one.redacted().type) for one in memory.seen}


async def test_secrets_are_not_handed_to_the_publisher() -> None:
    canary = pod("a", "3")
    canary["spec"]["containers"][0]["env"][0]["value"] = "canary-7b1f0c55"
    memory = Memory()
    async with _server() as server:
        server.script["/api/v1/pods"] = [listing("7", [canary]), watching()]
        async with _running(Watching(_live(server), memory.publish)):
            await until(lambda: memory.seen)
    (seen,) = memory.seen[:1]
    assert b"canary" not in msgspec.json.encode(seen.normalize_with_warning()[0]) + bytes(seen.redacted().object)


class _Work:
    """Work that goes on until it is told to end."""

    def __init__(self, stop: asyncio.Event) -> None:
        self.begun = 0
        self._stop = stop

    async def __call__(self) -> None:
        self.begun += 1
        await self._stop.wait()


def _election(server: FakeApiServer, identity: str) -> LeaderElection:
    return LeaderElection(server.client(), LeaseName("default", "w"), identity, hurried())


def _lease(holder: str) -> Answer:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15}
    return Answer(msgspec.json.encode({"metadata": {"name": "w", "resourceVersion": "1"}, "spec": spec}))


@asynccontextmanager
async def _replica(*leases: Answer) -> AsyncIterator[tuple[FakeApiServer, _Work]]:
    """A replica that takes part in the election, and is told to end after; the leases are those that it sees."""
    stop = asyncio.Event()
    work = _Work(stop)
    async with FakeApiServer().running() as server:
        server.script[f"{LEASES}/w"] = [*leases]
        election = _election(server, "me")
        run = asyncio.ensure_future(lead(election, work, stop))
        yield server, work
        stop.set()
        await run
        await election._client.close()


async def test_a_replica_without_the_lease_waits_and_ends_when_asked() -> None:
    async with _replica(_lease("another")) as (server, work):
        await until(lambda: len(server.requests) > 2)
    assert work.begun == 0


async def test_the_replica_with_the_lease_works_and_gives_it_back() -> None:
    async with _replica(_lease("me")) as (server, work):
        await until(lambda: work.begun)
    last = server.requests[-1]
    assert (last.method, last.body["spec"]["holderIdentity"]) == ("PUT", "")


async def test_a_replica_that_lost_the_lease_works_again_once_it_regains_it() -> None:
    async with _replica(*[_lease("me")] * 2, *[_lease("another")] * 3, _lease("me")) as (_, work):
        await until(lambda: work.begun > 1)
    assert work.begun == 2


async def test_an_election_that_is_forbidden_says_what_to_allow() -> None:
    async with FakeApiServer().running() as server:
        server.script[f"{LEASES}/w"] = [refusal(403, "Forbidden", "leases is forbidden")]
        election = _election(server, "me")
        stop = asyncio.Event()
        with pytest.raises(SourceUnusable, match="allow get, create and update on leases"):
            await lead(election, _Work(stop), stop)
        with suppress(Exception):
            await election._client.close()
