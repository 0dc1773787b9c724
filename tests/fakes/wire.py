"""A TCP connection that a test can cut, refuse or leave hanging."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress


class Wire:
    """Passes bytes from its own port to another of 127.0.0.1."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._writers: set[asyncio.StreamWriter] = set()
        self._passes = asyncio.Event()
        self._passes.set()
        self._refuses = False
        self.port = 0
        self.connections = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Wire"]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.mend()
            self._drop()

    def cut(self) -> None:
        """Close all connections and accept no other until `mend`."""
        self._refuses = True
        self._drop()

    def hang(self) -> None:
        """Keep connections open but pass nothing until `mend`."""
        self._passes.clear()

    def mend(self) -> None:
        self._refuses = False
        self._passes.set()

    def _drop(self) -> None:
        for writer in list(self._writers):
            writer.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refuses:
            writer.close()
            return
        self.connections += 1
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        except OSError:
            writer.close()
            return
        self._writers |= {writer, far_writer}
        await asyncio.gather(self._pass(reader, far_writer), self._pass(far_reader, writer))

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                await self._passes.wait()
                writer.write(data)
                await writer.drain()
        self._writers.discard(writer)
        writer.close()
