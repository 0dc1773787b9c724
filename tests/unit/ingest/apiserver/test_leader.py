"""Leader election by Lease against a server that keeps one Lease with versions, as the API server does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from aiohttp import web
from kubernetes_asyncio.client.api_client import ApiClient
from kubernetes_asyncio.client.configuration import Configuration

from fakes.apiserver import status_body
from fakes.clock import FakeClock
from fakes.serving import serving
from ingest.apiserver.leader import (
    LeaderElection,
    LeadershipLostError,
    Lease,
    LeaseName,
    Work,
    _Metadata,
    _Spec,
    claim,
)
from ingest.apiserver.requests import ApiError
from waiting import PATIENCE_SECONDS

NAME = LeaseName("leadsman", "watch")
COLLECTION = "/apis/coordination.k8s.io/v1/namespaces/leadsman/leases"


@pytest.mark.parametrize(
    ("holder", "unchanged_seconds", "expected"),
    [("me", 0, "renew"), ("me", 99, "renew"), ("other", 14.9, "wait"), ("other", 15, "take"), ("", 0, "take")],
)
def test_anothers_lease_is_taken_only_after_it_stayed_unchanged_for_its_duration(
    holder: str, unchanged_seconds: float, expected: str
) -> None:
    lease = Lease(_Metadata("watch", "leadsman", "1"), _Spec(holder, 15))
    assert claim(lease, "me", unchanged_seconds) == expected


def test_a_lease_that_does_not_exist_is_made() -> None:
    assert claim(None, "me", 0) == "create"


class LeaseServer:
    """Optimistic locking on one Lease; `down` and `forbids` make it refuse all."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.down = False
        self.forbids = False
        self.asked_in_vain = asyncio.Event()
        self.url = ""

    @asynccontextmanager
    async def running(self) -> AsyncIterator["LeaseServer"]:
        async with serving(self._answer) as self.url:
            yield self

    async def _answer(self, request: web.Request) -> web.Response:
        if self.down:
            self.asked_in_vain.set()
            return web.Response(status=503, body=status_body(503, "ServiceUnavailable", "down"))
        if self.forbids:
            return web.Response(status=403, body=status_body(403, "Forbidden", "no"))
        if request.method == "GET":
            if self.lease is None:
                return web.Response(status=404, body=status_body(404, "NotFound", "no lease"))
            return web.Response(body=msgspec.json.encode(self.lease))
        sent = msgspec.json.decode(await request.read())
        version = sent["metadata"].get("resourceVersion")
        if (request.method == "POST" and self.lease) or (request.method == "PUT" and version != str(self.version)):
            return web.Response(status=409, body=status_body(409, "Conflict", "changed"))
        self.version += 1
        self.lease = {**sent, "metadata": {**sent["metadata"], "resourceVersion": str(self.version)}}
        return web.Response(status=201 if request.method == "POST" else 200, body=msgspec.json.encode(self.lease))

    @property
    def holder(self) -> str:
        return str((self.lease or {"spec": {}})["spec"].get("holderIdentity", ""))

    def election(self, identity: str, clock: FakeClock) -> tuple[ApiClient, LeaderElection]:
        access = Configuration()
        access.host = self.url
        client = ApiClient(access)
        return client, LeaderElection(client, NAME, identity, clock.clock)


async def leading(election: LeaderElection, work: Work) -> None:
    await election.acquire()
    await election.hold(work)


@pytest.mark.asyncio
async def test_the_leader_works_and_gives_the_lease_back() -> None:
    async with LeaseServer().running() as server, asyncio.timeout(PATIENCE_SECONDS):
        client, election = server.election("a", FakeClock())
        holders = []

        async def work() -> None:
            holders.append(server.holder)

        async with client:
            await leading(election, work)
        assert holders == ["a"]
        assert server.holder == ""


@pytest.mark.asyncio
async def test_a_second_replica_waits_until_the_first_has_not_renewed_for_15_seconds() -> None:
    async with LeaseServer().running() as server, asyncio.timeout(PATIENCE_SECONDS):
        first_client, first = server.election("a", FakeClock())
        fake = FakeClock()
        second_client, second = server.election("b", fake)
        async with first_client, second_client:
            await first.acquire()
            await second.acquire()
        assert 15 <= fake.seconds <= 18
        assert server.holder == "b"
        assert server.lease is not None
        assert server.lease["spec"]["leaseTransitions"] == 1


@pytest.mark.asyncio
async def test_a_lease_that_is_renewed_is_never_taken() -> None:
    async with LeaseServer().running() as server, asyncio.timeout(PATIENCE_SECONDS):
        first_client, first = server.election("a", FakeClock())
        fake = FakeClock()

        async def first_renews(seconds: float) -> None:
            await fake.sleep(seconds)
            if fake.seconds > 60:
                raise TimeoutError
            server.lease = {**(server.lease or {}), "spec": {**_spec(server), "renewTime": str(fake.seconds)}}

        access = Configuration()
        access.host = server.url
        async with first_client, ApiClient(access) as second_client:
            await first.acquire()
            second = LeaderElection(second_client, NAME, "b", fake.clock._replace(sleep=first_renews))
            with pytest.raises(TimeoutError):
                await second.acquire()
        assert server.holder == "a"


