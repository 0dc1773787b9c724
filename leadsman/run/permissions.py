"""Asks the API server's access review for this account's permissions, verb by verb."""

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from http import HTTPStatus
from typing import Final, NamedTuple

import aiohttp
import msgspec
from kubernetes_asyncio.client.api_client import ApiClient

from common.errors import KubeconfigUnusable
from ingest.apiserver.connect import configuration
from ingest.apiserver.leader import LeaseName
from ingest.apiserver.node_leases import WITHOUT
from ingest.apiserver.requests import TRANSPORT_ERRORS, ApiError, describe_transport_error, get, read_body, request
from ingest.kubelet.poll import PROXY_RISK
from ingest.kubelet.settings import KubeletSettings
from ingest.live.settings import LiveSettings
from ingest.model.observation import UNDECODABLE
from ingest.resources.nodes import NAMESPACE, NODES
from ingest.resources.pods import PODS
from ingest.resources.table import POLLED

REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
TIMEOUT: Final = aiohttp.ClientTimeout(total=15)
PROXY: Final = "nodes/proxy"
LEASES: Final = "coordination.k8s.io"
NOBODY: Final = "leadsman-asks-for-none"
"""A name that no object has."""
_CHEAP: Final = {"list": {"limit": "1"}, "watch": {"watch": "true", "timeoutSeconds": "1", "resourceVersion": "0"}}
_NO_VERDICT: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS})
_UNTRIED: Final = "unknown: the API server answers no access reviews, and only a write would show it"


class Checked(NamedTuple):
    """A connection or a permission; `problem` says what to do, and is empty if it works."""

    what: str
    problem: str
    note: str = ""
    needed: bool = True
    """True if a reader should know that it is missing."""
    unknown_account: bool = False
    """True if the API server does not recognise the account."""
    resource: str = ""
    """Purpose of a permission."""

    @property
    def usable(self) -> bool:
        return not self.problem and not self.note


class Permission(NamedTuple):
    verb: str
    resource: str
    """The resource with its subresource, for example `nodes/stats`; or a path, for example `/metrics`."""
    group: str = ""
    namespace: str = ""
    name: str = ""
    without: str = ""
    """Consequence if the permission is refused; empty if a refusal is a problem."""
    needed: bool = True
    """False if few clusters have the resource."""
    path: str = ""
    """Path of a GET that gets 403 without the permission; empty if only a write would show that."""

    def __str__(self) -> str:
        group = f".{self.group}" if self.group else ""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{group}{where}"

    @property
    def review(self) -> dict[str, object]:
        resource, _, subresource = self.resource.partition("/")
        if not resource:
            return _access_review({"nonResourceAttributes": {"verb": self.verb, "path": self.resource}})
        attributes = {
            "verb": self.verb,
            "group": self.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": self.namespace,
            "name": self.name,
        }
        return _access_review({"resourceAttributes": {name: value for name, value in attributes.items() if value}})


def _access_review(spec: dict[str, object]) -> dict[str, object]:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}


class _Verdict(msgspec.Struct, frozen=True, rename="camel"):
    allowed: bool
    evaluation_error: str = ""


class _Review(msgspec.Struct, frozen=True):
    status: _Verdict


def of_resources(settings: LiveSettings) -> Iterator[Permission]:
    """Yield the permissions for the watches, and for reads that depend on them."""
    for resource in settings.watched:
        without = resource.without or ("not read" if resource.optional else "")
        needed = bool(resource.without) or not resource.optional
        for (group, plural), path in resource.served_as(settings.namespace).items():
            for verb in ("list", "watch"):
                yield Permission(verb, plural, group, settings.namespace, "", without, needed, path)
    if NODES in settings.watched:
        yield Permission("get", "leases", LEASES, NAMESPACE, without=WITHOUT, path=f"{_leases(NAMESPACE)}/{NOBODY}")


def of_kubelets(settings: KubeletSettings) -> Iterator[Permission]:
    """Yield the permissions for requests to kubelets, which no watch needs."""
    if settings.access == "proxy":
        yield _PROXIED._replace(without="kubelets are not polled")
    elif settings.access == "direct":
        for resource in POLLED:
            yield Permission(
                "get", resource.permission, without=resource.without, path=_path_of_missing_node(resource.permission)
            )


def of_schedulers(settings: LiveSettings) -> Iterator[Permission]:
    if settings.schedulers:
        yield Permission("get", "/metrics", without="the scheduler's cache is unknown", path="/metrics")


def of_lease(lease: LeaseName) -> Iterator[Permission]:
    yield Permission("create", "leases", LEASES, lease.namespace)
    at = f"{_leases(lease.namespace)}/{lease.name}"
    yield Permission("get", "leases", LEASES, lease.namespace, lease.name, path=at)
    yield Permission("update", "leases", LEASES, lease.namespace, lease.name)


