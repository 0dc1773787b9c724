"""Connects to a kubelet at its own port, or through the API server's node proxy (rules: kubelet-access)."""

import re
import ssl
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import aiohttp
import msgspec
from kubernetes_asyncio.client.api_client import ApiClient
from kubernetes_asyncio.client.configuration import Configuration

from common.text import plain
from ingest.apiserver.requests import api_error, describe_transport_error, get, read_body
from ingest.model.observation import if_decodable

TIMEOUT: Final = aiohttp.ClientTimeout(total=9, sock_connect=5)
"""Shorter than the interval, so that a slow kubelet loses only its own samples."""
KEPT_SECONDS: Final = 75.0
"""Seconds that an idle connection is kept. A kubelet closes it after 90, and a new TLS handshake is costly."""
OTHERWISE: Final = "ask through the API server (watch.kubelet.access: proxy), which needs get on nodes/proxy"
_FOR_ANOTHER_NAME: Final = {62, 64}
"""OpenSSL's errors for a trusted certificate with another name or another address."""
_NAME: Final = r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63}){0,126}\.?"
_HOST: Final = re.compile(rf"{_NAME}|[0-9A-Fa-f:.]{{0,45}}:[0-9A-Fa-f:.]{{0,45}}(%[A-Za-z0-9_.-]{{1,15}})?")
"""Matches a possible name or address.

A Node can contain any text, and a lookup of matching text raises nothing unexpected.
"""
_IN_A_CERTIFICATE: Final = re.compile(r"[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*")
"""Matches a node's name that is a DNS name."""
BODY_LIMIT_BYTES: Final = 16 * 1024 * 1024 - 4096


class KubeletUnreachable(ConnectionError):
    """A kubelet's port does not answer, or is not trusted; the message is one safe line with advice."""


class Address(NamedTuple):
    host: str
    port: int


class _NodeAddress(msgspec.Struct, frozen=True):
    type: str
    address: str


class _Endpoint(msgspec.Struct, frozen=True, rename="pascal"):
    port: int = 10250


class _Endpoints(msgspec.Struct, frozen=True, rename="camel"):
    kubelet_endpoint: _Endpoint = _Endpoint()


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    addresses: list[_NodeAddress] | None = None
    daemon_endpoints: _Endpoints = _Endpoints()


class _Node(msgspec.Struct, frozen=True):
    status: _Status = _Status()


_NODE: Final = msgspec.json.Decoder(_Node)


def kubelet_address(node: bytes | msgspec.Raw) -> Address | None:
    """Return the address at which a Node's kubelet listens: internal IP, else host name; None without either."""
    found = if_decodable(_NODE.decode, node) or _Node()
    by_type = {address.type: address.address for address in reversed(found.status.addresses or [])}
    host = by_type.get("InternalIP") or by_type.get("Hostname")
    return Address(host, found.status.daemon_endpoints.kubelet_endpoint.port) if host else None


async def fetch_by_proxy(client: ApiClient, node: str, path: str) -> bytes:
    """GET a path of a node's kubelet through the API server, which needs get on nodes/proxy and knows every kubelet's
    certificate. Raises ApiError, TooLargeError and transport errors.
    """
    async with get(client, f"/api/v1/nodes/{quote(node, safe='')}/proxy/{path}", {}, TIMEOUT) as response:
        return await read_body(response, BODY_LIMIT_BYTES)


class Https:
    """Sends our token or client certificate only to servers whose certificate `ca_file` verifies, else the cluster's
    CA.

    `insecure` sends the token to any server and is never the default. No redirect is followed.
    """

    def __init__(self, configuration: Configuration, ca_file: Path | None = None, *, insecure: bool = False) -> None:
        """Raises OSError if the CA or our certificate cannot be read."""
        self._configuration = configuration
        self._tls = _tls(configuration, ca_file, insecure=insecure)
        self._session: aiohttp.ClientSession | None = None

    async def get(self, url: str, name: str | None = None) -> bytes:
        """Return the answer at an https URL, whose certificate may have another name; raises as `fetch_by_proxy`."""
        token = await self._configuration.get_api_key_with_prefix("BearerToken")
        headers = {"Authorization": token} if token else {}
        if self._session is None:
            connector = aiohttp.TCPConnector(ssl=self._tls, limit=0, keepalive_timeout=KEPT_SECONDS)
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        async with self._session.get(
            url, headers=headers, timeout=TIMEOUT, allow_redirects=False, server_hostname=name
        ) as response:
            if response.status != HTTPStatus.OK:
                raise await api_error(response)
            return await read_body(response, BODY_LIMIT_BYTES)

    async def close(self) -> None:
        if self._session:
            await self._session.close()


class DirectAccess:
    """Requests each kubelet at its own address; its certificate is for this address or for its node's name."""

    def __init__(
        self,
        configuration: Configuration,
        address: Callable[[str], Address | None],
        ca_file: Path | None = None,
        *,
        insecure: bool = False,
    ) -> None:
        self._address = address
        self._https = Https(configuration, ca_file, insecure=insecure)
        self.close = self._https.close
        self._by_name: set[str] = set()
        """Nodes whose kubelets have a certificate for the node's name alone, as those that they sign themselves."""

    async def fetch(self, node: str, path: str) -> bytes:
        """Fetch like `fetch_by_proxy`; raises KubeletUnreachable."""
        address = self._address(node)
        if address is None:
            raise KubeletUnreachable(f"the node has no address: {OTHERWISE}")
        if not _HOST.fullmatch(address.host):
            raise KubeletUnreachable(f"the node's address is not usable ({plain(address.host)}): {OTHERWISE}")
        host = f"[{address.host}]" if ":" in address.host else address.host
        url = f"https://{host}:{address.port}/{path}"
        try:
            return await self._get_as_named(node, url)
        except aiohttp.ClientConnectorCertificateError as error:
            raise KubeletUnreachable(_untrusted(error)) from error
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise KubeletUnreachable(
                f"{plain(host)}:{address.port} cannot be reached from here "
                f"({describe_transport_error(error)}): open it, or {OTHERWISE}"
            ) from error

    async def _get_as_named(self, node: str, url: str) -> bytes:
        try:
            return await self._https.get(url, node if node in self._by_name else None)
        except aiohttp.ClientConnectorCertificateError as error:
            why = getattr(error.certificate_error, "verify_code", 0)
            if why not in _FOR_ANOTHER_NAME or node in self._by_name or not _IN_A_CERTIFICATE.fullmatch(node):
                raise
        answer = await self._https.get(url, node)
        self._by_name.add(node)
        return answer


def _untrusted(error: aiohttp.ClientConnectorCertificateError) -> str:
    why = getattr(error.certificate_error, "verify_message", "") or error.certificate_error
    return (
        f"the kubelet's certificate is not trusted ({plain(why)}): let kubelets have theirs signed by the cluster "
        "(serverTLSBootstrap: true, then approve their requests), name the CA that signed it "
        f"(watch.kubelet.ca_file), or {OTHERWISE}"
    )


def _tls(configuration: Configuration, ca_file: Path | None, *, insecure: bool) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(ca_file) if ca_file else configuration.ssl_ca_cert)
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    return context
