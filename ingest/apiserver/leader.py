"""Leader election among replicas by a Lease (coordination.k8s.io/v1), with client-go's rules.

Clocks of different machines are never compared: a Lease is expired when this process has seen it unchanged for its
duration. A leader's own Lease expires by the faster of its clocks, because the monotonic clock stops while the
machine is suspended.
"""

import asyncio
import os
import secrets
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import aiohttp
import msgspec
from kubernetes_asyncio.client.api_client import ApiClient

from common.clock import Clock
from common.tasks import Tasks
from ingest.apiserver.requests import TRANSPORT_ERRORS, ApiError, read_body, request
from ingest.model.observation import UNDECODABLE

LEASE_SECONDS: Final = 15
RENEW_DEADLINE_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 2.0
JITTER: Final = 0.2

_HOPELESS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND})
"""Statuses that a retry does not fix: bad credentials, missing permission, a namespace that does not exist."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=5)


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    holder_identity: str = ""
    lease_duration_seconds: int = LEASE_SECONDS
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int = 0


class _Metadata(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""


class Lease(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()


class LeaseName(NamedTuple):
    namespace: str
    name: str


Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class LeadershipLostError(Exception):
    """The Lease could not be renewed in time, or another replica has it, so this one must stop at once."""


def claim(
    lease: Lease | None, identity: str, seen_unchanged_seconds: float
) -> Literal["create", "take", "renew", "wait"]:
    """Return the Lease to write if a replica may create, take or renew it; `seen_unchanged_seconds` is by its own
    clock.
    """
    if lease is None:
        return "create"
    if lease.spec.holder_identity == identity:
        return "renew"
    expired = seen_unchanged_seconds >= lease.spec.lease_duration_seconds
    return "take" if expired or not lease.spec.holder_identity else "wait"


class LeaderElection:
    """Takes part in the election for one replica, whose `identity` is unique."""

    def __init__(self, client: ApiClient, lease: LeaseName, identity: str, clock: Clock) -> None:
        self._client = client
        self._name = lease
        self._identity = identity
        self._clock = clock
        self._seen: Lease | None = None
        self._seen_at = clock.monotonic()
        self._renewed = clock.instant()
        self.leads = False

    async def hold(self, work: Work) -> None:
        """Do the work while this replica holds the Lease that it has acquired, and release the Lease at the end.

        Raises LeadershipLostError if the Lease is lost; the work is cancelled before that. Errors of `work`
        propagate.
        """
        try:
            async with Tasks() as spawn:
                await asyncio.wait({spawn(work()), spawn(self._keep())}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await self._give_back()

    def check(self) -> None:
        """Raise LeadershipLostError if another replica may have the Lease: this process was paused, or could not
        renew it.
        """
        if self._clock.seconds_since(self._renewed) > RENEW_DEADLINE_SECONDS:
            self.leads = False
            raise LeadershipLostError(f"lease {self._name.namespace}/{self._name.name} was not renewed in time")

    async def acquire(self) -> None:
        """Return once this replica has the Lease. Raises ApiError if it may not get, create and update leases."""
        while not await self._try():
            await self._clock.sleep(RETRY_SECONDS * (1 + JITTER * self._clock.random()))

    async def _keep(self) -> None:
        while True:
            await self._clock.sleep(RETRY_SECONDS)
            self.check()  # another replica may have had it and released it
            if not await self._try() and not self.leads:
                raise LeadershipLostError(f"lease {self._name.namespace}/{self._name.name} is lost")
            self.check()

    async def _try(self) -> bool:
        """Create, take or renew the Lease once; return False if that fails for any reason."""
        began = self._clock.instant()
        try:
            lease = await self._read()
            self._note(lease)
            action = claim(lease, self._identity, began.monotonic - self._seen_at)
            if action == "wait":
                self.leads = False
                return False
            self._note(await self._write(lease, action))
        except ApiError as error:
            if error.code in _HOPELESS and not self.leads:
                raise
            return False
        except (*UNDECODABLE, *TRANSPORT_ERRORS):
            return False
        self.leads, self._renewed = True, began
        return True

    def _note(self, lease: Lease | None) -> None:
        if lease != self._seen:
            self._seen, self._seen_at = lease, self._clock.monotonic()

    async def _read(self) -> Lease | None:
        try:
            async with request(self._client, "GET", f"{self._path}/{self._name.name}", timeouts=_TIMEOUT) as response:
                return msgspec.json.decode(await read_body(response), type=Lease)
        except ApiError as error:
            if error.code == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def _write(self, lease: Lease | None, action: Literal["create", "take", "renew"]) -> Lease:
        now = _micro_time(self._clock.now())
        if lease is None or action == "create":
            spec = _Spec(self._identity, LEASE_SECONDS, now, now, 0)
        elif action == "take":
            spec = _Spec(self._identity, LEASE_SECONDS, now, now, lease.spec.lease_transitions + 1)
        else:
            spec = msgspec.structs.replace(lease.spec, renew_time=now, lease_duration_seconds=LEASE_SECONDS)
        return await self._put(lease, spec)

    async def _put(self, lease: Lease | None, spec: _Spec) -> Lease:
        """Write the Lease; the resource version makes a concurrent write fail with a conflict."""
        version = lease.metadata.resource_version if lease else ""
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": msgspec.to_builtins(_Metadata(self._name.name, self._name.namespace, version)),
            "spec": msgspec.to_builtins(spec),
        }
        method, path = ("PUT", f"{self._path}/{self._name.name}") if lease else ("POST", self._path)
        async with request(self._client, method, path, body=body, timeouts=_TIMEOUT) as response:
            return msgspec.json.decode(await read_body(response), type=Lease)

    async def _give_back(self) -> None:
        """Release the Lease, so that another replica starts at once instead of after its duration."""
        if not self.leads or self._seen is None:
            return
        self.leads = False
        free = msgspec.structs.replace(
            self._seen.spec, holder_identity="", lease_duration_seconds=1, renew_time=_micro_time(self._clock.now())
        )
        with suppress(ApiError, *UNDECODABLE, *TRANSPORT_ERRORS):
            await self._put(self._seen, free)

    @property
    def _path(self) -> str:
        return f"/apis/coordination.k8s.io/v1/namespaces/{self._name.namespace}/leases"


def _micro_time(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def new_identity() -> str:
    """Return an identity for the election that no other process has."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
