"""Workarounds for faults of kubernetes-asyncio. No other module uses its internals.

It is pinned to one version, and a test compares the functions that this module relies on with their source at that
version.
"""

import asyncio
import time
from functools import partial
from typing import Final

import aiohttp
from kubernetes_asyncio.client.api_client import ApiClient
from kubernetes_asyncio.client.configuration import Configuration
from kubernetes_asyncio.config.kube_config import KubeConfigLoader

from common.text import plain

EXEC_WITHOUT_EXPIRY_SECONDS: Final = 60.0
"""Interval between runs of a credential plugin whose token has no expiry."""


def ignore_redirects_and_cookies(client: ApiClient) -> None:
    """Treat a redirect like any other status: a kubelet behind the node proxy could redirect our requests elsewhere,
    or with our token to other paths of the API server. Keep no cookies: it could set some for the API server's name,
    until their size makes every request fail, or a proxy takes them for a session. The client has no setting for
    this.

    https://github.com/kubernetes/kubernetes/issues/112513
    """
    session = client.rest_client.pool_manager
    direct = partial(aiohttp.ClientSession.request, session, allow_redirects=False)
    session._cookie_jar = aiohttp.DummyCookieJar()
    session.request = direct  # type: ignore[method-assign]  # the client calls it by this name


class CredentialsError(ConnectionError):
    """The current token cannot be read; the request is retried."""


class KubeconfigToken:
    """Reads the token before each request, because a token file, a credential plugin or OIDC may have a new one.

    The client loads them once, and its `refresh_token` knows no files. The loader has no public way to load the
    credentials alone.

    https://github.com/tomplus/kubernetes_asyncio/pull/258
    """

    def __init__(self, loader: KubeConfigLoader) -> None:
        self._loader = loader
        self._lock = asyncio.Lock()
        self._read_at = time.monotonic()

    async def __call__(self, target: Configuration) -> None:
        async with self._lock:
            if self._is_due():
                await self._read()
        if token := getattr(self._loader, "token", ""):
            target.api_key["BearerToken"] = token.strip()

    async def _read(self) -> None:
        try:
            await self._loader._load_authentication()
        except Exception as error:
            # a credential plugin may raise anything, and a retry fixes most errors
            raise CredentialsError(f"credentials of the kubeconfig: {plain(error)}") from error
        self._read_at = time.monotonic()

    def _is_due(self) -> bool:
        user = self._loader._user
        if user is not None and "exec" in user and not hasattr(self._loader, "exec_plugin_expiry"):
            return time.monotonic() - self._read_at > EXEC_WITHOUT_EXPIRY_SECONDS
        return True
