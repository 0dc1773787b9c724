"""Connections to a ClickHouse server by a CA and a password that are read from their files each time."""

from base64 import b64encode
from typing import Any

from clickhouse_connect.driver.httputil import get_pool_manager_options
from urllib3 import BaseHTTPResponse, PoolManager
from urllib3.exceptions import HTTPError

from common.errors import FilesUnusable
from common.tls import RotatingContext
from sql.database.dsn import Server


class RotatingPool(PoolManager):
    """A new connection trusts the CA that the file holds then, a request has the password of then.

    A file that cannot be used fails the request, as a server does that is away.
    """

    def __init__(self, target: Server) -> None:
        """Raises FilesUnusable."""
        options = get_pool_manager_options()
        if target.secure:
            options["ssl_context"] = RotatingContext.of(target.ca_file, None, None)
        super().__init__(**options)
        self._target = target

    def urlopen(  # type: ignore[override]  # as PoolManager's own
        self, method: str, url: str, redirect: bool = True, **options: Any
    ) -> BaseHTTPResponse:
        """Open an address like a PoolManager, but do not follow redirects: the password is not for other servers."""
        del redirect
        try:
            login = f"{self._target.user}:".encode() + self._target.password.encode()
            headers = {**options.pop("headers"), "Authorization": f"Basic {b64encode(login).decode()}"}
            return super().urlopen(method, url, redirect=False, headers=headers, **options)
        except FilesUnusable as error:
            raise HTTPError(str(error)) from None
