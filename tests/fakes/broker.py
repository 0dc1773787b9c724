"""A broker of one topic `t` that answers what clients ask before they read: its versions and who leads. It refuses to
give messages, as one that does not lead the partition.
"""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final, NamedTuple

from aiokafka.protocol.admin import ApiVersionResponse_v0
from aiokafka.protocol.fetch import FetchResponse_v4
from aiokafka.protocol.metadata import MetadataResponse_v1

VERSIONS, METADATA, FETCH, OFFSETS = 18, 3, 1, 2
_KNOWN: Final = [(METADATA, 0, 1), (VERSIONS, 0, 0), (FETCH, 0, 4), (OFFSETS, 0, 1)]
_NOBODY, _NOT_AVAILABLE, _NOT_LEADER = -1, 5, 6


class Broker(NamedTuple):
    servers: str
    asked: "asyncio.Queue[None]"
    """An entry for each question who leads."""
    fetched: "asyncio.Queue[None]"
    """An entry for each request for messages."""


@asynccontextmanager
async def broker(*, leads: bool, closes: bool, is_alone: bool = True) -> AsyncIterator[Broker]:
    """A broker that may lead its topic's partition, and may close each connection after it has said who does.

    If it is not alone, it names another broker first, which accepts no connection.
    """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        served.append(asyncio.current_task())
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                (size,) = struct.unpack(">i", await reader.readexactly(4))
                key, _, number = struct.unpack(">hhi", (await reader.readexactly(size))[:8])
                if key == METADATA:
                    running.asked.put_nowait(None)
                elif key == FETCH:
                    running.fetched.put_nowait(None)
                answer = answers.get(key, b"")
                writer.write(struct.pack(">ii", len(answer) + 4, number) + answer)
                if closes and key == METADATA:
                    break
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()

    served: list[asyncio.Task[None] | None] = []
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    partition = (0, 0, 1, [1], [1]) if leads else (_NOT_AVAILABLE, 0, _NOBODY, [1], [1])
    away = [] if is_alone else [(0, "127.0.0.1", 1, None)]
    answers = {
        VERSIONS: ApiVersionResponse_v0(0, _KNOWN).encode(),
        METADATA: MetadataResponse_v1(
            [*away, (1, "127.0.0.1", port, None)], 1, [(0, "t", False, [partition])]
        ).encode(),
        FETCH: FetchResponse_v4(0, [("t", [(0, _NOT_LEADER, -1, -1, [], b"")])]).encode(),
    }
    running = Broker(f"127.0.0.1:{port}", asyncio.Queue(), asyncio.Queue())
    async with server:
        yield running
    await asyncio.gather(*filter(None, served))  # clients are gone