def _spec(server: LeaseServer) -> dict[str, Any]:
    return dict((server.lease or {})["spec"])


@pytest.mark.asyncio
async def test_a_leader_that_cannot_renew_for_10_seconds_stops_its_work() -> None:
    async with LeaseServer().running() as server, asyncio.timeout(PATIENCE_SECONDS):
        fake = FakeClock()
        client, election = server.election("a", fake)
        stopped = asyncio.Event()

        async def work() -> None:
            server.down = True
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

        async with client:
            with pytest.raises(LeadershipLostError, match="leadsman/watch"):
                await leading(election, work)
        assert stopped.is_set()
        assert 10 < fake.seconds < 15


@pytest.mark.asyncio
async def test_a_paused_leader_notices_before_it_publishes() -> None:
    async with LeaseServer().running() as server, asyncio.timeout(PATIENCE_SECONDS):
        fake = FakeClock()
        client, election = server.election("a", fake)
        checked = []

        async def work() -> None:
            election.check()
            checked.append(fake.seconds)
            fake.seconds += 11  # stopped as a whole, its renewals too
            election.check()
            checked.append(fake.seconds)

        async with client:
            with pytest.raises(LeadershipLostError, match="leadsman/watch"):
                await leading(election, work)
        assert checked == [0]
        assert server.holder == "a"  # or another's by now: it is not ours to give back


@pytest.mark.asyncio
async def test_a_leader_publishes_nothing_after_a_suspension_until_it_leads_again() -> None:
    """The monotonic clock stands still meanwhile. Another had the lease and gave it back: it is free, and taken."""
    async with LeaseServer().running() as server, asyncio.timeout(PATIENCE_SECONDS):
        fake, suspended = FakeClock(), timedelta()
        client, election = server.election("a", fake)
        election._clock = fake.clock._replace(now=lambda: fake.now() + suspended)
        published = []

        async def work() -> None:
            election.check()
            published.append("before")
            nonlocal suspended
            suspended = timedelta(hours=1)
            server.lease = {**(server.lease or {}), "spec": {**_spec(server), "holderIdentity": ""}}
            while True:
                await asyncio.sleep(0.01)
                election.check()
                published.append("afterwards")

        async with client:
            with pytest.raises(LeadershipLostError, match="leadsman/watch"):
                await leading(election, work)
            assert published == ["before"]
            await election.acquire()
            election.check()
        assert server.holder == "a"


@pytest.mark.asyncio
async def test_a_renewal_after_a_suspension_does_not_hide_the_suspension() -> None:
    """Its memory is older than what another may have published."""
    async with LeaseServer().running() as server, asyncio.timeout(PATIENCE_SECONDS):
        fake, suspended = FakeClock(), timedelta()
        client, election = server.election("a", fake)
        election._clock = fake.clock._replace(now=lambda: fake.now() + suspended)

        async def work() -> None:
            nonlocal suspended
            suspended = timedelta(hours=1)
            await asyncio.Event().wait()

        async with client:
            with pytest.raises(LeadershipLostError, match="not renewed in time"):
                await leading(election, work)


@pytest.mark.asyncio
async def test_a_leader_stops_at_once_when_another_has_the_lease() -> None:
    async with LeaseServer().running() as server, asyncio.timeout(PATIENCE_SECONDS):
        fake = FakeClock()
        client, election = server.election("a", fake)

        async def work() -> None:
            assert server.lease is not None
            server.version += 1
            server.lease["spec"]["holderIdentity"] = "b"
            server.lease["metadata"]["resourceVersion"] = str(server.version)
            await asyncio.Event().wait()

        async with client:
            with pytest.raises(LeadershipLostError):
                await leading(election, work)
        assert server.holder == "b"
        assert fake.seconds <= 4


@pytest.mark.asyncio
async def test_an_error_of_the_work_is_raised_and_the_lease_released() -> None:
    async with LeaseServer().running() as server, asyncio.timeout(PATIENCE_SECONDS):
        client, election = server.election("a", FakeClock())

        async def work() -> None:
            raise ZeroDivisionError

        async with client:
            with pytest.raises(ZeroDivisionError):
                await leading(election, work)
        assert server.holder == ""


@pytest.mark.asyncio
async def test_a_server_that_is_down_is_waited_for() -> None:
    async with LeaseServer().running() as server, asyncio.timeout(PATIENCE_SECONDS):
        server.down = True
        client, election = server.election("a", FakeClock())
        async with client:
            acquiring = asyncio.ensure_future(election.acquire())
            await server.asked_in_vain.wait()
            server.down = False
            await acquiring
        assert server.holder == "a"


@pytest.mark.asyncio
async def test_without_permission_the_election_ends_with_an_error() -> None:
    async with LeaseServer().running() as server, asyncio.timeout(PATIENCE_SECONDS):
        server.forbids = True
        client, election = server.election("a", FakeClock())
        async with client:
            with pytest.raises(ApiError, match="403 Forbidden"):
                await election.acquire()