def _leases(namespace: str) -> str:
    return f"/apis/{LEASES}/v1/namespaces/{namespace}/leases"


def _path_of_missing_node(subresource: str) -> str:
    """Return a path of a node that does not exist: an account without the right gets 403, others 404, and nothing is
    done.
    """
    return f"/api/v1/nodes/{NOBODY}/{subresource.partition('/')[2]}"


_PROXIED: Final = Permission("get", PROXY, path=_path_of_missing_node(PROXY))


async def reachable(settings: LiveSettings, namespace: str) -> LiveSettings:
    """Return these settings, or those of `namespace` if only its pods may be listed. Raises KubeconfigUnusable."""
    access = await configuration(settings.kubeconfig, settings.context)
    async with ApiClient(access) as client:
        with suppress(ApiError, *TRANSPORT_ERRORS):  # `check_cluster` reports errors there
            if namespace and not await Account(client).may(Permission("list", "pods", path=PODS.paths[0])):
                return settings.model_copy(update={"namespace": namespace})
    return settings


async def check_cluster(settings: LiveSettings, lease: LeaseName | None = None) -> AsyncIterator[Checked]:
    """Yield each permission that these settings need, and the one that they should not have; one problem if none is
    known.
    """
    try:
        access = await configuration(settings.kubeconfig, settings.context)
    except KubeconfigUnusable as error:
        yield Checked("cluster", str(error))
        return
    kubelets = () if settings.namespace else of_kubelets(settings.kubelet)
    needed = [*of_resources(settings), *kubelets, *of_schedulers(settings), *(of_lease(lease) if lease else ())]
    async with ApiClient(access) as client:
        account = Account(client)
        try:
            for permission in needed:
                yield _judged(permission, allowed=await account.may(permission))
            if await account.may(_PROXIED):
                yield Checked(f"cluster: get {PROXY}", "", PROXY_RISK, needed=False)
        except (ApiError, *TRANSPORT_ERRORS) as error:
            unknown = isinstance(error, ApiError) and error.code == HTTPStatus.UNAUTHORIZED
            yield Checked("cluster", _unanswered(client, error), unknown_account=unknown)
            return
    if account.unreviewed:
        note = f"{account.unreviewed}: the permissions above were tried instead"
        yield Checked("cluster: SelfSubjectAccessReview", "", note, needed=False)


def _judged(permission: Permission, *, allowed: bool | None) -> Checked:
    what, resource = f"cluster: {permission}", permission.resource
    if allowed is None:
        return Checked(what, "", _UNTRIED, needed=False, resource=resource)
    if allowed:
        return Checked(what, "", resource=resource)
    if permission.without:
        return Checked(what, "", f"not allowed: {permission.without}", permission.needed, resource=resource)
    return Checked(
        what,
        "not allowed: give the account this verb, as the roles in deploy/kubernetes/10-rbac.yaml do",
        resource=resource,
    )


class Account:
    """The account that asks. If its API server does not answer reviews, each permission is tried."""

    def __init__(self, client: ApiClient) -> None:
        self.unreviewed = ""
        """Reason why reviews are not answered; empty while they are."""
        self._client = client

    async def may(self, permission: Permission) -> bool | None:
        """Return whether the permission is granted; None if only a write would show that.

        Raises `TRANSPORT_ERRORS`, and ApiError if the account is unknown or the server answers no requests at all.
        """
        if not self.unreviewed:
            try:
                async with request(
                    self._client, "POST", REVIEWS, timeouts=TIMEOUT, body=permission.review
                ) as response:
                    verdict = msgspec.json.decode(await read_body(response), type=_Review).status
            except ApiError as error:
                if error.code == HTTPStatus.UNAUTHORIZED:
                    raise
                self.unreviewed = str(error)
            except UNDECODABLE:
                self.unreviewed = "the API server's answer is not an access review"
            else:
                if verdict.allowed or not verdict.evaluation_error:
                    return verdict.allowed
        return await self._tried(permission) if permission.path else None

    async def _tried(self, permission: Permission) -> bool:
        """Try the permission with the cheapest request. The API server authorizes before it looks for anything."""
        try:
            async with get(self._client, permission.path, _CHEAP.get(permission.verb, {}), TIMEOUT):
                return True
        except ApiError as error:
            if error.code in _NO_VERDICT or error.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            return error.code != HTTPStatus.FORBIDDEN


def _unanswered(client: ApiClient, error: Exception) -> str:
    if isinstance(error, ApiError):
        if error.code == HTTPStatus.UNAUTHORIZED:
            return f"{error}. The token or certificate expired, or is another cluster's: log in again"
        return f"{error}. Check the credentials of watch.kubeconfig and watch.context"
    reason = describe_transport_error(error)
    return f"{client.configuration.host} does not answer: {reason}. Check watch.kubeconfig and watch.context"
