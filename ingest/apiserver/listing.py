"""One list of a resource, page by page."""

from collections.abc import AsyncGenerator
from typing import Final, NamedTuple

import aiohttp
import msgspec
from kubernetes_asyncio.client.api_client import ApiClient

from ingest.apiserver.requests import ApiError, get, read_body

PAGE_OBJECTS: Final = 500
LIST_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=15, sock_read=60)


class _ListMetadata(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, frozen=True):
    metadata: _ListMetadata = _ListMetadata()
    items: list[msgspec.Raw] | None = None


class Page(NamedTuple):
    version: str
    objects: list[msgspec.Raw]
    last: bool


_LIST: Final = msgspec.json.Decoder(_List)


async def pages(client: ApiClient, path: str, version: str, match: str = "") -> AsyncGenerator[Page, None]:
    """List a resource at a version in pages of 500, with client-go's rules (delivery.md#watching).

    `version` is "" (most recent), "0" (any cached one) or a version; `match` is resourceVersionMatch. If the rest of
    a list has expired, the whole list is requested at once, so an object may come twice. Raises ApiError,
    TooLargeError, msgspec.MsgspecError for an answer that is not a list, and transport errors.
    """
    whole = _query(version, match)
    query = {**whole, "limit": str(PAGE_OBJECTS)}
    while True:
        try:
            page = await _page(client, path, query)
        except ApiError as error:
            if not error.expired or "continue" not in query:
                raise
            query = whole
            continue
        token = page.metadata.continue_token
        yield Page(page.metadata.resource_version, page.items or [], last=not token)
        if not token:
            return
        query = {"limit": str(PAGE_OBJECTS), "continue": token}


def _query(version: str, match: str) -> dict[str, str]:
    query = {"resourceVersion": version} if version else {}
    return {**query, "resourceVersionMatch": match} if match else query


async def _page(client: ApiClient, path: str, query: dict[str, str]) -> _List:
    async with get(client, path, query, LIST_TIMEOUT) as response:
        return _LIST.decode(await read_body(response))
